// `gatehouse provider …`: the providers of the whole service that people sign in with, alongside a running server.
import { nameCharactersMax } from "../domain/limits.ts";
import { type ProviderKind, providerKinds } from "../domain/people/identity_provider.ts";
import {
  clientIdCharactersMax,
  clientSecretCharactersMax,
  isRegisteredText,
  providerKindNames,
  providerSlugForm,
  providerSlugWords,
} from "../domain/people/provider_metadata.ts";
import {
  createServiceProvider,
  deleteServiceProvider,
  getServiceProviderBySlug,
  listServiceProviders,
} from "../services/people/mod.ts";
import { nameArgument, type Subcommand, verbCommand } from "./administration.ts";
import { providerHelp } from "./help.ts";
import { CommandError, exitStatus, readOptionFile, usageError } from "./settings.ts";
import { writeLine } from "./terminal.ts";
import { minute, textTable } from "./text_table.ts";
import type { VerbArguments } from "./verb_arguments.ts";

const subject = "slug";

export const providerCommand = verbCommand("gatehouse provider", {
  verbs: {
    add: {
      subject,
      options: {
        ...{ kind: "text", issuer: "text", "client-id": "text", "client-secret-file": "text", name: "text" },
        "trust-email": "flag",
      },
      act: add,
      check: toNewProvider,
    },
    list: { options: { json: "flag" }, act: list, onlyReads: true },
    remove: { subject, options: {}, act: remove },
  },
  help: providerHelp,
  unknown: { message: "no provider has this slug.", status: exitStatus.data },
});

async function add(call: Subcommand): Promise<void> {
  const { services, actor, texts } = call;
  const clientSecret = readSecret(texts.get("client-secret-file") ?? "");
  const { name, redirectUri } = await createServiceProvider(services, actor, {
    ...toNewProvider(call),
    clientSecret,
  });
  writeLine(`Added “${name}”. Register this redirect URI at the provider:`, "stderr");
  writeLine(redirectUri);
}

/** Returns all but the secret. @throws {CommandError} */
function toNewProvider({ subject: slug, texts, flags }: VerbArguments) {
  const kind = requiredOption(texts, "kind");
  const clientId = requiredOption(texts, "client-id");
  requiredOption(texts, "client-secret-file");
  if (!isKind(kind)) throw usageError(`--kind must be one of ${providerKinds.join(", ")}.`);
  if (!providerSlugForm.test(slug)) {
    throw new CommandError(`SLUG must be ${providerSlugWords}.`, exitStatus.data);
  }
  if (!isRegisteredText(clientId, clientIdCharactersMax)) {
    throw new CommandError("--client-id must have printable ASCII characters only.", exitStatus.data);
  }
  const name = texts.get("name") ?? (kind === "oidc" ? slug : providerKindNames[kind]);
  return {
    slug,
    kind,
    issuer: texts.get("issuer"),
    clientId,
    name: nameArgument(name, { label: "--name", charactersMax: nameCharactersMax }),
    trustEmail: flags.has("trust-email"),
  };
}

function requiredOption(texts: VerbArguments["texts"], option: string): string {
  const text = texts.get(option);
  if (text === undefined) throw usageError(`--${option} is required.`);
  return text;
}

function isKind(text: string): text is ProviderKind {
  return (providerKinds as readonly string[]).includes(text);
}

/** Everyone on the machine can see the arguments of a command, so the secret is in a file. @throws {CommandError} */
function readSecret(path: string): string {
  const text = readOptionFile("client-secret-file", path).trim();
  if (isRegisteredText(text, clientSecretCharactersMax)) return text;
  const problem = `must have 1 to ${clientSecretCharactersMax} printable ASCII characters, and nothing else.`;
  throw new CommandError(`the file of --client-secret-file ${problem}`, exitStatus.data);
}

async function list({ services, flags }: Subcommand): Promise<void> {
  const providers = await listServiceProviders(services);
  if (flags.has("json")) {
    for (const provider of providers) writeLine(JSON.stringify(provider));
    return;
  }
  const table = textTable([
    "SLUG",
    "KIND",
    "TRUST EMAIL",
    "SIGN UP",
    "CHANGED",
    "NAME",
    "ISSUER",
    "REDIRECT URI",
  ]);
  const lines = providers.map(({ slug, kind, trustEmail, signUp, updatedAt, name, issuer, redirectUri }) => {
    const flag = (value: boolean) => value ? "yes" : "no";
    return [slug, kind, flag(trustEmail), flag(signUp), minute(updatedAt), name, issuer, redirectUri];
  });
  writeLine(table(lines).join("\n"));
}

async function remove({ services, actor, subject }: Subcommand): Promise<void> {
  const { id, name } = await getServiceProviderBySlug(services, subject);
  await deleteServiceProvider(services, actor, id);
  writeLine(`Removed “${name}”. No one can sign in with it anymore.`);
}

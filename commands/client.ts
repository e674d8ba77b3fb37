// `gatehouse client …`: applications that sign people in here, alongside a running server. A new secret is the only text on standard
// output.
import { nameCharactersMax } from "../domain/limits.ts";
import { clientFaults } from "../domain/oauth/client_settings.ts";
import {
  createClient,
  type CreatedClient,
  deleteClient,
  getClient,
  listClients,
  newClientSettings,
  rotateClientSecret,
} from "../services/oauth/mod.ts";
import { nameArgument, type Subcommand, verbCommand } from "./administration.ts";
import { clientHelp } from "./help.ts";
import { CommandError, exitStatus } from "./settings.ts";
import { writeLine } from "./terminal.ts";
import { minute, textTable } from "./text_table.ts";
import type { VerbArguments } from "./verb_arguments.ts";

const subject = "client id";

export const clientCommand = verbCommand("gatehouse client", {
  verbs: {
    add: {
      subject: "name",
      options: {
        "redirect-uri": "list",
        "post-logout-redirect-uri": "list",
        public: "flag",
        "no-consent": "flag",
      },
      act: add,
      check: toNewClient,
    },
    list: { options: { json: "flag" }, act: list, onlyReads: true },
    rotate: { subject, options: {}, act: rotate },
    remove: { subject, options: {}, act: remove },
  },
  help: clientHelp,
  unknown: { message: "no application has this id, or it has no secret.", status: exitStatus.data },
});

async function add(call: Subcommand): Promise<void> {
  const created = await createClient(call.services, call.actor, toNewClient(call));
  const { name, id } = created.client;
  writeLine(`Added “${name}” with the client ID ${id}.`, "stderr");
  if (created.secret === null) writeLine(id);
  else writeSecret(created);
}

/** @throws {CommandError} */
function toNewClient({ subject: name, lists, flags }: VerbArguments) {
  const client = {
    ...newClientSettings,
    name: nameArgument(name, { label: "NAME", charactersMax: nameCharactersMax }),
    type: flags.has("public") ? "public" as const : "confidential" as const,
    redirectUris: lists.get("redirect-uri") ?? [],
    postLogoutRedirectUris: lists.get("post-logout-redirect-uri") ?? [],
    consent: !flags.has("no-consent"),
  };
  const [fault] = clientFaults(client);
  if (fault === undefined) return client;
  const option = fault.path.startsWith("post") ? "post-logout-redirect-uri" : "redirect-uri";
  throw new CommandError(`--${option} ${fault.message}`, exitStatus.data);
}

async function list({ services, flags }: Subcommand): Promise<void> {
  const clients = await listClients(services);
  if (flags.has("json")) {
    for (const client of clients) writeLine(JSON.stringify(client));
    return;
  }
  const table = textTable(["ID", "TYPE", "ENABLED", "ADDED", "NAME", "REDIRECT URIS"]);
  const lines = clients.map(({ id, type, enabled, createdAt, name, redirectUris }) => [
    ...[id, type, enabled ? "yes" : "no", minute(createdAt), name, redirectUris.join(",")],
  ]);
  writeLine(table(lines).join("\n"));
}

async function rotate({ services, actor, subject }: Subcommand): Promise<void> {
  writeSecret(await rotateClientSecret(services, actor, subject));
}

function writeSecret({ secret }: CreatedClient): void {
  writeLine("The client secret is shown only once:", "stderr");
  writeLine(secret ?? "");
}

async function remove({ services, actor, subject }: Subcommand): Promise<void> {
  const { name } = await getClient(services, subject);
  await deleteClient(services, actor, subject);
  writeLine(`Removed “${name}”. Its access has ended.`);
}

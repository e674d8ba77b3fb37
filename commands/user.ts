// `gatehouse user …`: accounts on the command line, for the first one and for emergencies, alongside a running server.
// Only links go to standard output, so that they can be piped; text about them goes to standard error.
import { nameCharactersMax } from "../domain/limits.ts";
import { countOf } from "../domain/number_text.ts";
import { roles } from "../domain/access/session.ts";
import {
  allUsers,
  createUser,
  disableUser,
  enableUser,
  type PasswordLink,
  resetUserPassword,
} from "../services/console/mod.ts";
import type { OperatorUser } from "../domain/console/user.ts";
import { nameArgument, type Subcommand, unknownAccount, verbCommand } from "./administration.ts";
import { userHelp } from "./help.ts";
import { loadNativeCode } from "./native_code.ts";
import { usageError } from "./settings.ts";
import { writeLine } from "./terminal.ts";
import { minute, textTable } from "./text_table.ts";
import type { VerbArguments } from "./verb_arguments.ts";

const subject = "email address";

export const userCommand = verbCommand("gatehouse user", {
  verbs: {
    create: {
      subject,
      options: { name: "text", organization: "text", join: "text", role: "text", "password-stdin": "flag" },
      act: create,
      check: toNewUser,
    },
    list: { options: { json: "flag" }, act: list, onlyReads: true },
    disable: { subject, options: { "revoke-keys": "flag" }, act: disable },
    enable: { subject, options: {}, act: enable },
    "reset-password": {
      subject,
      options: { "password-stdin": "flag", "turn-off-two-step": "flag" },
      act: resetPassword,
    },
  },
  help: userHelp,
  unknown: unknownAccount,
});

/** @throws {CommandError} */
function toNewUser({ subject: email, texts }: VerbArguments) {
  const name = nameOption(texts, "name");
  const organizationName = nameOption(texts, "organization");
  const organizationId = texts.get("join");
  const role = roles.find((one) => one === texts.get("role")?.toUpperCase());
  if (name === undefined) throw usageError("--name is required.");
  if (organizationId !== undefined && organizationName !== undefined) {
    throw usageError("--organization and --join can't be combined.");
  }
  if (texts.has("role") !== texts.has("join")) {
    throw usageError("--join and --role require each other.");
  }
  if (organizationId === undefined) return { email, name, organizationName };
  if (role === undefined) {
    throw usageError(`--role must be one of ${roles.join(", ")}.`);
  }
  return { email, name, join: { organizationId, role } };
}

function nameOption(texts: VerbArguments["texts"], option: string): string | undefined {
  const text = texts.get(option);
  if (text === undefined) return undefined;
  return nameArgument(text, { label: `--${option}`, charactersMax: nameCharactersMax });
}

async function create(call: Subcommand): Promise<void> {
  const { services, actor, password } = call;
  await loadNativeCode();
  const { link, organizationId } = await createUser(services, actor, { ...toNewUser(call), password });
  const created = `Created ${call.subject} in ${organizationId}.`;
  if (link === null) writeLine(created);
  else writeLink(link, created);
}

const titles = ["EMAIL", "CONFIRMED", "DISABLED", "TWO-STEP", "LAST SIGN-IN", "NAME", "ORGANIZATIONS"];

async function list({ services, flags }: Subcommand): Promise<void> {
  const table = textTable(titles);
  for await (const users of allUsers(services)) {
    const lines = flags.has("json") ? users.map((user) => JSON.stringify(user)) : table(users.map(cells));
    writeLine(lines.join("\n"));
  }
}

function cells(user: OperatorUser): string[] {
  const organizations = user.organizations.map(({ id, name, role }) => `${name} (${role}, ${id})`);
  return [
    user.email,
    user.emailVerifiedAt === null ? "no" : "yes",
    user.disabledAt === null ? "no" : "yes",
    user.twoStep ? "on" : "off",
    minute(user.lastSignInAt),
    user.name,
    organizations.length === 0 ? "-" : organizations.join(", "),
  ];
}

async function disable({ services, actor, subject: email, flags }: Subcommand): Promise<void> {
  const revokeKeys = flags.has("revoke-keys");
  const result = await disableUser(services, actor, { email, revokeKeys });
  const { wasDisabled, activeKeys, revokedKeys, revokedInvitations } = result;
  writeLine(wasDisabled ? "The account was already disabled." : "Disabled and signed out everywhere.");
  if (revokedInvitations > 0) writeLine(`Revoked ${countOf(revokedInvitations, "open invitation")}.`);
  if (revokeKeys) writeLine(`Revoked ${countOf(revokedKeys, "active API key")}.`);
  if (activeKeys > 0) {
    writeLine(`${countOf(activeKeys, "active API key")} still ${activeKeys === 1 ? "works" : "work"}.`);
  }
}

async function enable({ services, actor, subject: email }: Subcommand): Promise<void> {
  const { wasDisabled } = await enableUser(services, actor, { email });
  writeLine(wasDisabled ? "Enabled. They can sign in again." : "The account was not disabled.");
}

async function resetPassword(
  { services, actor, subject: email, flags, password }: Subcommand,
): Promise<void> {
  await loadNativeCode();
  const turnOffTwoStep = flags.has("turn-off-two-step");
  const input = { email, password, turnOffTwoStep };
  const { link, hadTwoStep } = await resetUserPassword(services, actor, input);
  const twoStep = hadTwoStep ? "Turned off two-step sign-in." : "Two-step sign-in was not on.";
  const results = [
    ...(turnOffTwoStep ? [twoStep] : []),
    ...(link === null ? ["Set the password and signed out everywhere."] : []),
  ].join(" ");
  if (link === null) writeLine(results);
  else writeLink(link, results);
}

function writeLink({ address, expiresAt }: PasswordLink, before: string): void {
  const time = expiresAt.slice(0, 16).replace("T", " ");
  writeLine(`${before} Link to choose a password, once, until ${time} UTC:`.trim(), "stderr");
  writeLine(address);
}

// `gatehouse token …`: operator tokens, alongside a running server. A new token is the only text on standard output.
import { parseAddressBlock } from "../domain/address_block.ts";
import { apiKeyNameCharactersMax, operatorTokenAddressesMax } from "../domain/limits.ts";
import { isOperatorScope, type OperatorScope, unknownScope } from "../domain/access/operator_scope.ts";
import type { OperatorToken } from "../domain/access/operator_token.ts";
import { parseTime } from "../domain/time.ts";
import {
  createOperatorToken,
  listOperatorTokens,
  type NewToken,
  revokeOperatorToken,
} from "../services/console/mod.ts";
import { nameArgument, type Subcommand, verbCommand } from "./administration.ts";
import { tokenHelp } from "./help.ts";
import { CommandError, exitStatus, usageError } from "./settings.ts";
import { writeLine } from "./terminal.ts";
import { minute, textTable } from "./text_table.ts";
import type { VerbArguments } from "./verb_arguments.ts";

const listPageItems = 100;

export const tokenCommand = verbCommand("gatehouse token", {
  verbs: {
    create: {
      subject: "name",
      options: { scope: "list", expires: "text", address: "list" },
      act: create,
      check: (given) => toNewToken(given, Date.now()),
    },
    list: { options: { json: "flag" }, act: list, onlyReads: true },
    revoke: { subject: "token id", options: {}, act: revoke },
  },
  help: tokenHelp,
  unknown: { message: "no token has this id.", status: exitStatus.data },
});

async function create(call: Subcommand): Promise<void> {
  const { services, actor } = call;
  const { token, fullToken } = await createOperatorToken(services, actor, toNewToken(call, services.clock()));
  const until = token.expiresAt === null ? "" : `, valid until ${minute(token.expiresAt)}`;
  writeLine(`Created ${token.id}${until}. The token is shown only once:`, "stderr");
  writeLine(fullToken);
}

/** @throws {CommandError} */
function toNewToken({ subject, texts, lists }: VerbArguments, now: number): NewToken {
  const scopes = lists.get("scope") ?? [];
  const addresses = lists.get("address") ?? [];
  if (scopes.length === 0) throw usageError("--scope is required.");
  if (addresses.length > operatorTokenAddressesMax) {
    const fault = `--address can be given at most ${operatorTokenAddressesMax} times.`;
    throw new CommandError(fault, exitStatus.data);
  }
  const wrong = addresses.find((text) => parseAddressBlock(text) === null);
  if (wrong !== undefined) {
    throw new CommandError(`--address ${wrong} is not an IP address or a CIDR block.`, exitStatus.data);
  }
  return {
    name: nameArgument(subject, { label: "NAME", charactersMax: apiKeyNameCharactersMax }),
    scopes: scopes.map(toScope),
    addresses,
    expiresAt: texts.has("expires") ? toExpiry(texts.get("expires") ?? "", now) : null,
  };
}

function toScope(text: string): OperatorScope {
  if (isOperatorScope(text)) return text;
  throw new CommandError(unknownScope(text), exitStatus.data);
}

/** Parses a number of days or hours, such as `90d`, a date or a time. Returns milliseconds since 1970. */
function toExpiry(text: string, now: number): number {
  const [, count, unit] = /^(\d{1,5})([dh])$/.exec(text) ?? [];
  const hours = unit === "d" ? 24 : 1;
  const at = count === undefined ? parseTime(text) : now + Number(count) * hours * 3_600_000;
  if (at !== null && at > now) return at;
  const fault = "--expires must be in the future: days such as 90d, hours such as 12h, or a date.";
  throw new CommandError(fault, exitStatus.data);
}

async function list({ services, flags }: Subcommand): Promise<void> {
  const table = textTable(["ID", "STATUS", "LAST USED", "EXPIRES", "NAME", "SCOPES", "ADDRESSES"]);
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const page = await listOperatorTokens(services, { limit: listPageItems, cursor });
    const { tokens } = page;
    const lines = flags.has("json") ? tokens.map((token) => JSON.stringify(token)) : table(tokens.map(cells));
    if (lines.length > 0) writeLine(lines.join("\n"));
    cursor = page.nextCursor;
  }
}

function cells({ id, status, lastUsedAt, expiresAt, name, scopes, addresses }: OperatorToken): string[] {
  const from = addresses.length === 0 ? "any" : addresses.join(",");
  return [id, status, minute(lastUsedAt), minute(expiresAt), name, scopes.join(","), from];
}

async function revoke({ services, actor, subject }: Subcommand): Promise<void> {
  const { name } = await revokeOperatorToken(services, actor, subject);
  writeLine(`Revoked “${name}”. Requests with it fail immediately.`);
}

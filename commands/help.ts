// The help texts: `gatehouse --help`, and those of the commands with their own, such as `gatehouse user --help`.
import { operatorUsageGroups } from "../db/meter/mod.ts";
import { mappingPresets } from "../domain/meter/mapping_presets.ts";
import { queryWindows } from "../domain/meter/usage_window.ts";
import { defaultQuantityProperty } from "../domain/meter/usage_record.ts";
import { fileSetting, secrets, settings } from "../config.ts";
import { operatorLinkLifetimeMs } from "../domain/limits.ts";
import { operatorScopes, scopeMeanings } from "../domain/access/operator_scope.ts";
import { providerKinds } from "../domain/people/identity_provider.ts";
import { exitStatus } from "./settings.ts";

/** For commands that work alongside a running server. */
const commonMeanings = {
  0: "success",
  [exitStatus.usage]: "invalid command or option",
  [exitStatus.internal]: "internal error",
  [exitStatus.busy]: "the database is busy or unavailable; try again",
  [exitStatus.config]: "invalid settings, or the database doesn't match this version or was moved",
};

export function help(): string {
  const width = Math.max(...Object.keys(settings).map((name) => name.length));
  const lines = Object.entries(settings).map(([name, { default: fallback, expected }]) =>
    `  ${name.padEnd(width)}  ${expected}${fallback === "" ? "" : `; default ${fallback}`}`
  );
  return [
    "Gatehouse: sign-in, API keys and usage metering in one program.",
    "",
    "Usage: gatehouse [COMMAND] [--env-file FILE]",
    "",
    "  serve         run the server (the default command)",
    "  user          manage accounts: the first one, and emergencies; see gatehouse user --help",
    "  operator      manage who may open the operator console; see gatehouse operator --help",
    "  token         manage operator tokens for programs; see gatehouse token --help",
    "  provider      manage providers that people sign in with, such as Google; see gatehouse provider --help",
    "  client        manage applications that sign people in here, such as Grafana; see gatehouse client --help",
    "  keys          rotate the keys that sign the ID tokens of applications; see gatehouse keys --help",
    "  mapping       manage how events of gateways become usage records; see gatehouse mapping --help",
    "  usage         print usage across organizations as CSV; see gatehouse usage --help",
    "  import        import usage from OpenMeter, Lago, Stripe or Gatehouse; see gatehouse import --help",
    "  export        print usage records or statements as NDJSON; see gatehouse export --help",
    "  migrate       bring the database to this version's schema",
    "  check         check settings, database, mail server and public address, and suggest fixes;",
    "                --json prints one JSON object",
    "  proxy         print an nginx, Caddy or Traefik configuration; see gatehouse proxy --help",
    "  backup FILE   copy the data file, also while the server is running; - for standard output",
    "  restore FILE  replace the data file with a backup while the server is stopped; - for standard input;",
    "                the former data file is kept under another name",
    "  backup status|verify URL",
    "                say how old the newest point of a continuous backup is, or restore it to a temporary file",
    "  restore --from URL [--at TIME|NUMBER] [--keep-sessions] FILE",
    "                restore a continuous backup to a new file: the newest point, or the one at a time; --at ends all",
    "                sessions",
    "  move          copy everything to a libSQL server, or back to a file; see gatehouse move --help",
    "  openapi       print the OpenAPI document",
    "  --help        print this help, also after a command",
    "  --version     print the version; --json prints one JSON object, also with the commit, Deno and SQLite",
    "",
    "Settings are read from the environment, then from the file that --env-file names:",
    "",
    ...lines,
    "",
    `Secrets can also be read from files: ${secrets.map(fileSetting).join(", ")}.`,
    "",
    ...exitStatusLines({
      ...commonMeanings,
      1: "gatehouse check found a problem",
      [exitStatus.data]: "not a usable backup, or an invalid value",
      [exitStatus.input]: "the backup cannot be read",
      [exitStatus.noUser]: "no account has this email address",
      [exitStatus.io]: "reading or writing a file failed",
      [exitStatus.busy]: "the port or the database is in use or unavailable; try again",
    }),
  ].join("\n");
}

export function userHelp(): string {
  const hours = operatorLinkLifetimeMs / 3_600_000;
  return [
    "Manage accounts from the command line: create the first one, and help in emergencies. The command uses the",
    "server's settings and database, also while the server is running. Run it as the same system user.",
    "",
    "  gatehouse user create EMAIL --name NAME [--organization NAME | --join ORGANIZATION_ID --role ROLE]",
    "                              [--password-stdin]",
    "      create an account that owns a new organization, or joins one as OWNER, ADMIN or MEMBER. Its email",
    "      address counts as confirmed. Prints a link to choose a password",
    "  gatehouse user list [--json]",
    "      print all accounts as a table, or as one JSON object per line. The last sign-in doesn't include sessions",
    "      that were signed out",
    "  gatehouse user disable EMAIL [--revoke-keys]",
    "      reject sign-in, and immediately end all sessions, links and open invitations; with --revoke-keys, also",
    "      revoke the API keys that the account created, in every organization",
    "  gatehouse user enable EMAIL",
    "      allow sign-in again",
    "  gatehouse user reset-password EMAIL [--turn-off-two-step] [--password-stdin]",
    "      print a link to choose a new password. Earlier links stop working",
    "",
    `A link works once, for ${hours} hours, and is printed on standard output alone.`,
    "With --password-stdin, the password is read from standard input and works immediately. A reset then ends all",
    "sessions.",
    "",
    ...exitStatusLines({
      [exitStatus.data]: "the email address is taken, or a value is invalid",
      [exitStatus.noUser]: "no account has this email address",
      ...commonMeanings,
    }),
  ].join("\n");
}

export function operatorHelp(): string {
  return [
    "Manage operators: accounts that may open the console at /operator, which shows every organization. The console",
    "also requires a passkey or an authenticator app. The command uses the server's settings and database, also while",
    "the server is running. Run it as the same system user.",
    "",
    "  gatehouse operator add EMAIL",
    "      make an existing account an operator",
    "  gatehouse operator remove EMAIL",
    "      take that back, effective on the next request. Tokens that the operator created still work",
    "  gatehouse operator list [--json]",
    "      print all operators as a table, or as one JSON object per line",
    "",
    ...exitStatusLines({
      [exitStatus.data]: "the account is disabled",
      [exitStatus.noUser]: "no account has this email address",
      ...commonMeanings,
    }),
  ].join("\n");
}

export function tokenHelp(): string {
  return [
    "Manage operator tokens, with which programs use the API below /api/operator. The command uses the server's",
    "settings and database, also while the server is running. Run it as the same system user.",
    "",
    "  gatehouse token create NAME --scope SCOPE,SCOPE [--expires 90d] [--address CIDR]...",
    "      create a token and print it, alone on standard output. It can't be shown again. --expires takes days (90d),",
    "      hours (12h), a date or a time. With --address, the token works only from these IP addresses or blocks",
    "  gatehouse token list [--json]",
    "      print all tokens, newest first, as a table, or as one JSON object per line",
    "  gatehouse token revoke ID",
    "      revoke a token. Requests with it fail immediately",
    "",
    "Scopes:",
    "",
    ...operatorScopes.map((scope) => `  ${scope.padEnd(19)}  ${scopeMeanings[scope]}`),
    "",
    ...exitStatusLines({
      [exitStatus.data]: "an unknown scope or id, or an invalid value",
      ...commonMeanings,
    }),
  ].join("\n");
}

export function clientHelp(): string {
  return [
    "Manage the applications that sign people in here, such as Grafana. The console has all their settings. The command uses",
    "the server's settings and database, also while the server is running. Run it as the same system user.",
    "",
    "  gatehouse client add NAME --redirect-uri URI... [--post-logout-redirect-uri URI...] [--public] [--no-consent]",
    "      add an application, and print its secret, or its client ID with --public, for applications on people's devices and",
    "      in browsers. With --no-consent, people aren't asked before they give access, as for your own applications",
    "  gatehouse client list [--json]",
    "      print all applications, newest first, as a table, or as one JSON object per line",
    "  gatehouse client rotate ID",
    "      print a new secret. The old one is rejected immediately",
    "  gatehouse client remove ID",
    "      remove an application. Its access ends immediately",
    "",
    ...exitStatusLines({
      [exitStatus.data]: "an unknown id, an invalid value, or SECRETS_KEY isn't set",
      ...commonMeanings,
    }),
  ].join("\n");
}

export function keysHelp(): string {
  return [
    "Rotate the keys that sign the ID tokens of applications. The server does this every 90 days by itself. The command uses",
    "the server's settings and database, also while the server is running. Run it as the same system user.",
    "",
    "  gatehouse keys rotate [--now]",
    "      publish new keys, which sign from 24 hours later, when all applications know them. With --now, for stolen keys:",
    "      the new ones sign immediately, and ID tokens and JWT access tokens of the old ones are rejected",
    "",
    ...exitStatusLines({ [exitStatus.data]: "SECRETS_KEY isn't set", ...commonMeanings }),
  ].join("\n");
}

export function providerHelp(): string {
  return [
    "Manage the providers that people sign in with, such as Google, Microsoft, GitHub or any OpenID provider. The command",
    "uses the server's settings and database, also while the server is running. Run it as the same system user.",
    "",
    "  gatehouse provider add SLUG --kind KIND [--issuer URL] --client-id ID --client-secret-file FILE",
    "                              [--name NAME] [--trust-email]",
    `      add a provider that can be reached, and print the redirect URI to register there. KIND is one of`,
    `      ${
      providerKinds.join(", ")
    }. Google and GitHub need no issuer; for GitHub Enterprise Server, it is the`,
    "      server's address. The file contains only the secret. NAME is on the button. With --trust-email, all email",
    "      addresses of the provider are believed, verified or not: it can sign in as any account with that address",
    "  gatehouse provider list [--json]",
    "      print all providers in the order of their buttons, as a table, or as one JSON object per line",
    "  gatehouse provider remove SLUG",
    "      remove a provider. Existing sessions stay, but no one can sign in with it anymore",
    "",
    ...exitStatusLines({
      [exitStatus.data]: "an unknown or taken slug, an invalid value, or a provider that can't be used",
      [exitStatus.input]: "the file of the secret can't be read",
      ...commonMeanings,
    }),
  ].join("\n");
}

export function mappingHelp(): string {
  return [
    "Manage mappings: how events of gateways, sent with an operator token with the scope usage:collect, become usage",
    "records. The command uses the server's settings and database, also while the server is running. Run it as the same",
    "system user.",
    "",
    "  gatehouse mapping add --preset NAME | --file FILE",
    "      add the mapping of a known gateway, or one from a JSON file with the body of POST /api/operator/event-mappings,",
    "      and print its id",
    "  gatehouse mapping list [--json]",
    "      print all mappings as a table, or as one JSON object per line",
    "  gatehouse mapping try ID --event FILE",
    "      print what would be recorded of the CloudEvent in a JSON file. Nothing is recorded",
    "  gatehouse mapping delete ID",
    "      delete a mapping. Its events are rejected; recorded usage doesn't change",
    "",
    `Presets: ${Object.keys(mappingPresets).join(", ")}.`,
    "",
    ...exitStatusLines({
      [exitStatus.data]: "an unknown id, an invalid value, or another mapping for these events",
      [exitStatus.input]: "a file can't be read",
      ...commonMeanings,
    }),
  ].join("\n");
}

export function usageHelp(): string {
  return [
    "Prints usage across organizations as CSV, like GET /api/operator/usage.csv. The command uses the server's settings",
    "and database, also while the server is running. Run it as the same system user.",
    "",
    "  gatehouse usage --from 2026-10-01 --to 2026-11-01 --group-by organization,metric",
    "",
    "  --from, --to     dates or times; by default the current month. --to is exclusive",
    "  --timezone ZONE  an IANA name; by default UTC. Months of UTC are read fastest",
    `  --window WINDOW  ${queryWindows.join(", ")}; by default total`,
    `  --group-by       ${operatorUsageGroups.join(", ")}, and properties such as properties.region`,
    "  --organization   only these organizations: ids, or external: and an external id",
    "  --product, --metric, --key",
    "                   only these products, metrics, or API keys by id",
    "  --environment    live or test; by default live, or that of the keys",
    "  --property       only these values of properties in a dimension, such as region=eu",
    "",
    "Separate several values with commas. Different metrics are never added up.",
    "",
    ...exitStatusLines({
      [exitStatus.data]: "an invalid value, or an unknown organization",
      ...commonMeanings,
    }),
  ].join("\n");
}

export function importHelp(): string {
  return [
    "Sends usage from a file to a server, through its operators' API. The file has one JSON object per line.",
    "",
    "  gatehouse import usage FILE --from openmeter|lago|stripe|gatehouse [--dry-run] [OPTIONS]",
    "",
    "  FILE               - for standard input",
    "  --dry-run          print what would be imported: counts and sums, and the lines that can't be",
    "  --url URL          the server's address; by default BASE_URL",
    "  --token-file FILE  a file with an operator token with the scope usage:write; by default, the token is in",
    "                     GATEHOUSE_OPERATOR_TOKEN. A dry run checks organizations with organizations:read",
    "  --product PRODUCT  the product of all records. Required for Lago and Stripe",
    "  --quantity-property [METRIC=]PROPERTY",
    "                     the property with the quantity, of one metric or of all others. METRIC=1 counts each event as",
    `                     1. By default ${defaultQuantityProperty}, and 1 for events without it`,
    "  --properties NAMES keep only these properties. A record has at most 16",
    "  --customers FILE   CSV without a header: a customer id of the source, and the organization's external id",
    "  --skip-invalid     report lines that can't be imported at the end, instead of stopping at the first one",
    "  --progress FILE    where to keep the progress; by default FILE.progress, next to the imported file",
    "",
    "Run the same command again after an interruption: it continues where it stopped. Records that were imported",
    "before are recognized by their ids and change nothing.",
    "",
    ...exitStatusLines({
      0: "success; for a dry run, everything can be imported",
      [exitStatus.usage]: "invalid command or option, or the progress is that of another import",
      [exitStatus.data]: "a line can't be imported",
      [exitStatus.input]: "a file cannot be read",
      [exitStatus.internal]: "internal error",
      [exitStatus.io]: "writing the progress failed",
      [exitStatus.busy]: "the server is busy or unavailable; run the command again",
      [exitStatus.config]: "invalid settings, or the server rejects the token",
    }),
  ].join("\n");
}

export function moveHelp(): string {
  return [
    "Copies everything from the database of the settings to an empty one, and compares every row. Stop all servers before.",
    "If it is interrupted, run the same command again: it continues.",
    "",
    "A file stays as it was. A libSQL server becomes read-only for all programs: servers that still use it stop, and none",
    "starts, until the move is canceled.",
    "",
    "  gatehouse move --to libsql://HOST --to-token-file FILE",
    "  gatehouse move --to file:PATH",
    "  gatehouse move --cancel",
    "      let servers use the libSQL server of the settings again. Don't use the new database then",
    "",
    "  --to URL              libsql://, https:// or http:// of a libSQL server or Turso, or file: and a path",
    "  --to-token-file FILE  a file with the token of that server",
    "",
    "No server accepts the new database before the move is complete.",
    "",
    ...exitStatusLines({
      ...commonMeanings,
      [exitStatus.data]: "the target isn't empty, the database changed meanwhile, or a table differs",
      [exitStatus.input]: "the token can't be read",
      [exitStatus.busy]: "a server is running, or a database is unavailable; try again to continue",
    }),
  ].join("\n");
}

export function exportHelp(): string {
  return [
    "Prints usage records or statements, one JSON object per line, oldest first. The command uses the server's settings",
    "and database, also while the server is running. Run it as the same system user.",
    "",
    "  gatehouse export records [--since CURSOR]",
    "      print the records of all organizations in the order of recording, including voided ones",
    "  gatehouse export statements [--since CURSOR]",
    "      print the lines of closed statements",
    "",
    "Each line has a cursor. With --since, only what follows that line is printed.",
    "",
    ...exitStatusLines({ [exitStatus.data]: "an invalid cursor", ...commonMeanings }),
  ].join("\n");
}

export function proxyHelp(): string {
  return [
    "Usage: gatehouse proxy nginx|caddy|traefik [HOST=ADDRESS[?CONDITIONS]]...",
    "",
    "Prints a complete reverse proxy configuration from the settings: for Gatehouse, and for each application HOST",
    "at ADDRESS (host:port) that requires sign-in or an API key. HOST has the scheme and port of BASE_URL.",
    "",
    "CONDITIONS are parameters of GET /api/auth/forward, joined by &. Without any, everyone with a confirmed",
    "email address has access:",
    "",
    "  organization=ORGANIZATION_ID  members of this organization",
    "  role=ADMIN                    at least this role: MEMBER, ADMIN or OWNER",
    "  user=email                    Remote-User is the confirmed email address instead of the id",
    "  accept=key                    API keys instead of people; accept=session,key for both",
    "  meter=PRODUCT/METRIC          record 1 for each request with a key",
    "",
    "Examples:",
    "",
    "  gatehouse proxy nginx app.example.com=127.0.0.1:3000 > /etc/nginx/conf.d/gatehouse.conf",
    "  gatehouse proxy caddy 'api.example.com=127.0.0.1:3001?accept=key&meter=tiles/requests'",
    "",
    ...exitStatusLines({
      0: "success; warnings are on standard error",
      [exitStatus.usage]: "invalid proxy, application or condition",
      [exitStatus.config]: "invalid settings",
    }),
  ].join("\n");
}

function exitStatusLines(meanings: Readonly<Record<number, string>>): string[] {
  const lines = Object.entries(meanings).map(([status, meaning]) => `  ${status.padEnd(2)}  ${meaning}`);
  return ["Exit status:", "", ...lines];
}

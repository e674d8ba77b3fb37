// What `gatehouse --help`, `gatehouse user --help` and `gatehouse proxy --help` say.
import { fileSetting, secrets, settings } from "../config.ts";
import { operatorLinkLifetimeMs } from "../domain/limits.ts";
import {
  exitBusy,
  exitConfig,
  exitData,
  exitFault,
  exitInput,
  exitIo,
  exitNoUser,
  exitUsage,
} from "./settings.ts";

/** @returns Every command and every setting. */
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
    "  serve      run the server (also without a command)",
    "  user       accounts, for the first one and for emergencies; see gatehouse user --help",
    "  migrate    bring the database to this program's schema, then end",
    "  check      look at the settings, the database, the mail server and the public address, and say what is wrong",
    "             and what to do; --json: as one JSON object. Exit status 0, or 1 when something is wrong",
    "  proxy      print the configuration of nginx, Caddy or Traefik for these settings; see gatehouse proxy --help",
    "  backup     copy the data file to FILE, or to standard output for -, also while the server is running",
    "  restore    replace the data file by the backup FILE, or standard input for -, while no server is running;",
    "             the former data file is kept under another name",
    "  openapi    print the OpenAPI document",
    "  --help     print this",
    "  --version  print the version",
    "",
    "Settings are read from the environment and, where it has none, from the file that --env-file names:",
    "",
    ...lines,
    "",
    `Secrets can also be read from files: ${secrets.map(fileSetting).join(", ")}.`,
    "",
    "Exit status:",
    "",
    "  0   done",
    "  1   gatehouse check found something wrong",
    `  ${exitUsage}  not a valid command or option`,
    `  ${exitData}  not a usable backup, or an invalid value`,
    `  ${exitInput}  the backup cannot be read`,
    `  ${exitNoUser}  no account has this address`,
    `  ${exitFault}  an internal error`,
    `  ${exitIo}  reading or writing a file failed`,
    `  ${exitBusy}  the port or the database is in use or out of reach: try again`,
    `  ${exitConfig}  a setting is invalid, or the database does not match this program`,
  ].join("\n");
}

/** @returns What the commands for accounts take, do and end with. */
export function userHelp(): string {
  return [
    "Accounts from the command line: the first one, and emergencies. It works on the database of the same",
    "settings as the server, also while that is running; run it as the same user of the system.",
    "",
    "  gatehouse user create EMAIL --name NAME [--organization NAME | --join ORGANIZATION_ID --role ROLE]",
    "                              [--password-stdin]",
    "      make an account, which owns a new organization, or joins one as OWNER, ADMIN or MEMBER; its address",
    "      counts as confirmed. Prints a link by which they choose their password",
    "  gatehouse user list [--json]",
    "      print every account: a table, or a JSON object a line. The last sign-in is that of the sessions that",
    "      were not signed out since",
    "  gatehouse user disable EMAIL [--revoke-keys]",
    "      end their sessions, links and open invitations immediately and reject sign-in; with --revoke-keys also",
    "      the API keys that they made, in every organization",
    "  gatehouse user enable EMAIL",
    "      let them sign in again",
    "  gatehouse user reset-password EMAIL [--turn-off-two-step] [--password-stdin]",
    "      print a link by which they choose a new password; older links end",
    "",
    `A link works once, for ${
      operatorLinkLifetimeMs / 3_600_000
    } hours, and is printed on standard output alone.`,
    "With --password-stdin the password comes from standard input and works immediately, and a reset ends every session.",
    "",
    "Exit status:",
    "",
    "  0   done",
    `  ${exitUsage}  not a valid command or option`,
    `  ${exitData}  the address is taken, or a value is invalid`,
    `  ${exitNoUser}  no account has this address`,
    `  ${exitFault}  an internal error`,
    `  ${exitBusy}  the database is busy or out of reach: try again`,
    `  ${exitConfig}  a setting is invalid, or the database does not match this program`,
  ].join("\n");
}

/** @returns What the command for reverse proxies takes and prints. */
export function proxyHelp(): string {
  return [
    "Usage: gatehouse proxy nginx|caddy|traefik [HOST=ADDRESS[?CONDITIONS]]...",
    "",
    "Prints a complete configuration for a reverse proxy from the settings: Gatehouse itself, and each",
    "application HOST at ADDRESS (host:port) that only the right people or API keys may reach. HOST has the",
    "scheme and port of BASE_URL.",
    "",
    "CONDITIONS are parameters of GET /api/auth/forward, joined by &. Without any, everyone with a confirmed",
    "email address gets in:",
    "",
    "  organization=ORGANIZATION_ID  members of this organization",
    "  role=ADMIN                    at least this role: MEMBER, ADMIN or OWNER",
    "  user=email                    Remote-User is the confirmed email address instead of the id",
    "  accept=key                    API keys instead of people; accept=session,key: both",
    "  meter=PRODUCT/METRIC          record 1 for each request with a key",
    "",
    "Examples:",
    "",
    "  gatehouse proxy nginx app.example.com=127.0.0.1:3000 > /etc/nginx/conf.d/gatehouse.conf",
    "  gatehouse proxy caddy 'api.example.com=127.0.0.1:3001?accept=key&meter=tiles/requests'",
    "",
    "Exit status:",
    "",
    "  0   done; warnings are on standard error",
    `  ${exitUsage}  not a valid proxy, application or condition`,
    `  ${exitConfig}  a setting is invalid`,
  ].join("\n");
}

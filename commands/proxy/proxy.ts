// `gatehouse proxy`: prints a reverse proxy configuration that fits the settings. It changes nothing.
import type { Config, Settings } from "../../config.ts";
import { AppError } from "../../domain/errors.ts";
import { type ProxiedApplication, splitApplication } from "../../domain/meter/proxied_application.ts";
import { check } from "../../routes/schemas/check.ts";
import { forwardQuerySchema } from "../../routes/keys/schemas/forward_auth.ts";
import { proxyBlock, type ProxyName, proxyNames } from "./configuration.ts";
import { proxyHelp } from "../help.ts";
import { CommandError, exitStatus, readSettings, usageError } from "../settings.ts";
import { writeLine } from "../terminal.ts";

export function proxyCommand(args: readonly string[], environment: Settings): number {
  if (args.includes("--help") || args.includes("-h")) return writeLine(proxyHelp());
  const [name = "", ...texts] = args;
  if (!isProxyName(name)) {
    const found = name === "" ? "name a proxy" : `${JSON.stringify(name)} is not a proxy`;
    throw usageError(`${found}: ${proxyNames.join(", ")}. Try gatehouse proxy --help.`);
  }
  const applications = texts.map(parseApplication);
  const config = readSettings(environment);
  const hosts = [config.baseUrl.hostname, ...applications.map(({ host }) => host)];
  const duplicate = hosts.find((host, at) => hosts.indexOf(host) !== at);
  if (duplicate !== undefined) {
    throw usageError(`${duplicate} is given twice, or is BASE_URL's host, which is Gatehouse's own.`);
  }
  const block = proxyBlock(name, config, applications);
  if (block === null) {
    throw new CommandError("with PORT=0 the port changes at every start: set PORT.", exitStatus.config);
  }
  for (const warning of applications.flatMap((application) => warnings(application, config))) {
    writeLine(`gatehouse proxy: warning: ${warning}`, "stderr");
  }
  return writeLine(block);
}

function isProxyName(text: string): text is ProxyName {
  return (proxyNames as readonly string[]).includes(text);
}

/** Checks an application by the rules of the forward auth endpoint. @throws {CommandError} */
function parseApplication(text: string): ProxiedApplication {
  const invalid = (problem: string) => usageError(`${JSON.stringify(text)}: ${problem}`);
  const split = splitApplication(text);
  if (split === null) throw invalid("must be HOST=ADDRESS, such as app.example.com=127.0.0.1:3000.");
  const { host, address, conditions } = split;
  const pairs = [...new URLSearchParams(conditions)];
  const given = Object.fromEntries(pairs);
  if (Object.keys(given).length !== pairs.length) throw invalid("a condition is given twice.");
  if ("redirect" in given) throw invalid("“redirect” is set by the proxy's configuration.");
  // Anyone can sign up with any address; members of an organization confirmed theirs when they joined.
  const isByEmail = given["accept"] !== "key" &&
    (given["organization"] === undefined || given["user"] === "email");
  const query = isByEmail ? { email: "verified", ...given } : given;
  try {
    check(forwardQuerySchema, query, "query");
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw invalid((error.details ?? []).map(({ path, message }) => `“${path}” ${message}`).join(" "));
  }
  // Valid values contain no character with a meaning in a query or a configuration.
  const joined = Object.entries(query).map(([name, value]) => `${name}=${value}`).join("&");
  return { host, address, query: joined, isMetered: "meter" in query };
}

/** Returns reasons why people can't sign in to the application, one sentence each. */
function warnings({ host, query }: ProxiedApplication, config: Config): string[] {
  if (new URLSearchParams(query).get("accept") === "key") return [];
  const { baseUrl, cookieDomain, allowedOrigins } = config;
  const found: string[] = [];
  if (cookieDomain === undefined) {
    found.push(`COOKIE_DOMAIN isn't set: browsers won't send the session cookie to ${host}.`);
  } else if (!`.${host}`.endsWith(cookieDomain)) {
    found.push(
      `${host} is outside COOKIE_DOMAIN=${cookieDomain}: browsers won't send it the session cookie.`,
    );
  }
  const origin = `${baseUrl.protocol}//${host}${baseUrl.port === "" ? "" : `:${baseUrl.port}`}`;
  if (!allowedOrigins.some((allowed) => allowed.matches(origin))) {
    found.push(`${origin} isn't in ALLOWED_ORIGINS: after signing in, people aren't sent back to it.`);
  }
  return found;
}

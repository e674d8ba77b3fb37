// `gatehouse check`: examines the settings and the deployment, and reports problems in plain words. It changes nothing and
// works with or without a running server.
import type { Config, Settings } from "../../config.ts";
import { type CheckResult, resultsOf, type Verdict, worstVerdict } from "../../domain/check_result.ts";
import { countOf } from "../../domain/number_text.ts";
import { proxyBlock } from "../proxy/configuration.ts";
import { temporaryFolderAdvice, tryNativeCode } from "../native_code.ts";
import { readSettings, usageError } from "../settings.ts";
import { writeLine } from "../terminal.ts";
import { checkDatabase } from "./database.ts";
import { checkMail } from "./mail.ts";
import { checkPublicAddress, isServerRunning } from "./public_address.ts";
import { withLocalhostNames } from "./request.ts";
import { checkSettingNames } from "./setting_names.ts";
import { checkSettings } from "./settings.ts";

const exitWrong = 1;

/** Runs all checks and prints the results. Returns 0 when nothing is wrong, 1 when something is. @throws {CommandError} */
export async function checkCommand(args: readonly string[], environment: Settings): Promise<number> {
  const [option, ...rest] = args;
  if (rest.length > 0 || (option !== undefined && option !== "--json")) {
    throw usageError(`unknown option ${args.join(" ")}. The only option is --json.`);
  }
  const config = readSettings(environment);
  const results = await runChecks(config, environment);
  writeLine(option === "--json" ? asJson(results, config) : asText(results, config));
  return worstVerdict(results) === "wrong" ? exitWrong : 0;
}

async function runChecks(config: Config, environment: Settings): Promise<CheckResult[]> {
  return await withLocalhostNames(async (send) => {
    const isRunning = isServerRunning(config, send);
    const parts = await Promise.all([
      [{ about: "Settings", verdict: "ok", saw: "All settings are valid." } as const],
      checkSettingNames(environment),
      checkTemporaryFolder(),
      checkSettings(config),
      checkDatabase(config, { isRunning }),
      checkMail(config).then((result) => [result]),
      checkPublicAddress(config, { isRunning, send }),
    ]);
    return parts.flat();
  });
}

async function checkTemporaryFolder(): Promise<CheckResult[]> {
  const result = resultsOf("Temporary folder");
  const { folder, fault } = await tryNativeCode();
  return [
    fault === null
      ? result.ok(`${folder}: the code for passwords loads.`)
      : result.wrong(`The server ${fault}`, temporaryFolderAdvice),
  ];
}

function asJson(results: readonly CheckResult[], config: Config): string {
  const checks = results.map(({ about, verdict, saw, advice = null }) => ({ about, verdict, saw, advice }));
  return JSON.stringify({ verdict: worstVerdict(results), checks, proxy: proxyBlocks(config) }, null, 2);
}

const verdictWidth = "warning".length;

function asText(results: readonly CheckResult[], config: Config): string {
  const width = Math.max(...results.map(({ about }) => about.length));
  const indent = " ".repeat(verdictWidth + 2 + width);
  const lines = results.flatMap(({ verdict, about, saw, advice }) => [
    `${verdict.padEnd(verdictWidth)}  ${about.padEnd(width)}  ${saw}`,
    ...(advice === undefined ? [] : [`${indent}  → ${advice}`]),
  ]);
  const count = (wanted: Verdict) => results.filter(({ verdict }) => verdict === wanted).length;
  const summary = `${count("wrong")} wrong, ${countOf(count("warning"), "warning")}, ${count("ok")} ok.`;
  return [...lines, ...proxyLines(results, config), "", summary].join("\n");
}

/** Returns two of the blocks that `gatehouse proxy` prints; null when the system chooses the port. */
function proxyBlocks(config: Config): { readonly caddy: string; readonly nginx: string } | null {
  const [caddy, nginx] = [proxyBlock("caddy", config), proxyBlock("nginx", config)];
  return caddy === null || nginx === null ? null : { caddy, nginx };
}

/** Returns the proxy configuration to use, if the proxy may be the cause of a problem. */
function proxyLines(results: readonly CheckResult[], config: Config): string[] {
  const isNeeded = results.some(({ verdict, isForProxy }) => verdict !== "ok" && isForProxy === true);
  const blocks = proxyBlocks(config);
  if (!isNeeded || blocks === null) return [];
  return [
    "",
    "The block for this host in Caddy's Caddyfile:",
    "",
    blocks.caddy,
    "",
    "Or in nginx's http block, with the paths of your certificate:",
    "",
    blocks.nginx,
  ];
}

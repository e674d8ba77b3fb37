// `gatehouse check`: looks at the settings and at the deployment, and says in plain words what is wrong. It changes nothing,
// and works beside a running server and without one.
import type { Config, Settings } from "../../config.ts";
import { type Finding, type Verdict, worstVerdict } from "../../domain/check_result.ts";
import { databaseFindings } from "./database.ts";
import { mailFinding } from "./mail.ts";
import { publicFindings, serverAnswers } from "./public_address.ts";
import { strangeNameFindings } from "./setting_names.ts";
import { settingsFindings } from "./settings.ts";
import { proxyBlock } from "../proxy/configuration.ts";
import { exitConfig, exitUsage, readSettings } from "../settings.ts";
import { writeLine } from "../terminal.ts";

/** Exit status when something is wrong. */
const exitWrong = 1;

/**
 * @param args As typed, without `gatehouse check`.
 * @param environment See {@linkcode CommandLine}.
 * @returns The exit status: 0 when nothing is wrong, 1 when something is, 78 for settings that are not taken.
 */
export async function checkCommand(args: readonly string[], environment: Settings): Promise<number> {
  const [option, ...rest] = args;
  if (rest.length > 0 || (option !== undefined && option !== "--json")) {
    writeLine(`gatehouse check: ${args.join(" ")} is no option. It takes --json, or nothing.`, "stderr");
    return exitUsage;
  }
  const config = readSettings(environment);
  if (config === null) return exitConfig;
  const findings = await allFindings(config, environment);
  writeLine(option === "--json" ? asJson(findings, config) : asText(findings, config));
  return worstVerdict(findings) === "wrong" ? exitWrong : 0;
}

async function allFindings(config: Config, environment: Settings): Promise<Finding[]> {
  const running = serverAnswers(config);
  const parts = await Promise.all([
    [{ about: "Settings", verdict: "ok", saw: "Every one of them can be read." } as const],
    strangeNameFindings(environment),
    settingsFindings(config),
    databaseFindings(config, { serverAnswers: running }),
    mailFinding(config).then((found) => [found]),
    publicFindings(config, { running }),
  ]);
  return parts.flat();
}

function asJson(findings: readonly Finding[], config: Config): string {
  const checks = findings.map(({ about, verdict, saw, advice }) => ({
    about,
    verdict,
    saw,
    advice: advice ?? null,
  }));
  return JSON.stringify({ verdict: worstVerdict(findings), checks, proxy: proxyBlocks(config) }, null, 2);
}

const widest = "warning".length;

function asText(findings: readonly Finding[], config: Config): string {
  const width = Math.max(...findings.map(({ about }) => about.length));
  const indent = " ".repeat(widest + 2);
  const lines = findings.flatMap(({ verdict, about, saw, advice }) => [
    `${verdict.padEnd(widest)}  ${about.padEnd(width)}  ${saw}`,
    ...(advice === undefined ? [] : [`${indent}${" ".repeat(width)}  → ${advice}`]),
  ]);
  const count = (wanted: Verdict) => findings.filter(({ verdict }) => verdict === wanted).length;
  const warnings = count("warning") === 1 ? "1 warning" : `${count("warning")} warnings`;
  const summary = `${count("wrong")} wrong, ${warnings}, ${count("ok")} ok.`;
  return [...lines, ...proxyLines(findings, config), "", summary].join("\n");
}

/** @returns The blocks that are shown, of those that `gatehouse proxy` prints; null when the port is any free one. */
function proxyBlocks(config: Config): { readonly caddy: string; readonly nginx: string } | null {
  const [caddy, nginx] = [proxyBlock("caddy", config), proxyBlock("nginx", config)];
  return caddy === null || nginx === null ? null : { caddy, nginx };
}

/** The block that would put right what is not, when the proxy can be what is not. */
function proxyLines(findings: readonly Finding[], config: Config): string[] {
  const isAsked = findings.some(({ verdict, isForProxy }) => verdict !== "ok" && isForProxy === true);
  const blocks = proxyBlocks(config);
  if (!isAsked || blocks === null) return [];
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

// Requests for all checks of the public address, and results when there is no response.
import type { Config } from "../../config.ts";
import { type CheckResult, type CheckResults, resultsOf } from "../../domain/check_result.ts";
import { reasonOf } from "./time.ts";

/** The settings that determine the responses to a browser. */
export type PublicSettings = Pick<
  Config,
  "baseUrl" | "secure" | "host" | "port" | "cookieDomain" | "allowedOrigins" | "metricsToken"
>;

/** Sends a request. Tests replace it by a proxy of their own. */
export type Send = (address: string, init?: RequestInit) => Promise<Response>;

/** Runs a check that sends requests, and reports if it failed. */
export async function attempt(
  about: string,
  check: (result: CheckResults) => Promise<CheckResult>,
): Promise<CheckResult> {
  const result = resultsOf(about, { isForProxy: true });
  try {
    return await check(result);
  } catch (error) {
    const advice = "The server was reachable a moment ago: check its log and the proxy's log.";
    return result.wrong(`No response: ${reasonOf(error)}`, advice);
  }
}

/** Discards the body. */
export async function withoutBody(pending: Promise<Response>): Promise<Response> {
  const response = await pending;
  await response.body?.cancel();
  return response;
}

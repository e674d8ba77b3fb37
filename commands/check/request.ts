// What checks of the public address have in common: requests, and findings that tell when there was no answer.
import type { Config } from "../../config.ts";
import type { Finding } from "../../domain/check_result.ts";
import { reasonOf } from "./time.ts";

/** The settings that say what a browser should see. */
export type PublicSettings = Pick<
  Config,
  "baseUrl" | "secure" | "host" | "port" | "cookieDomain" | "allowedOrigins" | "metricsToken"
>;

/** Sends a request; a test puts a proxy of its own here. */
export type Send = (address: string, init?: RequestInit) => Promise<Response>;

/** Makes a finding of one check. */
export type Found = (verdict: Finding["verdict"], saw: string, advice?: string) => Finding;

/**
 * @param about What is looked at.
 * @param check Looks, and calls what it is given with what it found.
 * @returns What the check finds; that it failed, when it did.
 */
export async function attempt(about: string, check: (found: Found) => Promise<Finding>): Promise<Finding> {
  const found: Found = (verdict, saw, advice) => ({
    about,
    verdict,
    saw,
    isForProxy: true,
    ...(advice === undefined ? {} : { advice }),
  });
  try {
    return await check(found);
  } catch (error) {
    const advice = "The server was reachable just before: look at its log, and at the proxy's.";
    return found("wrong", `There was no answer: ${reasonOf(error)}`, advice);
  }
}

/** @returns The answer, without its body. */
export async function emptied(asked: Promise<Response>): Promise<Response> {
  const answer = await asked;
  await answer.body?.cancel();
  return answer;
}

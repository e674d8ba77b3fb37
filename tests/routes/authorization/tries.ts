// The table of all routes, and how to send an attempt and read its response.
import assert from "node:assert/strict";
import type { Caller, Scene } from "../../support/people/scene.ts";
import { apiTable } from "./api.ts";
import type { Attempt, Entry, Outcome } from "./entry.ts";
import { consoleTable } from "./console.ts";
import { embedTable } from "./embed.ts";
import { embedWords } from "../../support/portal/words/embed.ts";
import { oauthTable } from "./oauth.ts";
import { operatorTable } from "./operators.ts";
import { portalTable } from "./portal.ts";

/** Every route by method and path. */
export const table: Readonly<Record<string, Entry>> = {
  ...apiTable,
  ...operatorTable,
  ...consoleTable,
  ...portalTable,
  ...oauthTable,
  ...embedTable,
};

/** Routes that send a test of a webhook: the second batch is the worker's, with the response. */
export const isWebhookTest = /\/webhooks\/:\w+\/test$/;

/** @returns What a caller sends to a route. */
export const attemptOf = ({ attempt, tokenAttempt }: Entry, caller: Caller): Entry["attempt"] =>
  caller === "operatorToken" || caller === "tokenWithoutScope" ? tokenAttempt ?? attempt : attempt;

let address = 0;

/** Sends an attempt. */
export function send(
  scene: Scene,
  { route, attempt, caller, operatorToken }: {
    route: string;
    attempt: Attempt;
    caller: Caller;
    operatorToken?: string | undefined;
  },
): Promise<Response> {
  const [method = "GET", pattern = "/"] = route.split(" ");
  const path = pattern.replaceAll(/:(\w+)/g, (_all, name: string) => {
    const value = attempt.params?.[name];
    assert.ok(value, `${route} needs ${name}`);
    return value;
  });
  const isByPeople = !["nobody", "apiKey", "operatorToken", "tokenWithoutScope"].includes(caller);
  address++;
  return scene.test.send(path + (attempt.query ?? ""), {
    method,
    ...(attempt.json === undefined ? {} : { json: attempt.json }),
    ...(attempt.form === undefined ? {} : { form: attempt.form }),
    ...(isByPeople ? { cookie: scene.me.cookie } : {}),
    ...(caller === "apiKey" ? { apiKey: scene.apiKey } : {}),
    ...(operatorToken === undefined ? {} : { apiKey: operatorToken }),
    // From this machine where the route requires it; otherwise from many addresses, to stay below the limits.
    peerAddress: path === "/metrics" || path.startsWith("/dev/")
      ? "127.0.0.1"
      : `10.${address >> 16}.${(address >> 8) & 255}.${address & 255}`,
  });
}

/** @param options `also`: further statuses that mean that the request was allowed. @returns What the route did. */
export function outcomeOf(
  response: Response,
  { body, also }: { body: string; also: readonly number[] },
): Outcome | string {
  const { status } = response;
  const code = body.startsWith("{") ? JSON.parse(body).error?.code : undefined;
  if (code === "unauthenticated") return "signIn";
  if (code === "invalid_api_key") return "key";
  if (status === 401 && body.includes(embedWords.ended)) return "signIn";
  if (code === "invalid_operator_token") return "token";
  if (code === "scope_missing") return "scope";
  if (code === "second_factor_required") return "secondFactor";
  if (code === "proof_required") return "proof";
  const location = response.headers.get("location") ?? "";
  if (status >= 300 && status < 400 && location.startsWith("/sign-in?return_to=")) return "signIn";
  if (status >= 300 && status < 400 && location.startsWith("/portal/confirm-password?")) return "proof";
  // People without an organization are redirected to where they can create one.
  if (status === 303 && location === "/portal/organizations") return "forbidden";
  if (status < 400 || also.includes(status)) return "in";
  return status === 403 ? "forbidden" : status === 404 ? "unknown" : `status ${status}`;
}

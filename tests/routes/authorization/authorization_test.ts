// Every route of the running app, tried by a signed-out person, a stranger with their own organization, a removed member, a member,
// an admin, an owner, a client with an API key, operators with and without each precondition, and operator tokens with and without the
// scope.
import assert from "node:assert/strict";
import { startTestApp, type TestApp, testApp } from "../../support/app/app.ts";
import { isEmbedPath } from "../../../domain/portal_session.ts";
import { type OperatorScope, operatorScopes } from "../../../domain/operator/operator_scope.ts";
import { makeOperator, newOperatorToken } from "../../support/operators/operators.ts";
import { type Caller, customers, newScene, type Scene } from "../../support/people/scene.ts";
import { type Entry, expectedOutcome, operatorsOf } from "./entry.ts";
import { outcomeOf, send, table } from "./tries.ts";

testApp("the authorization table lists exactly the routes of the app", (test) => {
  const routes = test.app.routes.filter(({ method, path }) =>
    method !== "ALL" && !path.startsWith("/static/")
  )
    .map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual([...new Set([...routes, "GET /static/*"])].sort(), Object.keys(table).sort());
  return Promise.resolve();
});

/** Operators who lack a precondition differ from members only where the preconditions are checked. */
const lackingOperators = [
  "operatorWithoutSecondFactor",
  "operatorWithOldSecondFactor",
  "operatorWithoutProof",
] as const;
const hourMs = 3_600_000;

for (
  const caller of [
    ...customers,
    "operator",
    ...lackingOperators,
    "operatorToken",
    "tokenWithoutScope",
  ] as const
) {
  const isLacking = lackingOperators.some((lacking) => lacking === caller);
  Deno.test(`every route allows and denies what the table says: ${caller}`, async () => {
    const test = await startTestApp({ API_KEY_REQUESTS_PER_SECOND: "0", METRICS_TOKEN: "" });
    try {
      const wrong: string[] = [];
      for (const [route, entry] of Object.entries(table)) {
        if (route === "GET /static/*" || (isLacking && operatorsOf(entry) === undefined)) continue;
        // No credential of anyone means anything there.
        if (isEmbedPath(route.split(" ")[1] ?? "") && !["nobody", "owner", "operator"].includes(caller)) {
          continue;
        }
        const fault = await faultOf(test, { route, entry, caller });
        if (fault !== null) wrong.push(`${route}: ${fault}`);
      }
      assert.deepEqual(wrong, []);
    } finally {
      await test.dispose();
    }
  });
}

/** @returns What is wrong with a route's response, or null. */
async function faultOf(
  test: TestApp,
  { route, entry, caller }: { route: string; entry: Entry; caller: Caller },
): Promise<string | null> {
  const scene = await newScene(test, caller);
  const operatorToken = await prepareOperator(scene, { entry, caller });
  const attempt = await entry.attempt?.(scene) ?? {};
  const response = await send(scene, { route, attempt, caller, operatorToken });
  const body = await response.text();
  const outcome = outcomeOf(response, { body, also: entry.also ?? [] });
  const expected = expectedOutcome(entry, caller, route.startsWith("GET "));
  if (outcome !== expected) {
    return `is “${outcome}” and not “${expected}” (${response.status} ${body.slice(0, 300)})`;
  }
  if (outcome !== "unknown" || entry.object === undefined) return null;
  const [param, prefix] = entry.object;
  const params = { ...attempt.params, [param]: scene.unknownId(prefix) };
  const unknown = await send(scene, { route, attempt: { ...attempt, params }, caller, operatorToken });
  const same =
    withoutIds(await unknown.text(), [params[param]]) === withoutIds(body, [attempt.params?.[param]]);
  return same && unknown.status === response.status
    ? null
    : "tells another person's object from an unknown one";
}

/** Makes the person who tries an operator, as the caller's name says. @returns The token of callers with one. */
async function prepareOperator(
  { test, me }: Scene,
  { entry, caller }: { entry: Entry; caller: Caller },
): Promise<string | undefined> {
  const now = test.now();
  if (caller === "operator") await makeOperator(test, me);
  if (caller === "operatorWithoutSecondFactor") await makeOperator(test, me, { secondFactorAt: null });
  if (caller === "operatorWithOldSecondFactor") {
    await makeOperator(test, me, { secondFactorAt: now - 12 * hourMs });
  }
  if (caller === "operatorWithoutProof") await makeOperator(test, me, { provedAt: now - hourMs });
  if (caller === "operatorToken") return (await newOperatorToken(test)).fullToken;
  if (caller !== "tokenWithoutScope") return undefined;
  const scopes: readonly OperatorScope[] = operatorScopes.filter((scope) => scope !== entry.operators);
  return (await newOperatorToken(test, scopes)).fullToken;
}

function withoutIds(text: string, ids: readonly (string | undefined)[]): string {
  const shown = ids.reduce<string>((rest, id) => id === undefined ? rest : rest.replaceAll(id, "ID"), text);
  return shown.replaceAll(/req_[0-9a-f]{32}/g, "REQUEST");
}

// Every route of the running app, tried by a signed-out person, a stranger with their own organization, a removed member, a member,
// an admin, an owner, a client with an API key, operators with and without each precondition, and operator tokens with and without the
// scope.
import assert from "node:assert/strict";
import { startTestApp, type TestApp, testApp } from "../../support/app/app.ts";
import { isEmbedPath } from "../../../domain/keys/portal_session.ts";
import { type OperatorScope, operatorScopes } from "../../../domain/access/operator_scope.ts";
import { makeOperator, newOperatorToken, type OperatorOptions } from "../../support/operators/operators.ts";
import { type Caller, customers, newScene, type Scene } from "../../support/people/scene.ts";
import { type Entry, expectedOutcome, operatorsOf } from "./entry.ts";
import { attemptOf, outcomeOf, send, table } from "./tries.ts";

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
const idForm = /^[a-z]+_[0-9a-f]{32}$/;

const callers: readonly Caller[] = [
  ...customers,
  "operator",
  ...lackingOperators,
  "operatorToken",
  "tokenWithoutScope",
];

Deno.test("every route allows and denies what the table says", async (t) => {
  const test = await startTestApp({ API_KEY_REQUESTS_PER_SECOND: "0", METRICS_TOKEN: "" });
  try {
    for (const caller of callers) {
      await t.step(caller, async () => assert.deepEqual(await faultsOf(test, caller), []));
    }
  } finally {
    await test.dispose();
  }
});

/** Tries every route. @returns The faults of their responses. */
async function faultsOf(test: TestApp, caller: Caller): Promise<string[]> {
  const wrong: string[] = [];
  const isLacking = lackingOperators.some((lacking) => lacking === caller);
  let scene: CallersScene | null = null;
  for (const [route, entry] of Object.entries(table)) {
    if (route === "GET /static/*" || (isLacking && operatorsOf(entry) === undefined)) continue;
    // No credential of anyone means anything there.
    if (isEmbedPath(route.split(" ")[1] ?? "") && !["nobody", "owner", "operator"].includes(caller)) continue;
    scene ??= await sceneOf(test, caller);
    const { fault, outcome } = await tryRoute(scene, { route, entry, caller });
    if (fault !== null) wrong.push(`${route}: ${fault}`);
    // Reads and denied requests leave the scene as it was.
    if (fault !== null || (outcome === "in" && !route.startsWith("GET "))) scene = null;
  }
  return wrong;
}

/** Tries a route. @returns Its effect, and the fault of its response, or null. */
async function tryRoute(
  scene: CallersScene,
  { route, entry, caller }: { route: string; entry: Entry; caller: Caller },
): Promise<{ fault: string | null; outcome: string }> {
  const operatorToken = await scene.tokenFor(entry);
  const attempt = await attemptOf(entry, caller)?.(scene) ?? {};
  const response = await send(scene, { route, attempt, caller, operatorToken });
  const body = await response.text();
  const outcome = outcomeOf(response, { body, also: entry.also ?? [] });
  const expected = expectedOutcome(entry, caller, route.startsWith("GET "));
  if (outcome !== expected) {
    const fault = `is “${outcome}” and not “${expected}” (${response.status} ${body.slice(0, 300)})`;
    return { fault, outcome };
  }
  if (outcome !== "unknown") return { fault: null, outcome };
  // Each object in the path must look like one that doesn't exist.
  for (const [param, id] of Object.entries(attempt.params ?? {})) {
    if (!idForm.test(id)) continue;
    const unknownId = id.replace(/_.*/, `_${"0".repeat(32)}`);
    const params = { ...attempt.params, [param]: unknownId };
    const unknown = await send(scene, { route, attempt: { ...attempt, params }, caller, operatorToken });
    const [known, other] = [body, await unknown.text()].map((text) => withoutIds(text, [id, unknownId]));
    if (known !== other || unknown.status !== response.status) {
      return { fault: `tells another person's ${param} from an unknown one`, outcome };
    }
  }
  return { fault: null, outcome };
}

interface CallersScene extends Scene {
  /** @returns The token that the caller sends to a route, if they have one. */
  tokenFor(entry: Entry): Promise<string | undefined>;
}

/** Creates a scene whose person is an operator if the caller's name says so. */
async function sceneOf(test: TestApp, caller: Caller): Promise<CallersScene> {
  const scene = await newScene(test, caller);
  const now = test.now();
  const options = ({
    operator: {},
    operatorWithoutSecondFactor: { secondFactorAt: null },
    operatorWithOldSecondFactor: { secondFactorAt: now - 12 * hourMs },
    operatorWithoutProof: { provedAt: now - hourMs },
  } as Partial<Record<Caller, OperatorOptions>>)[caller];
  if (options !== undefined) await makeOperator(test, scene.me, options);
  const tokens = new Map<string, string>();
  const tokenWith = async (scopes: readonly OperatorScope[]) => {
    const key = scopes.join();
    const fullToken = tokens.get(key) ?? (await newOperatorToken(test, scopes)).fullToken;
    tokens.set(key, fullToken);
    return fullToken;
  };
  return {
    ...scene,
    async tokenFor({ operators }) {
      if (caller === "operatorToken") return await tokenWith(operatorScopes);
      if (caller !== "tokenWithoutScope") return undefined;
      return await tokenWith(operatorScopes.filter((scope) => scope !== operators));
    },
  };
}

function withoutIds(text: string, ids: readonly string[]): string {
  const shown = ids.reduce((rest, id) => rest.replaceAll(id, "ID"), text);
  return shown.replaceAll(/req_[0-9a-f]{32}/g, "REQUEST");
}

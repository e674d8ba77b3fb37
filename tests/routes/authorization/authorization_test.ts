// Every route of the running app, tried by a signed-out person, a stranger with their own organization, a removed member, a member,
// an admin, an owner, and a client with an API key.
import assert from "node:assert/strict";
import { startTestApp, type TestApp, testApp } from "../../support/app.ts";
import { type Caller, callers, newWorld } from "../../support/world.ts";
import type { Entry } from "./entry.ts";
import { outcomeOf, send, table } from "./tries.ts";

testApp("the authorization table lists exactly the routes of the app", (test) => {
  const routes = test.app.routes.filter(({ method, path }) =>
    method !== "ALL" && !path.startsWith("/static/")
  )
    .map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual([...new Set([...routes, "GET /static/*"])].sort(), Object.keys(table).sort());
  return Promise.resolve();
});

for (const caller of callers) {
  Deno.test(`every route allows and denies what the table says: ${caller}`, async () => {
    const test = await startTestApp({ API_KEY_REQUESTS_PER_SECOND: "0", METRICS_TOKEN: "" });
    try {
      const wrong: string[] = [];
      for (const [route, entry] of Object.entries(table)) {
        if (route === "GET /static/*") continue;
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
  const world = await newWorld(test, caller);
  const attempt = await entry.attempt?.(world) ?? {};
  const response = await send(world, { route, attempt, caller });
  const body = await response.text();
  const outcome = outcomeOf(response, { body, also: entry.also ?? [] });
  if (outcome !== entry.who[caller]) {
    return `is “${outcome}” and not “${entry.who[caller]}” (${response.status} ${body.slice(0, 300)})`;
  }
  if (outcome !== "unknown" || entry.object === undefined) return null;
  const [param, prefix] = entry.object;
  const params = { ...attempt.params, [param]: world.unknownId(prefix) };
  const unknown = await send(world, { route, attempt: { ...attempt, params }, caller });
  const same =
    withoutIds(await unknown.text(), [params[param]]) === withoutIds(body, [attempt.params?.[param]]);
  return same && unknown.status === response.status
    ? null
    : "tells another person's object from an unknown one";
}

function withoutIds(text: string, ids: readonly (string | undefined)[]): string {
  const shown = ids.reduce<string>((rest, id) => id === undefined ? rest : rest.replaceAll(id, "ID"), text);
  return shown.replaceAll(/req_[0-9a-f]{32}/g, "REQUEST");
}

// Every route of the running app, tried by everybody: nobody, a stranger with an organization of their own, a removed member,
// a MEMBER, an ADMIN, an OWNER, and a program with an API key.
import assert from "node:assert/strict";
import { startTestApp, type TestApp, testApp } from "../../support/app.ts";
import { newWorld, type Trier, triers, type World } from "../../support/world.ts";
import { apiTable } from "./api.ts";
import type { Attempt, Entry, Outcome } from "./entry.ts";
import { portalTable } from "./portal.ts";

const table = { ...apiTable, ...portalTable };

testApp("the authorization table lists every route of the app, and no other", (test) => {
  const routes = test.app.routes.filter(({ method, path }) =>
    method !== "ALL" && !path.startsWith("/static/")
  )
    .map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual([...new Set([...routes, "GET /static/*"])].sort(), Object.keys(table).sort());
  return Promise.resolve();
});

for (const trier of triers) {
  Deno.test(`authorization: every route lets ${trier} do what the table says`, async () => {
    const test = await startTestApp({ API_KEY_REQUESTS_PER_SECOND: "0", METRICS_TOKEN: "" });
    try {
      const wrong: string[] = [];
      for (const [route, entry] of Object.entries(table)) {
        if (route === "GET /static/*") continue;
        const fault = await faultOf(test, { route, entry, trier });
        if (fault !== null) wrong.push(`${route}: ${fault}`);
      }
      assert.deepEqual(wrong, []);
    } finally {
      await test.dispose();
    }
  });
}

let address = 0;

/** @returns What is wrong with a route's answer, or null. */
async function faultOf(
  test: TestApp,
  { route, entry, trier }: { route: string; entry: Entry; trier: Trier },
): Promise<string | null> {
  const world = await newWorld(test, trier);
  const attempt = await entry.attempt?.(world) ?? {};
  const answer = await send(world, { route, attempt, trier });
  const body = await answer.text();
  const outcome = outcomeOf(answer, { body, also: entry.also ?? [] });
  if (outcome !== entry.who[trier]) {
    return `is “${outcome}” and not “${entry.who[trier]}” (${answer.status} ${body.slice(0, 300)})`;
  }
  if (outcome !== "unknown" || entry.object === undefined) return null;
  const [param, prefix] = entry.object;
  const params = { ...attempt.params, [param]: world.unknownId(prefix) };
  const unknown = await send(world, { route, attempt: { ...attempt, params }, trier });
  const same =
    withoutIds(await unknown.text(), [params[param]]) === withoutIds(body, [attempt.params?.[param]]);
  return same && unknown.status === answer.status ? null : "tells somebody else's object from an unknown one";
}

function send(
  world: World,
  { route, attempt, trier }: { route: string; attempt: Attempt; trier: Trier },
): Promise<Response> {
  const [method = "GET", pattern = "/"] = route.split(" ");
  const path = pattern.replaceAll(/:(\w+)/g, (_all, name: string) => {
    const value = attempt.params?.[name];
    assert.ok(value, `${route} needs ${name}`);
    return value;
  });
  const isByPeople = trier !== "nobody" && trier !== "apiKey";
  address++;
  return world.test.send(path + (attempt.query ?? ""), {
    method,
    ...(attempt.json === undefined ? {} : { json: attempt.json }),
    ...(attempt.form === undefined ? {} : { form: attempt.form }),
    ...(isByPeople ? { cookie: world.me.cookie } : {}),
    ...(trier === "apiKey" ? { apiKey: world.apiKey } : {}),
    // From this machine where the route asks for it; else from many, so that no limit is in the way.
    peerAddress: path === "/metrics" || path.startsWith("/dev/")
      ? "127.0.0.1"
      : `10.${address >> 16}.${(address >> 8) & 255}.${address & 255}`,
  });
}

function outcomeOf(
  answer: Response,
  { body, also }: { body: string; also: readonly number[] },
): Outcome | string {
  const { status } = answer;
  const code = body.startsWith("{") ? JSON.parse(body).error?.code : undefined;
  if (code === "unauthenticated") return "signIn";
  if (code === "invalid_api_key") return "key";
  const location = answer.headers.get("location") ?? "";
  if (status >= 300 && status < 400 && location.startsWith("/sign-in?return_to=")) return "signIn";
  // People without an organization are led to where they can make one.
  if (status === 303 && location === "/portal/organizations") return "forbidden";
  if (status < 400 || also.includes(status)) return "in";
  return status === 403 ? "forbidden" : status === 404 ? "unknown" : `status ${status}`;
}

function withoutIds(text: string, ids: readonly (string | undefined)[]): string {
  const shown = ids.reduce<string>((rest, id) => id === undefined ? rest : rest.replaceAll(id, "ID"), text);
  return shown.replaceAll(/req_[0-9a-f]{32}/g, "REQUEST");
}

// The browser client: how it is served, its types, and when it sends requests. tests/browser/subdomains_test.ts uses it on a
// product's page.
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { respond as answerOfProduct } from "../../examples/product/server.ts";
import { Gatehouse } from "../../packages/client/src/index.ts";
import { returnToCharactersMax } from "../../domain/limits.ts";
import { startTestApp, testApp } from "../support/app/app.ts";
import { clientTest, watchTest } from "../support/client/browser_scene.ts";
import { freePort } from "../support/database/sqld.ts";

testApp("serves /gatehouse.js to every origin, cached for five minutes", async (test) => {
  const response = await test.send("/gatehouse.js", { headers: { origin: "https://anything.example" } });
  assert.equal(response.status, 200);
  const header = (name: string) => response.headers.get(name);
  assert.equal(header("content-type"), "text/javascript; charset=utf-8");
  assert.equal(header("access-control-allow-origin"), "*");
  assert.equal(header("access-control-allow-credentials"), null);
  assert.equal(header("cross-origin-resource-policy"), "cross-origin");
  assert.equal(header("cache-control"), "public, max-age=300");
  assert.equal(header("x-typescript-types"), "./gatehouse.d.ts");
  assert.deepEqual(response.headers.getSetCookie(), []);
  const etag = header("etag") ?? "";
  assert.match(etag, /^"[0-9a-f]{16}"$/);
  // The compression level that Deno uses.
  const bytes = gzipSync(new Uint8Array(await response.arrayBuffer()), { level: 1 }).length;
  assert(bytes < 3_000, `${bytes} bytes`);
  // Unchanged, weakened by a proxy that compresses, and in a list.
  for (const known of [etag, `W/${etag}`, `"other", W/${etag}`]) {
    const again = await test.send("/gatehouse.js", { headers: { "if-none-match": known } });
    assert.equal(again.status, 304, known);
    assert.equal(await again.text(), "");
    assert.equal(again.headers.get("etag"), etag);
    assert.equal(again.headers.get("access-control-allow-origin"), "*");
  }
  const other = await test.send("/gatehouse.js", { headers: { "if-none-match": '"other"' } });
  assert.equal(other.status, 200);
  await other.body?.cancel();
  const types = await test.send("/gatehouse.d.ts");
  assert.equal(types.headers.get("content-type"), "application/typescript; charset=utf-8");
  assert.equal(types.headers.get("access-control-allow-origin"), "*");
  assert.match(await types.text(), /export function onChange/);
});

Deno.test("the types of /gatehouse.js accept correct code and reject errors", async () => {
  const port = freePort();
  const test = await startTestApp();
  const server = Deno.serve(
    { port, hostname: "127.0.0.1", onListen() {} },
    (request) => test.app.fetch(request),
  );
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-types-" });
  try {
    await Deno.writeTextFile(
      `${folder}/product.ts`,
      `import * as gatehouse from "http://localhost:${port}/gatehouse.js";
       import type { Role, SessionUser } from "http://localhost:${port}/gatehouse.js";
       const { me, signIn, signOut, switchOrganization, onChange, GatehouseError } = gatehouse;
       const user: SessionUser = await me();
       // @ts-expect-error the user may be null
       user.user.name;
       if (user.authenticated) {
         const name: string = user.user.name;
         const role: Role | null = user.role;
         const switched = await switchOrganization(user.memberships[0]!.organizationId);
         const id: string | null = switched.organizationId;
         console.log(name, role, id, switched.user.email);
         // @ts-expect-error no such role
         if (role === "ROOT") signIn();
       }
       signIn();
       signIn({ returnTo: "/here" });
       signIn({ returnTo: new URL("https://app.example.com") });
       // @ts-expect-error no such option
       signIn({ back: "/here" });
       // @ts-expect-error the id is missing
       switchOrganization();
       const stop: () => void = onChange((now) => console.log(now.authenticated));
       stop();
       await signOut().catch((error: unknown) => {
         if (error instanceof GatehouseError) console.log(error.code, error.status, error.requestId);
       });
       const all: readonly (keyof typeof gatehouse)[] = [
         "me", "signIn", "signOut", "switchOrganization", "onChange", "GatehouseError",
       ];
       console.log(all);`,
    );
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "check",
        "--no-config",
        "--no-lock",
        "--quiet",
        `--allow-import=localhost:${port}`,
        "product.ts",
      ],
      cwd: folder,
      env: { DENO_DIR: `${folder}/cache`, NO_COLOR: "1" },
      stdin: "null",
    }).output();
    assert(success, new TextDecoder().decode(stderr));
  } finally {
    await server.shutdown();
    await Deno.remove(folder, { recursive: true });
    await test.dispose();
  }
});

Deno.test("the example product's server returns a 503 while the service is unavailable", async () => {
  const asked = (ask: () => Promise<Response>) =>
    answerOfProduct(
      new Request("https://app.example.com/server", { headers: { Cookie: "access_token=t" } }),
      new Gatehouse({ url: "https://auth.example.com", fetch: ask as typeof fetch }),
    );
  const unavailable = await asked(() =>
    Promise.resolve(Response.json({ error: { code: "unavailable" } }, { status: 503 }))
  );
  assert.equal(unavailable.status, 503);
  const down = await asked(() => Promise.reject(new TypeError("Connection refused")));
  assert.equal(down.status, 503);
  const known = await asked(() => Promise.resolve(Response.json({ authenticated: true })));
  assert.deepEqual([known.status, await known.json()], [200, { authenticated: true }]);
});

const signedOut = { authenticated: false, user: null, organizationId: null, role: null, memberships: [] };
const ada = { ...signedOut, authenticated: true, user: { id: "usr_1", name: "Ada" } };

const me = "GET /api/auth/me";

clientTest("the client does nothing before it is called, and its exports match the types", (scene) => {
  scene.look("focus");
  assert.deepEqual(scene.waiting, []);
  assert.deepEqual(Object.keys(scene.client).sort(), [
    "GatehouseError",
    "me",
    "onChange",
    "signIn",
    "signOut",
    "switchOrganization",
  ]);
  return Promise.resolve();
});

clientTest("onChange() checks when the page is shown, once at a time, never while hidden", async (scene) => {
  const changes: unknown[] = [];
  const stop = scene.client.onChange((user) => changes.push(user));
  assert.deepEqual(scene.waiting, [me]);
  for (const type of ["focus", "visibilitychange", "pageshow"] as const) scene.look(type, true);
  assert.deepEqual(scene.waiting, [me], "one request at a time");
  await scene.answer(ada);
  assert.deepEqual(changes, [], "the first user is not a change");
  // A new page has sent its request already.
  scene.look("pageshow");
  assert.deepEqual(scene.waiting, []);
  scene.look("focus");
  await scene.answer(ada);
  assert.deepEqual(changes, [], "the same user is not a change");
  scene.hide(true);
  for (const type of ["focus", "visibilitychange", "pageshow"] as const) scene.look(type, true);
  assert.deepEqual(scene.waiting, [], "hidden");
  scene.hide(false);
  for (const type of ["focus", "visibilitychange", "pageshow"] as const) {
    scene.look(type, true);
    assert.deepEqual(scene.waiting, [me], type);
    await scene.answer(changes.length % 2 === 0 ? signedOut : ada);
  }
  assert.deepEqual(changes, [signedOut, ada, signedOut]);
  stop();
  scene.look("focus");
  assert.deepEqual(scene.waiting, []);
});

clientTest("a page that is opened in the background checks when it is first shown", async (scene) => {
  scene.hide(true);
  const changes: unknown[] = [];
  const stop = scene.client.onChange((user) => changes.push(user));
  assert.deepEqual(scene.waiting, []);
  scene.hide(false);
  scene.look("visibilitychange");
  await scene.answer(ada);
  scene.look("focus");
  await scene.answer(signedOut);
  assert.deepEqual(changes, [signedOut]);
  stop();
});

watchTest("a failed request is not a change, and the next event tries again", async (scene, changes) => {
  await scene.answer(ada);
  scene.look("focus");
  await scene.fail();
  scene.look("focus");
  await scene.answer({ error: { code: "unavailable", message: "Later." }, requestId: "req_1" }, {
    status: 503,
  });
  // An error page of a proxy.
  scene.look("focus");
  await scene.answer(null);
  assert.deepEqual(changes, []);
  scene.look("focus");
  await scene.answer(signedOut);
  assert.deepEqual(changes, [signedOut]);
});

watchTest(
  "a response to a request from before signing out doesn't restore the session",
  async (scene, changes) => {
    await scene.answer(ada);
    const asked = scene.client.me();
    const out = scene.client.signOut();
    assert.deepEqual(scene.waiting, [me, "POST /api/auth/sign-out"]);
    // The response to the later request arrives first.
    await scene.answer(null, { status: 204, to: "POST /api/auth/sign-out" });
    await out;
    assert.deepEqual(changes, [signedOut]);
    await scene.answer(ada);
    assert.deepEqual(changes, [signedOut], "an outdated response");
    assert.deepEqual(scene.waiting, [me]);
    await scene.answer(signedOut);
    assert.deepEqual(await asked, signedOut);
    assert.deepEqual(changes, [signedOut]);
  },
);

watchTest(
  "throws errors with the API's code; a failed sign-out keeps the session",
  async (scene, changes) => {
    await scene.answer(ada);
    const error = { code: "not_found", message: "There is nothing here." };
    for (const act of [() => scene.client.switchOrganization("org_1"), () => scene.client.signOut()]) {
      const rejected = assert.rejects(
        act(),
        (thrown) =>
          thrown instanceof scene.client.GatehouseError && thrown.code === "not_found" &&
          thrown.status === 404 && thrown.requestId === "req_1" && thrown.message === error.message,
      );
      await scene.answer({ error, requestId: "req_1" }, { status: 404 });
      await rejected;
    }
    assert.deepEqual(changes, []);
    const switched = { ...ada, organizationId: "org_1", role: "ADMIN" };
    const done = scene.client.switchOrganization("org_1");
    await scene.answer(switched);
    assert.deepEqual(await done, switched);
    assert.deepEqual(changes, [switched]);
  },
);

const organization = "POST /api/auth/organization";
const signOut = "POST /api/auth/sign-out";
const inOrganization = (organizationId: string) => ({ ...ada, organizationId, role: "MEMBER" });

watchTest("the last of two concurrent switches wins, on the service too", async (scene, changes) => {
  await scene.answer(ada);
  const first = scene.client.switchOrganization("org_1");
  const second = scene.client.switchOrganization("org_2");
  assert.deepEqual(scene.waiting, [organization], "in order");
  await scene.answer(inOrganization("org_1"));
  assert.deepEqual(scene.waiting, [organization]);
  await scene.answer(inOrganization("org_2"));
  assert.deepEqual(await Promise.all([first, second]), [inOrganization("org_1"), inOrganization("org_2")]);
  assert.deepEqual(changes, [inOrganization("org_1"), inOrganization("org_2")]);
  // The next one is sent even if one fails.
  const rejected = assert.rejects(scene.client.switchOrganization("org_3"));
  const third = scene.client.switchOrganization("org_1");
  await scene.fail();
  await rejected;
  await scene.answer(inOrganization("org_1"));
  assert.deepEqual(await third, inOrganization("org_1"));
  assert.deepEqual(changes.slice(2), [inOrganization("org_1")]);
  assert.deepEqual(scene.waiting, []);
});

watchTest(
  "signing out doesn't wait for a switch, which doesn't restore the session",
  async (scene, changes) => {
    // Also if the page doesn't know yet about a sign-in elsewhere.
    for (const before of [ada, signedOut]) {
      scene.look("focus");
      await scene.answer(before);
      changes.length = 0;
      const switched = scene.client.switchOrganization("org_1");
      const out = scene.client.signOut();
      const rejected = assert.rejects(scene.client.switchOrganization("org_2"));
      assert.deepEqual(scene.waiting, [organization, signOut]);
      await scene.answer(null, { status: 204, to: signOut });
      await out;
      assert.deepEqual(changes, before === ada ? [signedOut] : []);
      await scene.answer(inOrganization("org_1"), { to: organization });
      await switched;
      assert.deepEqual(changes, before === ada ? [signedOut] : [], "an outdated response");
      const error = { code: "unauthenticated", message: "Sign in first." };
      await scene.answer({ error, requestId: "req_1" }, { status: 401, to: organization });
      await rejected;
      // The client requests the user again until nothing changes during the request.
      while (scene.waiting.includes(me)) await scene.answer(signedOut, { to: me });
      assert.deepEqual(changes, before === ada ? [signedOut] : []);
      assert.deepEqual(scene.waiting, []);
    }
  },
);

watchTest("the response to a switch doesn't override newer information", async (scene, changes) => {
  await scene.answer(ada);
  const switched = scene.client.switchOrganization("org_1");
  // Signed out in another tab.
  scene.look("focus");
  await scene.answer(signedOut, { to: me });
  await scene.answer(inOrganization("org_1"));
  assert.deepEqual(await switched, inOrganization("org_1"));
  assert.deepEqual([changes, scene.waiting], [[signedOut], [me]]);
  await scene.answer(signedOut);
  assert.deepEqual(changes, [signedOut]);
});
clientTest("signIn() returns to this page, without the query if the URL is long", async (scene) => {
  const globals = globalThis as unknown as Record<string, unknown>;
  const gone: string[] = [];
  const at = (href: string) => {
    globals["location"] = { href, assign: (address: string) => gone.push(address) };
  };
  try {
    at("https://app.example.com/a?b=c#d");
    scene.client.signIn();
    scene.client.signIn({ returnTo: "/here" });
    at(`https://app.example.com/board?state=${"s".repeat(2_000)}#d`);
    scene.client.signIn();
    const targets = gone.map((address) =>
      new URL(address, "https://auth.example.com").searchParams.get("return_to")
    );
    assert.deepEqual(targets, [
      "https://app.example.com/a?b=c#d",
      "https://app.example.com/here",
      "https://app.example.com/board",
    ]);
    // The limit in the client matches the service's.
    assert.equal(returnToCharactersMax, 2_000);
  } finally {
    delete globals["location"];
  }
  await Promise.resolve();
});

clientTest("listeners are independent of each other", async (scene) => {
  const calls: string[] = [];
  const globals = globalThis as unknown as Record<string, unknown>;
  const before = globals["reportError"];
  globals["reportError"] = (error: Error) => calls.push(error.message);
  try {
    const both = () => calls.push("both");
    const stops = [
      scene.client.onChange(() => {
        throw new Error("broken");
      }),
      scene.client.onChange(both),
      scene.client.onChange(both),
    ];
    await scene.answer(ada);
    scene.look("focus");
    await scene.answer(signedOut);
    assert.deepEqual(calls, ["broken", "both", "both"]);
    stops.splice(1, 1)[0]?.();
    scene.look("focus");
    await scene.answer(ada);
    assert.deepEqual(calls.slice(3), ["broken", "both"]);
    for (const stop of stops) stop();
    scene.look("focus");
    assert.deepEqual(scene.waiting, []);
  } finally {
    globals["reportError"] = before;
  }
});

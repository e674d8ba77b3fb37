// Tests which requests and headers reach an application behind the real nginx and Caddy, with the configuration that the
// command in docs/forward-auth.md prints.
import assert from "node:assert/strict";
import { testPassword } from "../support/app/app.ts";
import { type Browser, browserMissing, launchBrowser, watchedPage } from "../support/browser/browser.ts";
import { cookieBrowser } from "../support/browser/cookie_jar.ts";
import { readGuide } from "../support/runner/guides.ts";
import { killProgram } from "../support/process/program.ts";
import { proxyKinds } from "../support/network/proxies.ts";
import { cookieFrom, type ProxyScene, withProxyScene } from "../support/network/proxy_scene.ts";
import { visitSocket } from "../support/network/visit.ts";
import { inPage, signInWords } from "../support/portal/words/sign_in.ts";

const documented = await readGuide("forward-auth.md");
const recipe = { settings: documented("settings"), command: documented("four applications") };
const page = { accept: "text/html", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
const claims =
  ("Remote-User remote_user REMOTE-EMAIL Remote-Name Remote_Name Remote-Organization Remote-Role " +
    "Remote_Role Remote-Api-Key Remote-Api_Key Remote-Key-Environment Remote-Permissions Remote-Features " +
    // Some servers treat other punctuation as underscores.
    "Remote-Groups Remote.User Remote~Role").split(" ");

const promises: Readonly<Record<string, (scene: ProxyScene) => Promise<void>>> = {
  "a signed-in browser reaches the application with its identity": passesIdentity,
  "identity headers from clients never arrive": dropsForgedHeaders,
  "a signed-out browser signs in and returns to the requested page": signsInAndReturns,
  "conflicting session cookies are cleared, and page loads go to the sign-in page": clearsConflictingCookies,
  "a real browser with conflicting cookies signs in and returns": signsInWithBrowser,
  "a WebSocket opens only for a signed-in user": opensWebSockets,
  "organization and role conditions restrict access": restrictsAccess,
  "each request with an API key passes and is counted exactly once": countsKeys,
  "a key without the permission, or beyond a limit, is denied and told why": limitsKeys,
  "no request reaches the application while Gatehouse is down": failsClosed,
};

for (const kind of proxyKinds) {
  Deno.test({
    name: `${kind.name}: the printed configuration protects an application`,
    ignore: kind.ignore,
    fn: (t) =>
      withProxyScene({ kind, recipe }, async (scene) => {
        for (const [promise, run] of Object.entries(promises)) {
          const ignore = run === signsInWithBrowser && browserMissing();
          const fn = () => run(scene);
          await t.step({ name: promise, ignore, fn, sanitizeOps: false, sanitizeResources: false });
        }
      }),
  });
}

async function passesIdentity({ ada, arrives }: ProxyScene): Promise<void> {
  const cookie = `theme=dark; ${ada.cookie}; lang=en`;
  const got = await arrives({ host: "app.example.com", path: "/a/b?c=%2F&d", headers: { cookie } });
  assert.equal(got.path, "/a/b?c=%2F&d");
  assert.equal(got.headers["remote-user"], ada.userId);
  assert.equal(got.headers["remote-email"], ada.email);
  assert.equal(got.headers["remote-name"], "Zo%C3%AB 100%25");
  assert.equal(got.headers["remote-organization"], ada.organizationId);
  assert.equal(got.headers["remote-role"], "OWNER");
  assert.equal(got.headers["remote-api-key"] ?? "", "");
  // The application's own cookies arrive. The session token doesn't, even if it is sent more than once.
  assert.match(got.headers["cookie"] ?? "", /theme=dark.*lang=en/);
  const token = ada.cookie.slice("access_token=".length);
  for (const more of [ada.cookie, `${ada.cookie};${ada.cookie}; a=1`, `a=1;${ada.cookie}`]) {
    const again = await arrives({ host: "app.example.com", headers: { cookie: more } });
    assert(!JSON.stringify(again.headers).includes(token), JSON.stringify(again.headers));
  }
  const posted = await arrives({
    host: "app.example.com",
    method: "POST",
    headers: { cookie: ada.cookie, "content-type": "text/plain" },
    body: "a body",
  });
  assert.deepEqual([posted.method, posted.body], ["POST", "a body"]);
  // A query in the application's URL can't change the conditions.
  await arrives({ host: "app.example.com", path: "/?role=OWNER&rol=1&accept=key", headers: { cookie } });
}

async function dropsForgedHeaders(
  { eve, apiKey, keyId, see, arrives, isBlocked }: ProxyScene,
): Promise<void> {
  const forged = Object.fromEntries(claims.map((name) => [name, "forged"]));
  for (
    const [host, own] of [
      ["app.example.com", { cookie: eve.cookie }],
      ["api.example.com", { authorization: `Bearer ${apiKey}`, cookie: eve.cookie }],
    ] as const
  ) {
    const { headers } = await arrives({ host, headers: { ...own, ...forged } });
    assert.doesNotMatch(JSON.stringify(headers), /forged/);
    const isKey = host === "api.example.com";
    assert.equal(headers["remote-user"] ?? "", isKey ? "" : eve.userId);
    assert.equal(headers["remote-api-key"] ?? "", isKey ? keyId : "");
    assert.equal(headers["remote-email"] ?? "", isKey ? "" : eve.email);
    assert.equal(headers["remote-email-verified"] ?? "", isKey ? "" : "true");
  }
  await isBlocked({ host: "app.example.com", headers: forged });
  // A client can't remove its identity or open a tunnel either.
  const before = await see({
    host: "app.example.com",
    headers: { cookie: eve.cookie, connection: "close, Remote-User, Cookie" },
  });
  assert(before.status === 400 || before.body.includes(eve.userId), before.body);
  const { headers } = await arrives({
    host: "app.example.com",
    headers: {
      cookie: eve.cookie,
      connection: "Upgrade, HTTP2-Settings",
      upgrade: "h2c",
      "http2-settings": "AAMAAABk",
    },
  });
  assert.equal(headers["upgrade"], undefined);
  assert.equal(headers["remote-user"], eve.userId);
  assert.equal(
    (await isBlocked({ host: "app.example.com", headers: { cookie: `access_token=${"A".repeat(43)}` } }))
      .status,
    401,
  );
}

async function signsInAndReturns({ port, bob, see, isBlocked, arrives }: ProxyScene): Promise<void> {
  // The longest valid return address. Encoded in the response's headers, it is three times as long.
  const path = "/reports/7?tab=a&b=%2F".padEnd(1_960, "&");
  const asked = { host: "app.example.com", path };
  const sent = await isBlocked({ ...asked, headers: page });
  const target = `http://app.example.com:${port}${asked.path}`;
  const signIn = `/sign-in?return_to=${encodeURIComponent(target)}`;
  assert.equal(sent.status, 302);
  assert.equal(sent.headers["location"], `http://auth.example.com:${port}${signIn}`);
  const form = await see({ host: "auth.example.com", path: signIn, headers: page });
  assert.equal(form.status, 200);
  const back = await see({
    host: "auth.example.com",
    path: "/sign-in",
    method: "POST",
    headers: {
      origin: `http://auth.example.com:${port}`,
      "content-type": "application/x-www-form-urlencoded",
    },
    body: new URLSearchParams({ email: bob.email, password: testPassword, return_to: target }).toString(),
  });
  assert.equal(back.status, 303);
  const cookie = cookieFrom(back);
  const onward = back.headers["location"] ?? "";
  const goOn = await see({ host: "auth.example.com", path: onward, headers: { ...page, cookie } });
  const address = /http-equiv="refresh" content="0; ?url=([^"]+)"/i.exec(goOn.body)?.[1]?.replaceAll(
    "&amp;",
    "&",
  );
  assert.equal(address, target, goOn.body);
  const got = await arrives({ ...asked, headers: { ...page, cookie } });
  assert.deepEqual([got.path, got.headers["remote-user"]], [asked.path, bob.userId]);
  // Requests other than page loads get a status, not a redirect.
  for (
    const other of [
      { ...asked, headers: { accept: "application/json" } },
      { ...asked, headers: { ...page, "sec-fetch-mode": "cors" } },
      { ...asked, method: "POST", headers: page, body: "x" },
    ]
  ) {
    const { status, headers } = await isBlocked(other);
    assert.deepEqual([status, headers["location"]], [401, undefined]);
  }
  const large = { a: "x".repeat(6_000), b: "x".repeat(6_000), c: "x".repeat(6_000) };
  assert.equal((await isBlocked({ ...asked, path: "/", headers: { cookie, ...large } })).status, 431);
}

async function clearsConflictingCookies({ port, ada, bob, see, isBlocked }: ProxyScene): Promise<void> {
  const origin = `http://app.example.com:${port}`;
  // The longest valid address, three times as long when encoded as a parameter.
  const asked = { host: "app.example.com", path: `/reports/7?${"&".repeat(2_000 - origin.length - 11)}` };
  const target = encodeURIComponent(`${origin}${asked.path}`);
  const location = `http://auth.example.com:${port}/sign-in?return_to=${target}&conflict=1`;
  for (const headers of [page, {}]) {
    const browser = cookieBrowser();
    // Gatehouse's own host never gets the second cookie.
    await browser.take(origin, `${ada.cookie}; Domain=.example.com; Path=/`);
    await browser.take(origin, `${bob.cookie}; Path=/`);
    const cookie = await browser.cookieFor(origin);
    const { status, headers: told, setCookies } = await isBlocked({
      ...asked,
      headers: { ...headers, cookie },
    });
    assert.deepEqual([status, told["location"]], headers === page ? [302, location] : [401, undefined]);
    for (const one of setCookies) await browser.take(origin, one);
    assert.equal(await browser.cookieFor(origin), "", setCookies.join("\n"));
  }
  const form = await see({
    host: "auth.example.com",
    path: new URL(location).pathname + new URL(location).search,
  });
  assert.match(form.body, /role="alert"/);
  assert.match(form.body, inPage(signInWords.conflict));
  // A browser with at most one session keeps its cookies.
  for (const headers of [{ ...page, cookie: ada.cookie }, page, {}]) {
    assert.deepEqual((await see({ ...asked, headers })).setCookies, []);
  }
}

async function signsInWithBrowser({ port, ada, bob }: ProxyScene): Promise<void> {
  const hosts = { "auth.example.com": "127.0.0.1", "app.example.com": "127.0.0.1" };
  const browser: Browser = await launchBrowser(hosts);
  try {
    const context = await browser.newContext();
    const { page, errors } = await watchedPage(context);
    // Cookies of two people, one of them only for the application's host.
    const [, value = ""] = ada.cookie.split("=");
    await context.addCookies([
      { name: "access_token", value, domain: ".example.com", path: "/" },
      { name: "access_token", value: bob.cookie.split("=")[1] ?? "", url: `http://app.example.com:${port}` },
    ]);
    await page.goto(`http://app.example.com:${port}/reports/7?tab=a`);
    assert.match(page.url(), /^http:\/\/auth\.example\.com:\d+\/sign-in\?.*&conflict=1$/);
    await page.getByText(signInWords.conflict).waitFor();
    assert.deepEqual(await context.cookies(), []);
    await page.goto(`http://app.example.com:${port}/reports/7?tab=a`);
    assert.match(page.url(), /^http:\/\/auth\.example\.com:\d+\/sign-in\?return_to=[^&]*$/);
    await page.locator("#email").fill(ada.email);
    await page.getByLabel("Password", { exact: true }).fill(testPassword);
    await page.getByRole("button", { name: "Sign in" }).first().click();
    await page.getByRole("heading", { name: `Hello ${ada.userId}` }).waitFor();
    assert.equal(page.url(), `http://app.example.com:${port}/reports/7?tab=a`);
    const echo = await page.evaluate(`new Promise((resolve, reject) => {
      const socket = new WebSocket("ws://" + location.host + "/socket");
      socket.onopen = () => socket.send("hello");
      socket.onmessage = ({ data }) => resolve(data);
      socket.onerror = () => reject(new Error("the WebSocket didn't open"));
    })`);
    assert.equal(echo, "echo hello");
    assert.deepEqual(errors, []);
  } finally {
    await browser.close();
  }
}

async function opensWebSockets({ port, ada, application }: ProxyScene): Promise<void> {
  const host = "app.example.com";
  const open = await visitSocket(
    port,
    { host, headers: { Cookie: ada.cookie, "Remote-User": "forged" } },
    "hello",
  );
  assert.deepEqual(open, { status: 101, echo: "echo hello" });
  assert.equal(application.received.at(-1)?.headers["remote-user"], ada.userId);
  // Of two upgrades, only the one to WebSocket may arrive.
  await visitSocket(port, { host, headers: { Cookie: ada.cookie, Upgrade: "h2c" } }, "hello");
  assert.match(application.received.at(-1)?.headers["upgrade"] ?? "websocket", /^websocket$/);
  const count = application.received.length;
  for (const headers of [{}, { "Remote-User": ada.userId }, { Cookie: "access_token=x" }]) {
    assert.equal((await visitSocket(port, { host, headers }, "hello")).status, 401);
  }
  assert.equal(application.received.length, count);
}

async function restrictsAccess(
  { ada, bob, eve, application, see, arrives, isBlocked }: ProxyScene,
): Promise<void> {
  const [team, admin] = [{ host: "team.example.com" }, { host: "admin.example.com" }];
  for (const { cookie } of [ada, bob]) {
    const got = await arrives({ ...team, headers: { cookie } });
    assert.equal(got.headers["remote-organization"], ada.organizationId);
  }
  assert.equal(
    (await arrives({ ...admin, headers: { cookie: ada.cookie } })).headers["remote-role"],
    "OWNER",
  );
  // Bob is a MEMBER. Eve is the OWNER of another organization.
  for (const [host, { cookie }] of [[admin, bob], [admin, eve], [team, eve]] as const) {
    for (const path of ["/", "/?organization=x&role=MEMBER", "/?", "//", "/.gatehouse"]) {
      const { status } = await isBlocked({ ...host, path, headers: { cookie } });
      assert(status === 403 || (path === "/.gatehouse" && status === 404), `${path} ${status}`);
    }
  }
  assert.equal((await isBlocked({ ...admin, headers: page })).status, 302);
  // Clients can't request nginx's internal location.
  const count = application.received.length;
  const question = await see({
    host: "app.example.com",
    path: "/.gatehouse",
    headers: { cookie: ada.cookie },
  });
  assert(question.status === 404 || application.received.length === count + 1, String(question.status));
}

async function countsKeys({ apiKey, keyId, ada, see, arrives, isBlocked }: ProxyScene): Promise<void> {
  const host = "api.example.com";
  const counted = async () => {
    const { body } = await see({
      host: "auth.example.com",
      path: "/api/v1/usage?window=month&productSlug=tiles&metric=requests",
      headers: { authorization: `Bearer ${apiKey}` },
    });
    const [row] = JSON.parse(body).data;
    return row === undefined ? 0 : row.sum;
  };
  const before = await counted();
  for (let i = 0; i < 5; i++) {
    const method = ["GET", "POST", "PUT", "PATCH", "GET"][i] ?? "GET";
    const got = await arrives({
      host,
      path: `/v1?accept=session&meter=a/b&i=${i}`,
      method,
      headers: { authorization: `Bearer ${apiKey}`, "idempotency-key": "same" },
      ...(method === "GET" ? {} : { body: "x".repeat(20_000) }),
    });
    assert.equal(got.headers["remote-api-key"], keyId);
    assert.equal(got.headers["remote-organization"], ada.organizationId);
    assert.equal(got.headers["remote-user"] ?? "", "");
    assert.equal(got.headers["authorization"] ?? "", "");
  }
  await Promise.all(
    Array.from({ length: 20 }, () => see({ host, headers: { authorization: `Bearer ${apiKey}` } })),
  );
  assert.equal(await counted() - before, 25);
  for (
    const headers of [
      {},
      { cookie: ada.cookie },
      { cookie: ada.cookie, authorization: `Bearer ${apiKey}x` },
      { ...page, "remote-api-key": keyId },
    ]
  ) {
    const { status, headers: told } = await isBlocked({ host, headers });
    assert.deepEqual([status, told["www-authenticate"]], [401, "Bearer"]);
  }
  // A CORS preflight request carries no credentials.
  const preflight = { origin: "https://other.example", "access-control-request-method": "POST" };
  assert.equal((await isBlocked({ host, method: "OPTIONS", headers: preflight })).status, 401);
  // A key is ignored where the application doesn't accept keys.
  const { status } = await isBlocked({
    host: "app.example.com",
    headers: { authorization: `Bearer ${apiKey}` },
  });
  assert.equal(status, 401);
  assert.equal(await counted() - before, 25);
  // Too many invalid keys from an address are rate limited, but a valid one still works.
  const wrong = { host, headers: { authorization: `Bearer ${apiKey}x` } };
  const statuses: number[] = [];
  for (let i = 0; i < 70 && statuses.at(-1) !== 429; i++) statuses.push((await isBlocked(wrong)).status);
  assert.equal(statuses.at(-1), 429);
  assert.match((await isBlocked(wrong)).headers["retry-after"] ?? "", /^[1-9]\d?$/);
  await arrives({ host, headers: { authorization: `Bearer ${apiKey}` } });
  assert.equal(await counted() - before, 26);
}

async function limitsKeys({ port, apiKey, keyId, ada, see, arrives, isBlocked }: ProxyScene): Promise<void> {
  const request = { host: "api.example.com", headers: { authorization: `Bearer ${apiKey}` } };
  const change = async (json: unknown) => {
    const { status, body } = await see({
      host: "auth.example.com",
      path: `/api/portal/api-keys/${keyId}`,
      method: "PATCH",
      headers: {
        origin: `http://auth.example.com:${port}`,
        "content-type": "application/json",
        cookie: ada.cookie,
      },
      body: JSON.stringify(json),
    });
    assert.equal(status, 200, body);
  };
  await change({ permissions: ["maps:edit", "usage:write"] });
  assert.equal((await isBlocked(request)).status, 403);
  await change({ permissions: ["maps:render", "usage:write"] });
  await arrives(request);
  await change({
    budget: [{ productSlug: "tiles", metric: "requests", per: "month", quantity: 0, mode: "hard" }],
  });
  const { status, headers } = await isBlocked(request);
  assert.equal(status, 429);
  assert.match(headers["retry-after"] ?? "", /^[1-9]\d*$/);
  await change({ budget: [] });
  await arrives(request);
}

async function failsClosed({ program, ada, apiKey, isBlocked }: ProxyScene): Promise<void> {
  await killProgram(program);
  for (
    const given of [
      { host: "app.example.com", headers: { cookie: ada.cookie } },
      { host: "app.example.com", headers: { ...page, cookie: ada.cookie } },
      { host: "admin.example.com", headers: { cookie: ada.cookie } },
      { host: "api.example.com", headers: { authorization: `Bearer ${apiKey}` } },
    ]
  ) assert.match(String((await isBlocked(given)).status), /^50[23]$/);
}

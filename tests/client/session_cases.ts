// What requireSession promises, for the product of each framework. middleware_test.ts runs these cases.
import assert from "node:assert/strict";
import { cookieOf, testPassword } from "../support/app/app.ts";
import type { ClientScene, ProductCases, See } from "../support/client/scene.ts";
import { sendJson } from "../support/process/journey.ts";
import { visitSocket } from "../support/network/visit.ts";

const page = { accept: "text/html,*/*;q=0.8" };
const navigation = { ...page, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };

export const sessionCases: ProductCases = {
  "passes a session on with its organization and role": passesSessions,
  "rejects a request without a session, and an ended session on the next request": rejectsStrangers,
  "requires a role": requiresRole,
  "requires membership in an organization, and passes on the role there": requiresMembership,
  "compares organizations from the path exactly": comparesOrganizations,
  "redirects page loads to the sign-in page, and nothing else": redirectsPageLoads,
  "returns to the page that was requested, on this site only": returnsToPage,
  "accepts exactly the session cookies": readsCookies,
  "denies access if Gatehouse is down or slow": failsClosed,
};

async function passesSessions(see: See, { ada, bob, operate }: ClientScene): Promise<void> {
  const { status, body } = await see("/board/7", { cookie: bob.cookie });
  assert.equal(status, 200, body);
  const { authenticated, user, organizationId, role, memberships } = JSON.parse(body);
  assert.deepEqual([authenticated, user.email, organizationId, role], [
    true,
    bob.email,
    ada.organizationId,
    "MEMBER",
  ]);
  assert.equal(memberships.length, 2);
  // Suspending an organization ends the use of its keys, not sign-in.
  await operate("PATCH", `organizations/${ada.organizationId}`, { status: "suspended" });
  assert.equal((await see("/board/7", { cookie: ada.cookie })).status, 200);
  await operate("PATCH", `organizations/${ada.organizationId}`, { status: "active" });
}

async function rejectsStrangers(see: See, { ada, gatehouseUrl }: ClientScene): Promise<void> {
  const { status, headers, body } = await see("/board");
  const { error, requestId } = JSON.parse(body);
  assert.deepEqual([status, error], [401, { code: "unauthenticated", message: "Sign in first." }]);
  assert.match(requestId, /^req_[0-9a-f]{32}$/);
  assert.deepEqual([headers["x-request-id"], headers["cache-control"]], [requestId, "no-store"]);
  assert.equal(headers["content-type"], "application/json");

  const json = { email: ada.email, password: testPassword };
  const cookie = cookieOf(await sendJson(gatehouseUrl, "/api/auth/sign-in", { json }));
  assert.equal((await see("/board", { cookie })).status, 200);
  await sendJson(gatehouseUrl, "/api/auth/sign-out", { method: "POST", cookie });
  assert.equal((await see("/board", { cookie })).status, 401);
  // No method is exempt, neither are preflights: their responses would come from the handler.
  for (const method of ["OPTIONS", "POST", "DELETE", "PATCH"]) {
    const preflight = { origin: "https://app.example.com", "access-control-request-method": "GET" };
    assert.equal((await see("/board", preflight, method)).status, 401, method);
  }
}

async function requiresRole(see: See, { ada, bob, gatehouseUrl }: ClientScene): Promise<void> {
  assert.equal((await see("/admin/x", { cookie: ada.cookie })).status, 200);
  for (const headers of [{}, navigation]) {
    const denied = await see("/admin/x", { cookie: bob.cookie, ...headers });
    const { code, message } = JSON.parse(denied.body).error;
    assert.deepEqual([denied.status, code, message], [
      403,
      "forbidden",
      "This requires at least the role ADMIN.",
    ]);
    assert.equal(denied.headers["cache-control"], "no-store");
  }
  const activate = (organizationId: string) =>
    sendJson(gatehouseUrl, "/api/auth/organization", { cookie: bob.cookie, json: { organizationId } });
  await activate(bob.ownOrganizationId);
  const own = await see("/admin/x", { cookie: bob.cookie });
  assert.deepEqual([own.status, JSON.parse(own.body).role], [200, "OWNER"]);
  await activate(ada.organizationId);
  assert.equal((await see("/admin/x", { cookie: bob.cookie })).status, 403);
}

async function requiresMembership(see: See, { ada, bob }: ClientScene): Promise<void> {
  const own = await see(`/orgs/${bob.ownOrganizationId}`, { cookie: bob.cookie });
  const { organizationId, role } = JSON.parse(own.body);
  // Not the active organization.
  assert.deepEqual([own.status, organizationId, role], [200, bob.ownOrganizationId, "OWNER"]);
  // The role counts there, not in the active organization.
  assert.equal((await see(`/orgs/${ada.organizationId}`, { cookie: bob.cookie })).status, 403);
  assert.equal((await see("/team", { cookie: bob.cookie })).status, 200);
  const stranger = await see(`/orgs/${bob.ownOrganizationId}`, { cookie: ada.cookie });
  assert.equal(stranger.status, 403);
  const unknown = await see(`/orgs/org_${"0".repeat(32)}`, { cookie: ada.cookie });
  assert.equal(unknown.status, 403);
  assert.deepEqual(JSON.parse(unknown.body).error, JSON.parse(stranger.body).error);
}

async function comparesOrganizations(see: See, { ada, bob }: ClientScene): Promise<void> {
  const [own, other] = [bob.ownOrganizationId, ada.organizationId];
  const spellings = (id: string) => [
    id.toUpperCase(),
    `${id}%00`,
    `${id}%20`,
    `${id}%0A`,
    `${id};`,
    `${id}%2F`,
    `..%2F${id}`,
    `%256Frg${id.slice(3)}`,
  ];
  const paths = [
    ...spellings(own),
    ...spellings(other),
    `%6Frg${other.slice(3)}`,
    `${other},${own}`,
    `${own},${other}`,
    ...[`${own}%2F..%2F${other}`, `${own}/../${other}`, `${own}%00${other}`],
    ...["", "%00", "%20", "undefined", "null", "true", "__proto__", "%E0%A4%A"],
  ];
  for (const path of paths) {
    const { status } = await see(`/orgs/${path}`, { cookie: bob.cookie });
    assert([400, 403, 404].includes(status), `${status} for ${path}`);
  }
  // At most, another spelling means the same organization.
  const { status, body } = await see(`/orgs/%6Frg${own.slice(3)}`, { cookie: bob.cookie });
  assert(status === 403 || JSON.parse(body).organizationId === own);
}

async function redirectsPageLoads(see: See): Promise<void> {
  // Method, headers, and whether it is a page load.
  const cases: [string, Record<string, string>, boolean][] = [
    ["GET", page, true],
    ["GET", navigation, true],
    ["HEAD", page, true],
    ["GET", { accept: "application/xhtml+xml,TEXT/HTML" }, true],
    ["GET", { "sec-fetch-mode": "navigate" }, true],
    ["HEAD", {}, false],
    ["GET", { accept: "*/*" }, false],
    ["GET", { accept: "application/json" }, false],
    ["POST", navigation, false],
    ["PUT", page, false],
    ["GET", { ...navigation, "sec-fetch-dest": "iframe" }, false],
    ["GET", { ...page, "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" }, false],
    ["GET", { ...page, "hx-request": "true" }, false],
    ["GET", { ...page, "x-requested-with": "XMLHttpRequest" }, false],
    ["GET", { ...navigation, connection: "upgrade", upgrade: "websocket" }, false],
  ];
  for (const [method, headers, isPage] of cases) {
    const denied = await see("/board/7", headers, method);
    assert.equal(denied.status, isPage ? 302 : 401, JSON.stringify([method, headers]));
    assert.equal(denied.headers["cache-control"], "no-store");
    assert.equal(denied.headers["location"] !== undefined, isPage);
  }
}

async function returnsToPage(see: See, { ada, bob, gatehouseUrl }: ClientScene): Promise<void> {
  const target = async (path: string, headers: Record<string, string> = {}) => {
    const { status, headers: { location = "" } } = await see(path, { ...navigation, ...headers });
    assert.equal(status, 302, path);
    const url = new URL(location);
    assert.equal(url.origin + url.pathname, `${gatehouseUrl}/sign-in`);
    return url.searchParams.get("return_to");
  };
  const forged = {
    "x-forwarded-host": "evil.example",
    "x-forwarded-proto": "https",
    forwarded: "host=evil.example",
  };
  const here = `http://${see.host}`;
  for (const path of ["/board/a%2Fb/?c=%26&d=%C3%A9", "/board//evil.example/x", "/board/@evil.example"]) {
    assert.equal(await target(path, forged), here + path);
  }
  assert.equal(await target(`/board/x?${"a".repeat(3_000)}`), `${here}/board/x`);
  assert.equal(await target(`/board/${"a".repeat(3_000)}`), `${here}/`);

  // Behind a proxy, the address in the browser is another one.
  const site = "https://app.example.com/base";
  const rests = ["a?b=1", "/evil.example", "@evil.example", "%5C%5Cevil.example"];
  for (const path of rests.map((rest) => `/public/${rest}`)) {
    assert.equal(await target(path, { ...forged, host: "10.0.0.7" }), site + path);
  }
  const { headers: { location = "" } } = await see("/public/a?b=1", navigation);
  const returned = await fetch(location, { headers: { cookie: ada.cookie }, redirect: "manual" });
  assert.equal(returned.headers.get("location"), `${site}/public/a?b=1`);
  await returned.body?.cancel();

  // The sign-in page may see only one of the two cookies, and would send the browser back.
  const both = await see("/public/a", { ...navigation, cookie: `${ada.cookie}; ${bob.cookie}` });
  assert.match(both.headers["location"] ?? "", /[?&]conflict=1$/);
  const asked = await fetch(both.headers["location"] ?? "", {
    headers: { cookie: ada.cookie },
    redirect: "manual",
  });
  assert.equal(asked.status, 200);
  await asked.body?.cancel();
  // A page without https would never get the cookie.
  assert.equal((await see("/secure", navigation)).status, 401);
}

async function readsCookies(see: See, { ada }: ClientScene): Promise<void> {
  const { cookie } = ada;
  const token = cookie.replace("access_token=", "");
  const several = [`theme=dark; ${cookie}`, `${cookie};a=1`, `access_token=planted; ${cookie}`];
  for (const more of [...several, `${cookie}; ${cookie}`]) {
    assert.equal((await see("/board", { cookie: more })).status, 200, more);
  }
  const others = [
    `Access_Token=${token}`,
    `xaccess_token=${token}`,
    `theme=access_token=${token}`,
    "access_token=",
    `access_token`,
    `access_token=${token}x`,
    `access_token="${token}`,
    `access_token=${token}%0d%0aX-A: 1`,
    `access_token=${token}\u00e9`,
    ...["access_token=\u00ff\u0080", `access_token=${"a".repeat(12_000)}`, `access_token = ${token}`],
  ];
  for (const other of others) {
    assert.equal((await see("/board", { cookie: other })).status, 401, other.slice(0, 99));
  }
  // More cookies than Gatehouse reads, if the product's own server does.
  const many = await see("/board", { cookie: `access_token=${"a".repeat(30_000)}` });
  assert.equal(many.status, 431, many.body);
}

async function failsClosed(see: See, { ada }: ClientScene): Promise<void> {
  for (const path of ["/down", "/slow"]) {
    for (const headers of [{}, navigation]) {
      const denied = await see(path, { cookie: ada.cookie, ...headers });
      const { code, message } = JSON.parse(denied.body).error;
      assert.deepEqual([denied.status, code, message], [
        503,
        "unavailable",
        "Access can't be checked right now. Try again shortly.",
      ]);
      assert.deepEqual([denied.headers["retry-after"], denied.headers["cache-control"]], ["1", "no-store"]);
    }
    assert.equal((await see(path)).status, 401);
  }
}

export async function passesPreflight({ products: { hono }, ada }: ClientScene): Promise<void> {
  const headers = { origin: "https://app.example.com", "access-control-request-method": "GET" };
  const preflight = await fetch(`${hono.url}/cors/x`, { method: "OPTIONS", headers });
  assert.equal(preflight.status, 204);
  for (const [cookie, status] of [["", 401], [ada.cookie, 200]] as const) {
    const response = await fetch(`${hono.url}/cors/x`, { headers: { ...headers, cookie } });
    assert.equal(response.status, status);
    assert.equal(response.headers.get("access-control-allow-origin"), "https://app.example.com");
    await response.body?.cancel();
  }
}

export async function opensSocketForUsers({ products: { hono }, ada }: ClientScene): Promise<void> {
  const port = Number(new URL(hono.url).port);
  const host = "127.0.0.1";
  const opened = await visitSocket(port, { host, headers: { cookie: ada.cookie } }, "hello");
  assert.deepEqual(opened, { status: 101, echo: "hello" });
  assert.deepEqual(await visitSocket(port, { host, headers: page }, "hello"), { status: 401, echo: null });
}

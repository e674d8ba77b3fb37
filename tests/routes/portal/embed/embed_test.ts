// Portal sessions from the first request to the last: the address that opens them, what their pages show, and what the log says.
import assert from "node:assert/strict";
import {
  portalSessionEntryMs,
  portalSessionReentryMs,
} from "../../../../domain/keys/portal_session_limits.ts";
import { portalPagePaths, portalPages } from "../../../../domain/keys/portal_session.ts";
import { cookieOf, createTestKey, type TestApp, testApp, type TestPerson } from "../../../support/app/app.ts";
import { assertRows } from "../../../support/app/rows.ts";
import { listAudit } from "../../../support/app/audit.ts";
import { onEveryDatabase, recordOne } from "../../../support/meter/usage.ts";
import { asOperator } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import {
  createPortalSession,
  navigation,
  openPortalSession,
} from "../../../support/operators/portal_sessions.ts";
import { crawl } from "../../../support/portal/crawl.ts";
import { openPage } from "../../../support/portal/pages.ts";
import { embedWords } from "../../../support/portal/words/embed.ts";
import { createTestWebhook } from "../../../support/webhooks/webhooks.ts";
import { run } from "../../../support/people/scene.ts";

const app = "https://app.example.test";
const settings = {
  BASE_URL: "https://auth.example.test",
  COOKIE_DOMAIN: ".example.test",
  EMBED_ORIGINS: `${app}, https://docs.example.test:8443`,
};

onEveryDatabase("an address opens its session once; using it again elsewhere ends it", async (test) => {
  const { organizationId, cookie } = await test.signUp();
  const { id, entry } = await createPortalSession(test, organizationId, { minutes: 30 });
  const token = new URLSearchParams(entry.split("?")[1]).get("token") ?? "";
  const open = (headers: Record<string, string>, method = "GET") => test.send(entry, { headers, method });

  // Scanners, previews and pages that are loaded ahead of a click get a button, and use nothing up.
  for (
    const headers of [{}, { ...navigation, "Sec-Purpose": "prefetch;prerender" }, {
      ...navigation,
      "Sec-Fetch-Dest": "empty",
      "Sec-Fetch-Mode": "cors",
    }]
  ) {
    const response = await open(headers);
    const html = await response.text();
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("set-cookie"), null);
    assert.match(html, new RegExp(`action="/embed/enter"[^]*name="token" value="${token}"`));
  }
  assert.equal((await open(navigation, "HEAD")).status, 200);

  const opened = await open(navigation);
  assert.equal(opened.status, 303);
  assert.equal(opened.headers.get("location"), `/embed/${id}`);
  assert.equal(opened.headers.get("referrer-policy"), "no-referrer");
  assert.match(opened.headers.get("cache-control") ?? "", /no-store/);
  const [set = "", ...more] = opened.headers.getSetCookie();
  assert.deepEqual(more, []);
  assert.match(
    set,
    new RegExp(`^portal_session=[\\w-]{43}; Max-Age=3600; Path=/embed/${id}; HttpOnly; SameSite=Lax$`),
  );
  const session = { cookie: cookieOf(opened) };
  const page = `/embed/${id}/api-keys`;
  assert.equal((await openPage(test, `/embed/${id}`, session)).location, page);
  assert.equal((await openPage(test, page, session)).status, 200);

  // Only hashes are stored.
  for (const secret of [token, session.cookie.split("=")[1] ?? ""]) {
    assert.equal((await dump(test)).includes(secret), false);
    assert.equal(test.logged().includes(secret), false);
  }

  // A double click, or a frame that is mounted twice, loads it again within seconds.
  const again = await open(navigation);
  assert.deepEqual([again.status, again.headers.getSetCookie()], [303, [set]]);
  assert.equal((await openPage(test, page, session)).status, 200);
  test.advance(portalSessionReentryMs);
  const second = await open(navigation);
  assert.equal(second.status, 404);
  assert.match(await second.text(), new RegExp("This address no longer works"));
  assert.equal(second.headers.get("set-cookie"), null);
  const after = await openPage(test, page, session);
  assert.equal(after.status, 401);
  assert.match(after.html, new RegExp(embedWords.ended));
  assert.equal(
    (await openPage(test, page, { ...session, headers: { "HX-Request": "true" } })).answer.headers
      .get("HX-Redirect"),
    `/embed/${id}`,
  );
  const { events } = await listAudit(test, cookie, "?limit=4");
  assert.deepEqual(
    events.map(({ action, details, actor }) => [action, details["reason"] ?? null, actor.type]),
    [
      ["portal_session.ended", "its address was used twice", "session"],
      ["portal_session.opened", null, "session"],
      ["portal_session.opened", null, "session"],
      ["portal_session.created", null, "operator"],
    ],
  );

  // Someone else ends it at any time.
  const seen = await createPortalSession(test, organizationId);
  const mine = { cookie: cookieOf(await test.send(seen.entry, { headers: navigation })) };
  const thief = { ...navigation, "User-Agent": "other" };
  assert.equal((await test.send(seen.entry, { headers: thief })).status, 404);
  assert.equal((await openPage(test, `/embed/${seen.id}/api-keys`, mine)).status, 401);

  // The button opens a session, too. An address that no one has used expires.
  const other = await createPortalSession(test, organizationId);
  const form = { token: new URLSearchParams(other.entry.split("?")[1]).get("token") ?? "" };
  assert.equal((await openPage(test, "/embed/enter", { form })).location, `/embed/${other.id}`);
  const late = await createPortalSession(test, organizationId);
  test.advance(portalSessionEntryMs);
  assert.equal((await test.send(late.entry, { headers: navigation })).status, 404);
  for (const path of ["/embed/enter", "/embed/enter?token=x", "/embed/enter?token=" + "a".repeat(43)]) {
    assert.equal((await test.send(path, { headers: navigation })).status, 404, path);
  }
});

async function dump({ opened: { database } }: TestApp): Promise<string> {
  const tables = ["portal_sessions", "audit_events", "events"];
  const rows = await Promise.all(
    tables.map((name) => database.read({ sql: `SELECT * FROM ${name}`, args: [] })),
  );
  return JSON.stringify(rows);
}

testApp("only pages of portal sessions can be in a frame, and only of origins that are set", async (test) => {
  const none = "frame-ancestors 'none'";
  const paths = new Set(
    test.app.routes.filter(({ method, path }) => method === "GET" && !path.endsWith("*"))
      .map(({ path }) => path.replaceAll(/:\w+/g, "x")),
  );
  let embedded = 0;
  for (const path of [...paths, "/", "/embed", "/embedded", "/embed/x/y/z", "/nowhere"]) {
    const { headers } = await test.send(path);
    // What programs read is no page.
    if (/^\/(\.well-known|oauth)\/.*json/.test(`${path} ${headers.get("content-type")}`)) continue;
    const policy = headers.get("content-security-policy");
    const isEmbedded = path.startsWith("/embed/");
    if (isEmbedded) embedded++;
    const expected = isEmbedded
      ? "frame-ancestors https://app.example.test https://docs.example.test:8443"
      : path.startsWith("/api/")
      ? null
      : none;
    assert.equal(policy?.split("; ").at(-1) ?? null, expected, path);
    assert.equal(headers.get("x-frame-options"), null, path);
  }
  assert.ok(embedded > 25, `only ${embedded}`);
}, settings);

testApp(
  "without EMBED_ORIGINS no page can be in a frame, and sessions still work by redirect",
  async (test) => {
    const { organizationId } = await test.signUp();
    const { base, cookie } = await openPortalSession(test, organizationId);
    const { status, answer } = await openPage(test, `${base}/usage`, { cookie });
    assert.equal(status, 200);
    assert.match(answer.headers.get("content-security-policy") ?? "", /frame-ancestors 'none'$/);
  },
);

/** Adds what pages can show. */
async function fill(test: TestApp, ada: TestPerson): Promise<void> {
  const { fullKey } = await createTestKey(test, ada, { name: "Production" });
  await recordOne(test, fullKey, { quantity: 7 });
  await createTestWebhook(test, ada);
  const limit =
    `INSERT INTO usage_limits (id, organization, product_slug, metric, per, quantity_whole, quantity_micro, mode,
    created_seq, created_at) SELECT 'lim_1', number, '', '', 'day', 100, 0, 'hard', 0, 0 FROM organizations WHERE id = ?`;
  await run(test, limit, ada.organizationId);
}

testApp("every link of a session's pages leads to one of them, and readers find no form", async (test) => {
  const ada = await test.signUp("Ada");
  await fill(test, ada);
  const sessions = [
    ...[...portalPages.map((page) => [page]), portalPages].map((pages) => ({ pages, readOnly: false })),
    { pages: portalPages, readOnly: true },
  ];
  for (const { pages, readOnly } of sessions) {
    const given = { pages, readOnly, returnUrl: `${app}/back` };
    const { base, cookie } = await openPortalSession(test, ada.organizationId, given);
    // Pages elsewhere have tests of their own.
    const send: TestApp["send"] = (path, options) =>
      path.startsWith(base) ? test.send(path, options) : Promise.resolve(new Response(""));
    const found = await crawl({ ...test, send }, { name: pages.join(), cookie, paths: [base] });
    assert.ok(found.length >= pages.length, pages.join());
    for (const { address, html, elements, forms } of found) {
      assert.match(html, /<header class="embed-bar" id="side">/, address);
      for (const { attributes } of elements) {
        const href = attributes.get("href") ?? attributes.get("action") ?? attributes.get("hx-get") ?? "";
        const isOwn = !href.startsWith("/") || href.startsWith(base) || href.startsWith("/static/");
        // Only documentation is elsewhere, and leaves the frame.
        assert.ok(isOwn || attributes.get("target") === "_blank", `${address} links to ${href}`);
      }
      const back = elements.find(({ attributes }) => attributes.get("href") === `${app}/back`);
      assert.equal(back?.attributes.get("target"), "_top", address);
      if (!readOnly) continue;
      assert.deepEqual(forms.filter(({ method }) => method !== "get"), [], address);
      assert.match(html, /Read only/, address);
    }
  }
}, settings);

testApp(
  "what a session does is in the organization's log under the customer's name, and no permission comes with it",
  async (test) => {
    const ada = await test.signUp();
    const user = { externalId: "user-12", name: "Grace Hopper" };
    const { base, cookie, id } = await openPortalSession(test, ada.organizationId, { user });
    const by = { cookie, at: base };
    const key = { name: "Embedded", expires: "never", permissions: "" };
    const { html } = await assertRows(test, by, [
      ["POST /api-keys/new", { ...key, "usage:void": "on" }, 403],
      ["POST /api-keys/new", { ...key, "usage:write": "on" }, 201, { shows: [/service_live_\w{38}/] }],
    ]);
    const edit = `POST /api-keys/${/\/api-keys\/(key_\w+)"/.exec(html)?.[1]}/edit`;
    await assertRows(test, by, [
      [edit, { ...key, "usage:void": "on" }, 403],
      [edit, { ...key, name: "Renamed", "usage:write": "on" }, 303],
      ["POST /webhooks/new", { url: "https://1.1.1.1/", description: "", "limit.*": "on" }, 201],
    ]);

    const { events } = await listAudit(test, ada.cookie);
    const actor = { type: "session", id, name: "Grace Hopper via Invoices" };
    for (const action of ["webhook.created", "api_key.renamed", "api_key.created", "portal_session.opened"]) {
      assert.deepEqual(events.find((event) => event.action === action)?.actor, actor, action);
    }
    const creation = events.find(({ action }) => action === "portal_session.created");
    assert.deepEqual(creation?.actor, { type: "operator", id: null, name: null });
    assert.deepEqual({ ...creation?.details, expiresAt: "" }, {
      pages: "keys, usage, limits, webhooks",
      access: "full",
      externalUserId: "user-12",
      expiresAt: "",
    });
    assert.match((await openPage(test, "/portal/audit", { person: ada })).html, /Grace Hopper via Invoices/);
    // Operators' own log has what operators did.
    const { body } = await asOperator(test, (await newOperatorToken(test)).fullToken)("GET /audit");
    assert.deepEqual(body.events.map(({ action }: { action: string }) => action), ["portal_session.created"]);

    // The cookie is nothing elsewhere.
    const stolen = cookie.replace("portal_session", "access_token");
    for (const cookies of [cookie, stolen]) {
      await assertRows(test, { cookie: cookies }, [
        ["GET /portal/api-keys", null, 303],
        ["GET /api/auth/me", null, 200, { shows: ['"authenticated":false'] }],
        ["GET /api/portal/api-keys", null, 401],
      ]);
    }
    // Other sites can't send its forms.
    const cross = await test.send(`${base}/api-keys/new`, {
      cookie,
      form: { name: "x" },
      headers: { origin: app },
    });
    assert.equal(cross.status, 403);
    assert.equal((await cross.text()).includes(portalPagePaths.keys), true);
  },
);

testApp(
  "several sessions live side by side in one browser, and an error stays in the session's frame",
  async (test) => {
    const ada = await test.signUp("Ada");
    const bob = await test.signUp("Bob");
    const one = await openPortalSession(test, ada.organizationId);
    const two = await openPortalSession(test, bob.organizationId, { pages: ["usage"] });
    // A sibling can plant a cookie, which opens nothing.
    const cookie = `portal_session=planted; ${two.cookie}; ${one.cookie}; ${ada.cookie}`;
    assert.match((await openPage(test, `${one.base}/usage`, { cookie })).html, /Ada’s organization/);
    assert.match((await openPage(test, `${two.base}/usage`, { cookie })).html, /Bob’s organization/);
    const missing = await openPage(test, `${one.base}/api-keys/key_1`, { cookie });
    assert.equal(missing.status, 404);
    assert.match(missing.html, /embed-bar[^]*Page not found/);
    assert.doesNotMatch(missing.html, /href="\/(portal|sign-in)/);
    const csv = await openPage(test, `${two.base}/usage/sums.csv?window=total`, { cookie });
    assert.match(csv.answer.headers.get("content-type") ?? "", /^text\/csv/);
  },
);

testApp("the address says how a session's pages look; unknown looks are ignored", async (test) => {
  const { organizationId } = await test.signUp();
  const look = async (query: string) => {
    const { entry } = await createPortalSession(test, organizationId, { pages: ["limits"] });
    const opened = await test.send(entry + query, { headers: navigation });
    const cookie = opened.headers.getSetCookie().map((one) => one.split(";")[0]).join("; ");
    const path = `${opened.headers.get("location")}/limits`;
    const html = await (await test.send(path, { cookie })).text();
    return [/<html[^>]*data-theme="(\w+)"/.exec(html)?.[1], /class="(embedded[^"]*)"/.exec(html)?.[1]];
  };
  assert.deepEqual(await look(""), [undefined, "embedded"]);
  assert.deepEqual(await look("&theme=dark&ground=transparent"), ["dark", "embedded clear"]);
  assert.deepEqual(await look("&theme=light"), ["light", "embedded"]);
  assert.deepEqual(await look("&theme=%22%3E%3Cb%3E&ground=url(x)"), [undefined, "embedded"]);
});

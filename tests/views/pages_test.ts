// Every page, as people with different rights find it by its links, with hostile names. The rules are in
// tests/support/portal/page_rules.ts.
import assert from "node:assert/strict";
import { sql } from "../../db/engine/database.ts";
import { cookieOf, type SendOptions, startTestApp, type TestApp, testPassword } from "../support/app/app.ts";
import { type FilledPortal, fillPortal } from "../support/filled/portal.ts";
import { requiredSingleSignOn } from "../support/filled/required_sign_in.ts";
import { recordOne, unlimited, voidOne } from "../support/meter/usage.ts";
import { type Discovery, startDiscovery } from "../support/network/discovery.ts";
import { makeOperator, newOperatorToken } from "../support/operators/operators.ts";
import { openPortalSession } from "../support/operators/portal_sessions.ts";
import { addPasskey, turnOnTwoStep } from "../support/people/second_step.ts";
import { newOrganization, newPerson, run } from "../support/people/scene.ts";
import {
  crawl,
  type CrawledPage,
  open,
  rejectForms,
  routeFinder,
  type Viewer,
} from "../support/portal/crawl.ts";
import { addConsent, addDocument, withDocuments } from "../support/oauth/scene.ts";
import { escaped } from "../support/portal/markup.ts";
import { newMarkup, pageRules } from "../support/portal/page_rules.ts";
import { isFull } from "../support/runner/extent.ts";
import { faultsTimeoutMs } from "../support/runner/random.ts";

/** Names that break pages which don't escape them, isolate their direction, or leave room. */
const hostile = [
  `<img src=x onerror=alert(1)>"'&</title></script>`,
  `" autofocus onfocus="alert(1)" x='`,
  `</option></textarea>--></svg><script>alert(1)</script>`,
  "مؤسسة الاختبار \u200f",
  "👩‍👩‍👧‍👦🏳️‍🌈",
  "&lt;b&gt;&amp;",
  "W".repeat(100),
];
const [markup = ""] = hostile;
/**
 * For programs, files, an email without its frame, the address from which a portal session goes to its first page, and the way to a
 * provider and back.
 */
const notPages =
  /^\/(api|static|health|metrics|docs\/examples|download\/:|oauth\/|\.well-known\/|sign-in\/with\/:)|\.\w+$|\/html$|^\/embed\/:\w+$/;

/** Those who find all pages. A quick run follows fewer of the same links of the others. */
const leaders = new Set(["visitor", "owner", "operator", "customer in a product"]);
const few = { ofRoute: 2, plain: 2, ofFilters: 1 };

Deno.test("every page", { timeout: 2 * faultsTimeoutMs }, async (t) => {
  await using discovery = startDiscovery();
  const test = await startTestApp({
    ...unlimited,
    ...withDocuments,
    ALLOWED_ORIGINS: "https://app.example.com",
  });
  try {
    const names = new Map<string, string>();
    const portal = await fillPortal(test, {
      days: 2,
      named(name) {
        const text = `${name} ${hostile[names.size % hostile.length]}`;
        names.set(name, [...text].slice(0, 100).join("").trim());
        return names.get(name) ?? "";
      },
    });
    await fillMore(test, portal, discovery);
    const rules = new CheckedRules();
    const pages: CrawledPage[] = [];
    await run(test, "UPDATE api_keys SET disabled_at = 1 WHERE name LIKE 'Hackathon 2026%'");
    for (const viewer of await viewersOf(test, portal)) {
      pages.push(
        ...rules.check(await crawl(test, viewer, isFull || leaders.has(viewer.name) ? undefined : few)),
      );
    }
    const routeOf = routeFinder(test);
    await t.step("shows the same when it is reloaded, apart from live figures", async () => {
      const first = new Map(pages.toReversed().map((page) => [routeOf(page.address), page]));
      const withoutToken = (html: string) => html.replace(/name="formToken" value="[^"]*"|req_\w+/, "");
      first.delete("/operator");
      first.delete("/operator/system");
      for (const { address, html, ...by } of first.values()) {
        let shown = withoutToken(html);
        const isSame = async () => {
          const again = await open(test, address, by);
          assert.ok(again !== null && "html" in again, address);
          const before = shown;
          shown = withoutToken(again.html);
          return shown === before;
        };
        // What an earlier request noted in the background may show now.
        assert.ok(await isSame() || await isSame(), address);
      }
    });
    pages.push(...rules.check(await requiredSingleSignOn(test, portal)));
    pages.push(...rules.check(await sentForms(test, portal)));
    pages.push(...rules.check(await rejectForms(test, pages, markup.repeat(9))));
    await t.step("is found by a link or a form, or leads to one", async () => {
      const visited = new Set(pages.map(({ address }) => routeOf(address)));
      const lost: string[] = [];
      for (const { method, path } of test.app.routes) {
        if (method !== "GET" || path.includes("*") || notPages.test(path) || visited.has(path)) continue;
        const found = await open(test, path, { viewer: "owner", cookie: portal.owner.cookie });
        if (found === null || !("location" in found)) lost.push(path);
      }
      assert.deepEqual(lost, []);
    });
    await rules.report(t);
    await t.step("shows names as they are", () => {
      const all = pages.map(({ html }) => html).join();
      for (const [name, text] of names) assert.ok(all.includes(escaped(text)), name);
    });
  } finally {
    await test.dispose();
  }
});

Deno.test("every page of a service without email and sign-up", async (t) => {
  const test = await startTestApp({ SIGN_UP: "closed", BASE_URL: "https://auth.example.com" });
  try {
    const { cookie } = await newPerson(test, {
      organizationId: await newOrganization(test, markup),
      role: "OWNER",
    });
    const pages = [
      ...await crawl(test, { name: "visitor", cookie: undefined, paths: ["/sign-in", "/sign-up"] }),
      ...await crawl(test, { name: "owner", cookie, paths: ["/portal"] }),
    ];
    const rules = new CheckedRules();
    rules.check([...pages, ...await rejectForms(test, pages, markup.repeat(9))]);
    await rules.report(t);
  } finally {
    await test.dispose();
  }
});

/** The rules of all pages. They are checked as soon as pages are there, because their elements need much memory. */
class CheckedRules {
  readonly #isNew = isFull ? newShapes() : newMarkup();
  readonly #faults = new Map<string, Error[]>(Object.keys(pageRules).map((promise) => [promise, []]));

  /** @returns The pages without their elements. */
  check(pages: readonly CrawledPage[]): CrawledPage[] {
    for (const page of pages) {
      // Validating all pages takes minutes.
      const isNew = this.#isNew(page);
      for (const [promise, check] of Object.entries(pageRules)) {
        if (promise === "is valid HTML" && !isNew) continue;
        try {
          check(page);
        } catch (cause) {
          this.#faults.get(promise)?.push(new Error(`${page.viewer}: ${page.address}`, { cause }));
        }
      }
    }
    return pages.map((page) => ({ ...page, elements: [] }));
  }

  async report(t: Deno.TestContext): Promise<void> {
    for (const [promise, [fault]] of this.#faults) {
      await t.step(promise, () => {
        if (fault !== undefined) throw fault;
      });
    }
  }
}

/** @returns True for the first page of each viewer with an address, apart from ids and values. */
function newShapes(): (page: CrawledPage) => boolean {
  const seen = new Set<string>();
  return ({ viewer, address }) => {
    const before = seen.size;
    seen.add(`${viewer} ${address.replaceAll(/[a-z]{3}_[0-9a-f]+/g, "").replaceAll(/=[^&]*/g, "")}`);
    return seen.size > before;
  };
}

/** Adds what the filled portal lacks: notes, statements, passkeys, links in emails, and records with properties. */
async function fillMore(
  test: TestApp,
  { owner, member, operator, keys, organizationId }: FilledPortal,
  { issuer }: Discovery,
): Promise<void> {
  const { fullToken: apiKey } = await newOperatorToken(test);
  const send = async (path: string, options: SendOptions) => {
    const response = await test.send(path, options);
    assert.ok(response.ok, `${path}: ${response.status} ${await response.text()}`);
  };
  const operators = "/api/operator";
  await send(`${operators}/organizations/${organizationId}/notes`, { apiKey, json: { text: markup } });
  await send(`${operators}/organizations/${organizationId}/invitations`, {
    apiKey,
    json: { email: "x@y.example", role: "ADMIN" },
  });
  await send(`${operators}/statements`, { apiKey, json: { period: "2026-10" } });
  await send(`${operators}/identity-providers`, {
    cookie: operator.cookie,
    json: { slug: "peer", kind: "oidc", name: markup, issuer, clientId: "a", clientSecret: "a" },
  });
  await send(`${operators}/resources`, {
    cookie: operator.cookie,
    json: { uri: "https://api.example.com/", name: markup, scopes: ["<b>"], tokenFormat: "jwt" },
  });
  await send(`${operators}/plans`, { apiKey, json: { name: markup } });
  await send("/api/auth/password/forgot", { json: { email: "jonas@northwind.example" } });
  await send("/api/portal/account/email", { cookie: member.cookie, json: { email: "jonas@y.example" } });
  await send("/api/portal/account/two-step/turn-off-link", {
    cookie: owner.cookie,
    json: { password: testPassword },
  });
  await send("/api/portal/account/two-step/totp", { method: "POST", cookie: member.cookie });
  await addPasskey(test, owner.cookie, markup);
  const identity = ["idn_0199d3c1000070008000000000000001", owner.userId, issuer, "1", markup, test.now()];
  await run(
    test,
    "INSERT INTO identities (id, user_id, issuer, subject, email, created_at) VALUES (?, ?, ?, ?, ?, ?)",
    ...identity,
  );
  await Promise.all([addDocument(test, markup), addConsent(test, { userId: owner.userId, organizationId })]);
  const key = keys.get("Import job (nightly)")?.fullKey ?? "";
  const more = { idempotencyKey: markup, properties: { [markup]: markup } };
  const record = await recordOne(test, key, more);
  await voidOne(test, { apiKey: key, id: record.id, reason: markup });
  const disabled = await newPerson(test, null);
  await send(`${operators}/users/${disabled.userId}`, { apiKey, method: "PATCH", json: { disabled: true } });
  await test.mails();
}

/** Returns everyone who looks at the portal. */
async function viewersOf(test: TestApp, portal: FilledPortal): Promise<Viewer[]> {
  const { owner, member, newcomer, operator, organizationId } = portal;
  const { userId: lockedId, ...locked } = await newPerson(test, { organizationId, role: "ADMIN" });
  await turnOnTwoStep(test, locked.cookie);
  await run(test, "UPDATE totp SET locked_at = ? WHERE user_id = ?", test.now(), lockedId);
  const [suspended] = await test.opened.database.read(
    sql`SELECT id FROM organizations WHERE suspended_at > 0`,
  );
  const customer = await newPerson(test, { organizationId: String(suspended?.["id"]), role: "OWNER" });
  const unproved = await newPerson(test, { organizationId, role: "OWNER" });
  await makeOperator(test, unproved, { secondFactorAt: null, provedAt: 0 });
  const signIn = await test.send("/sign-in", {
    form: { email: "ada@northwind.example", password: testPassword },
  });
  const newKey = portal.keys.get("Old website")?.id;
  const console_ = `/operator/organizations/${organizationId}`;
  await test.send(`${console_}/view-as-customer`, { cookie: operator.cookie, form: {} });
  const activeKey = portal.keys.get("Production EU")?.id;
  const access = `/portal/access?return_to=https://app.example.com/${encodeURIComponent(markup)}`;
  const product = "/sign-in?return_to=https://app.example.com/";
  const start = ["/portal", "/portal/confirm-password?again=1", access, "/dev/mail"];
  const user = { externalId: "u", name: markup };
  const embedded = await openPortalSession(test, organizationId, { user });
  const reader = await openPortalSession(test, organizationId, { pages: ["limits"], readOnly: true });
  return [
    {
      name: "customer in a product",
      cookie: embedded.cookie,
      paths: [
        embedded.base,
        "/embed/enter?token=x",
        `${embedded.base}/api-keys/${newKey}/first-request`,
        `${embedded.base}/api-keys/revoke?${activeKey}=`,
        `${embedded.base}/nowhere`,
      ],
    },
    { name: "reader in a product", cookie: reader.cookie, paths: [reader.base, embedded.base] },
    {
      name: "visitor",
      cookie: undefined,
      paths: ["/sign-in?expired=1", `/sign-in?return_to=/${markup}`, "/dev/mail", "/docs", "/nowhere"],
    },
    { name: "person between two steps", cookie: cookieOf(signIn), paths: ["/sign-in/second-step"] },
    {
      name: "unverified person",
      cookie: (await test.signUp(markup)).cookie,
      paths: [...start, `${access}&email=verified`],
    },
    { name: "person without an organization", cookie: (await newPerson(test, null)).cookie, paths: start },
    {
      name: "newcomer",
      cookie: newcomer.cookie,
      paths: [...start, `${access}&organization=${organizationId}`],
    },
    {
      name: "member",
      cookie: member.cookie,
      paths: [...start, `${access}&role=owner`, "/portal/account/two-step/set-up"],
    },
    {
      name: "owner",
      cookie: owner.cookie,
      paths: [
        ...start,
        `/portal/api-keys/${newKey}/first-request`,
        `/portal/api-keys/revoke?${activeKey}=`,
        product,
      ],
    },
    { name: "admin with locked codes", cookie: locked.cookie, paths: ["/portal/account/two-step"] },
    { name: "owner of a suspended organization", cookie: customer.cookie, paths: start },
    {
      name: "operator",
      cookie: operator.cookie,
      paths: [
        "/operator",
        "/operator/statements/close",
        "/operator/nowhere",
        `${console_}/api-keys?status=inactive`,
        `${console_}/api-keys/${newKey}/first-request`,
        `${console_}/view`,
        `/operator/organizations/${newcomer.organizationId}/view`,
        `${console_}/view/api-keys/${newKey}/first-request`,
        `/operator/organizations/${organizationId}/api-keys/revoke?${activeKey}=`,
        ...start,
      ],
    },
    {
      name: "operator without a second factor",
      cookie: unproved.cookie,
      paths: ["/operator", "/portal/account/security"],
    },
  ];
}

/** Returns the pages that answer forms: new secrets, and what a change would do. */
async function sentForms(
  test: TestApp,
  { owner, operator, organizationId }: FilledPortal,
): Promise<CrawledPage[]> {
  const plans = await test.opened.database.read(sql`SELECT id FROM plans ORDER BY is_default`);
  const [growth = "", other = ""] = plans.map(({ id }) => String(id));
  const [first] = await test.opened.database.read(
    sql`SELECT id, type FROM event_mappings WHERE type = 'image.created'`,
  );
  const { id: mapping, type } = first ?? {};
  const event = { specversion: "1.0", type, source: markup, id: markup, subject: markup, data: { count: 1 } };
  const console_ = `/operator/organizations/${organizationId}`;
  const plan = {
    name: markup,
    apiKeysMax: "1",
    membersMax: "1",
    requestsPerSecond: "1",
    usageSeriesMax: "1",
  };
  const token = { name: markup, "usage:read": "on", expires: "90d" };
  const key = { name: markup, expires: "90d", formToken: "f".repeat(32) };
  const forms: [viewer: "owner" | "operator", path: string, form: Record<string, string>][] = [
    ["owner", "/portal/api-keys/new", key],
    ["owner", "/portal/api-keys/new", key],
    ["owner", "/portal/account/two-step/recovery-codes", {}],
    ["operator", `${console_}/plan`, { planId: other }],
    ["operator", `${console_}/limits/edit`, { ...plan, timezone: "Asia/Tokyo" }],
    ["operator", `${console_}/api-keys/new`, key],
    ["operator", `/operator/plans/${growth}/edit`, plan],
    ["operator", "/operator/tokens/new", token],
    ["operator", `/operator/collectors/mappings/${mapping}/try`, { data: JSON.stringify(event) }],
  ];
  const pages: CrawledPage[] = [];
  for (const [viewer, path, form] of forms) {
    const { cookie } = { owner, operator }[viewer];
    const page = await open(test, path, { viewer, cookie, form });
    assert.ok(page !== null && "html" in page && page.status < 400, path);
    pages.push(page);
  }
  return pages;
}

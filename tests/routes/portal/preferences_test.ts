// How pages look for a person: the time zone, the number and date format, the theme, and the last filters of lists.
import assert from "node:assert/strict";
import { createTestKey, type TestApp, testApp, type TestPerson } from "../../support/app/app.ts";
import { addLimit } from "../../support/meter/limits.ts";
import { newOperator } from "../../support/operators/console.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import { recordOne } from "../../support/meter/usage.ts";

/** @returns The text of a page, and the HTML. */
async function open(
  test: TestApp,
  path: string,
  { cookie, headers = {} }: { cookie: string; headers?: Record<string, string> },
) {
  const response = await test.send(path, { cookie, headers });
  const html = await response.text();
  assert.equal(response.status, 200, `${path}: ${html.slice(0, 300)} ${test.logged()}`);
  const text = html.replaceAll(/<[^>]*>/g, " ").replaceAll("\u2060", "").replaceAll(/\s+/g, " ");
  return { html, text, response };
}

/** An organization in Tokyo with usage that UTC has in October, and a limit per month. */
async function inTokyo(test: TestApp, person: TestPerson) {
  const { organizationId } = person;
  const { fullToken } = await newOperatorToken(test);
  const changed = await test.send(`/api/operator/organizations/${organizationId}`, {
    method: "PATCH",
    apiKey: fullToken,
    json: { timezone: "Asia/Tokyo" },
  });
  assert.equal(changed.status, 200, await changed.text());
  await addLimit(test, { organizationId }, { per: "month", quantity: 100_000, mode: "soft" });
  const key = await createTestKey(test, person);
  // Midnight in Tokyo is at 15:00 UTC.
  await recordOne(test, key.fullKey, { quantity: 5_000, timestamp: "2026-10-31T15:00:00Z" });
  await recordOne(test, key.fullKey, { quantity: 300, timestamp: "2026-10-31T14:59:59Z" });
  await recordOne(test, key.fullKey, { quantity: 1_234, timestamp: "2026-11-20T15:30:00Z" });
  return key;
}

testApp("all pages of an organization show the month of its time zone, and name it", async (test) => {
  const ada = await test.signUp("Ada");
  const mara = await newOperator(test);
  const { id } = await inTokyo(test, ada);
  const total = "6,234";
  const base = `/operator/organizations/${ada.organizationId}`;
  const limits = `${total} of 100,000 6% used`;
  const resets = "Resets Dec 1, 00:00 Tokyo";
  for (
    const [path, person, ...texts] of [
      ["/portal", ada, "November 2026 so far, in Asia/Tokyo", `Requests ${total}`, limits, resets],
      ["/portal/usage", ada, "November 2026 so far, in Asia/Tokyo", `Requests ${total}`],
      ["/portal/usage?range=last-month", ada, "October 2026, in Asia/Tokyo", "Requests 300"],
      ["/portal/usage/records", ada, "Time, Asia/Tokyo", "Nov 1, 00:00:00", "Oct 31, 23:59:59"],
      ["/portal/api-keys", ada, "6.5k|6,534"],
      [`/portal/api-keys/${id}`, ada, "Requests today 1,234 Since 00:00 Tokyo", "Asia/Tokyo"],
      ["/portal/audit", ada, "Time, Asia/Tokyo", "Nov 21, 23:03:11"],
      [base, mara, "Time zone Asia/Tokyo", `Requests this month ${total}`, `Requests ${total}`],
      [`${base}/limits`, mara, "resets Dec 1, 00:00 Tokyo", total],
      [`${base}/usage`, mara, "November 2026 so far, in Asia/Tokyo", `Requests ${total}`],
      ["/operator/usage", mara, "November 2026 so far, in UTC", "Requests 1,234"],
      ["/operator", mara, "All organizations, in UTC"],
    ] as const
  ) {
    const { text } = await open(test, path, person);
    for (const wanted of texts) {
      assert.ok(wanted.split("|").some((one) => text.includes(one)), `${path}: ${wanted}\n${text}`);
    }
  }
});

const preferencesPath = "/api/auth/preferences";

async function prefer(test: TestApp, { cookie }: { cookie: string }, json: Record<string, unknown>) {
  const response = await test.send(preferencesPath, { method: "PATCH", cookie, json });
  return { status: response.status, body: await response.json() };
}

testApp("preferences are a person's own, and each field is checked", async (test) => {
  const [ada, grace] = [await test.signUp("Ada"), await test.signUp("Grace")];
  const get = async ({ cookie }: TestPerson) => await (await test.send(preferencesPath, { cookie })).json();
  const none = { timezone: null, locale: null, theme: "system" };
  assert.deepEqual(await get(ada), none);
  const chosen = { timezone: "Asia/Tokyo", locale: "de", theme: "dark" };
  assert.deepEqual(await prefer(test, ada, { ...chosen, locale: "de-LI" }), { status: 200, body: chosen });
  assert.deepEqual([await get(ada), await get(grace)], [chosen, none]);
  for (
    const [field, value] of [
      ["timezone", "Mars/Olympus"],
      ["timezone", "+01:00"],
      ["timezone", 1],
      ["locale", "tlh"],
      ["locale", "x".repeat(65)],
      ["locale", ""],
      ["theme", "sepia"],
      ["theme", null],
      ["userId", grace.userId],
    ] as const
  ) {
    const { status, body } = await prefer(test, ada, { theme: "light", [field]: value });
    assert.deepEqual([status, body.error.code], [422, "validation_failed"], `${field}: ${value}`);
    assert.equal(body.error.details[0].path, field);
  }
  assert.deepEqual((await prefer(test, ada, { timezone: null, theme: "system" })).body, {
    ...none,
    locale: "de",
  });
  assert.deepEqual((await prefer(test, ada, {})).body, { ...none, locale: "de" });
  assert.equal((await test.send(preferencesPath)).status, 401);
  assert.equal((await prefer(test, { cookie: "" }, { theme: "dark" })).status, 401);
});

testApp("a person's time zone overrides the organization's, in which limits still count", async (test) => {
  const ada = await test.signUp("Ada");
  await inTokyo(test, ada);
  await prefer(test, ada, { timezone: "Europe/Berlin" });
  const { text } = await open(test, "/portal", ada);
  // In Berlin, the month began at 23:00 UTC.
  assert.match(text, /November 2026 so far, in Europe\/Berlin/);
  assert.match(text, /Requests 1,234 .*6,234 of 100,000 6% used.* Resets Dec 1, 00:00 Tokyo/);
});

testApp(
  "pages have the format of the browser, unless the person chose one; the API and CSV don't",
  async (test) => {
    const ada = await test.signUp("Ada");
    const { id } = await inTokyo(test, ada);
    const shown = async (path: string, language: string) =>
      (await open(test, path, { ...ada, headers: { "accept-language": language } })).text;
    const of = { de: /Requests 6\.234 .*6\.234 of 100\.000/, en: /Requests 6,234 .*6,234 of 100,000/ };
    assert.match(await shown("/portal", "de-DE,de;q=0.9,en;q=0.8"), of.de);
    assert.match(await shown("/portal", "de"), /Resets 1\. Dez\., 00:00 Tokyo/);
    assert.match(await shown("/portal", "ja"), of.en);
    assert.match(await shown("/portal", "ja"), /2026年11月 so far, in Asia\/Tokyo/);
    assert.match(await shown("/portal/usage/records", "ja"), /11月1日, 00:00:00/);
    assert.match(
      await shown("/portal/usage?range=custom&from=2026-11-01&to=2026-11-21", "de"),
      /value="2026-11-01"|1\.–21\. Nov/,
    );
    // Concurrent pages in several languages: each is in its own.
    const languages = ["de", "en-US", "ja", "de-AT", "xx", "en-IN"];
    const pages = await Promise.all([...languages, ...languages].map((one) => shown("/portal", one)));
    assert.deepEqual(
      pages.map((page) => /Requests (6.234) /.exec(page)?.[1]),
      [...languages, ...languages].map((one) => ({ "de": "6.234", "de-AT": "6 234" })[one] ?? "6,234"),
    );
    await prefer(test, ada, { locale: "en-GB" });
    assert.match(await shown("/portal", "de"), /Resets 1 Dec, 00:00 Tokyo/);
    await prefer(test, ada, { locale: "de" });
    const csv = await test.send("/api/portal/usage.csv?from=2026-11-01&groupBy=metric", ada);
    assert.match(await csv.text(), /,1234\b/);
    const days = await open(test, "/portal/usage?range=month", ada);
    assert.match(days.html, /value="2026-11-01"/);
    // Forms read what they wrote.
    const budget = [{ per: "month", quantity: 12_345, mode: "soft" }];
    const changed = await test.send(`/api/portal/api-keys/${id}`, {
      method: "PATCH",
      cookie: ada.cookie,
      json: { budget },
    });
    assert.equal(changed.status, 200, await changed.text());
    assert.match((await open(test, `/portal/api-keys/${id}/budget`, ada)).html, /value="12,345"/);
  },
);

testApp("the chosen theme is part of each page, also without scripts and on errors", async (test) => {
  const ada = await test.signUp("Ada");
  const page = async (path: string) => await (await test.send(path, { cookie: ada.cookie })).text();
  assert.match(await page("/portal"), /<html lang="en" ?>.*theme-color" content="#121311" media=/s);
  const saved = await test.send("/portal/account/preferences", {
    cookie: ada.cookie,
    form: { timezone: "", locale: "", theme: "dark" },
    headers: { "hx-request": "true" },
  });
  // The whole page, as htmx leaves the root element as it is.
  assert.equal(saved.headers.get("hx-redirect"), "/portal/account?done=preferences");
  for (const path of ["/portal", "/portal/account", "/portal/nothing", "/portal/account/security"]) {
    const html = await page(path);
    assert.match(html, /<html lang="en" data-theme="dark">/, path);
    assert.match(
      html,
      /<meta name="color-scheme" content="dark"[ /]*><meta name="theme-color" content="#121311"/,
    );
    assert.doesNotMatch(html, /prefers-color-scheme/);
  }
  assert.match(await page("/portal/account"), /<option value="dark" selected[^>]*>Dark/);
  const rejected = await test.send("/portal/account/preferences", {
    cookie: ada.cookie,
    form: { timezone: "Mars", locale: "", theme: "light" },
  });
  assert.equal(rejected.status, 422);
  assert.match(await rejected.text(), /id="timezone-error"/);
});

testApp("lists come back with their last filters, until they are reset", async (test) => {
  const ada = await test.signUp("Ada");
  const grace = await test.signUp("Grace");
  const key = await createTestKey(test, ada, { name: "Staging" });
  await recordOne(test, key.fullKey, { quantity: 7 });
  const cookies = new Map<string, string>();
  const visit = async (path: string, { by = ada, referer, site = "same-origin" }: {
    by?: TestPerson;
    referer?: string;
    site?: string;
  } = {}) => {
    const cookie = [by.cookie, ...[...cookies].map(([name, value]) => `${name}=${value}`)].join("; ");
    const { html, response } = await open(test, path, {
      cookie,
      headers: {
        "sec-fetch-site": site,
        ...(referer && { referer: new URL(referer, "http://localhost:8000").href }),
      },
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = "", rest = ""] = /^([^=]+)=([^;]*)(.*)$/.exec(line) ?? [];
      assert.match(rest, /HttpOnly.*SameSite=Lax/);
      assert.doesNotMatch(rest, /Domain/);
      if (value === "") cookies.delete(name);
      else cookies.set(name, value);
    }
    return {
      range: /<a href="[^"]*range=([^"&]+)[^"]*" aria-current="true">/.exec(html)?.[1],
      isRecalled: html.includes(">Reset filters</a>"),
      html,
    };
  };
  const filtered = `/portal/usage?range=7d&apiKey=${key.id}&productPage=1&search=ada@example.com&cursor=x`;
  await visit(filtered, { site: "cross-site" });
  assert.equal(cookies.size, 0);
  await visit(filtered);
  assert.deepEqual([...cookies.keys()], ["last-portal-usage"]);
  assert.doesNotMatch(String([...cookies]), /search|cursor|Page/);
  const back = await visit("/portal/usage", { referer: "/portal" });
  assert.deepEqual([back.range, back.isRecalled], ["7d", true]);
  assert.ok(back.html.includes(key.id));
  // An address with filters wins, and one about something else changes nothing.
  assert.equal((await visit("/portal/usage?range=90d", { site: "none" })).range, "90d");
  await visit("/portal/usage?done=x");
  assert.equal((await visit("/portal/usage")).range, "7d");
  // Another person at the same browser, and other lists, have none.
  for (const [path, by] of [["/portal/usage", grace], ["/portal/api-keys", ada], ["/portal", ada]] as const) {
    assert.equal((await visit(path, { by })).isRecalled, false, path);
  }
  // Choosing the list without filters on itself, or the link, resets them.
  await visit("/portal/usage", { referer: "/portal/usage?range=7d" });
  assert.equal((await visit("/portal/usage")).isRecalled, false);
  await visit("/portal/api-keys?status=inactive&search=sk_secret");
  assert.equal((await visit("/portal/api-keys")).isRecalled, true);
  await visit("/portal/api-keys?reset=1");
  assert.equal(cookies.size, 0);
  await visit(`/portal/usage?range=7d&metric=${"m".repeat(600)}`);
  assert.equal(cookies.size, 0);
});

testApp("operators don't carry filters from one organization to another", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp("Ada");
  const { id } = await createTestKey(test, ada);
  const own = { cookie: mara.cookie, headers: { "sec-fetch-site": "same-origin" } };
  const base = `/operator/organizations/${ada.organizationId}`;
  for (
    const path of [`${base}/usage?range=7d&apiKey=${id}`, `/operator/usage?apiKey=${id}&organizationId=x`]
  ) {
    assert.deepEqual((await open(test, path, own)).response.headers.getSetCookie(), [], path);
  }
  const { response } = await open(
    test,
    "/operator/organizations?status=suspended&search=ada@example.com",
    own,
  );
  const [cookie = ""] = response.headers.getSetCookie();
  assert.match(
    cookie,
    /^last-operator-organizations=usr_[^;]*status=suspended; .*Path=\/operator\/organizations;/,
  );
  assert.doesNotMatch(cookie, /ada|search/);
});

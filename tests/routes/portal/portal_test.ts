// The pages over plain forms, as a browser without scripts sends them.
import assert from "node:assert/strict";
import { accountWords } from "../../support/portal/words/account.ts";
import {
  cookieOf,
  createTestKey,
  startTestApp,
  type TestApp,
  testApp,
  testPassword,
  type TestPerson,
} from "../../support/app/app.ts";
import { openPage } from "../../support/portal/pages.ts";
import { activeOrganization, noticesOf } from "../../support/people/portal_people.ts";
import { enterName } from "../../../routes/schemas/messages.ts";
import { apiKeyWords } from "../../support/portal/words/api_keys.ts";
import { inPage, signInWords } from "../../support/portal/words/sign_in.ts";

const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };
const page = (test: TestApp, path: string, person?: TestPerson) =>
  openPage(test, path, person === undefined ? {} : { person });
const submit = (test: TestApp, path: string, form: Record<string, string>, person?: TestPerson) =>
  openPage(test, path, { form, ...(person === undefined ? {} : { person }) });
const keyIn = (html: string) => /service_live_[0-9A-Za-z]{38}/.exec(html)?.[0];

testApp("sign-up by form signs in and leads to the overview; sign-out leads back", async (test) => {
  const form = { name: "Ada", email: "ada@example.com", password: testPassword, organizationName: "" };
  const signUp = await submit(test, "/sign-up", form);
  assert.equal(signUp.status, 303, signUp.html);
  assert.equal(signUp.location, "/portal");
  const cookie = cookieOf(signUp.answer);
  const keys = await test.send("/portal/api-keys", { cookie });
  assert.equal(activeOrganization(await keys.text()), "Ada’s organization");
  const out = await test.send("/sign-out", { cookie, form: {} });
  assert.equal(out.status, 303);
  const after = await test.send("/portal/api-keys", { cookie });
  assert.equal(after.status, 303);
  assert.equal(after.headers.get("location"), "/sign-in?return_to=%2Fportal%2Fapi-keys&expired=1");
});

testApp(
  "a form that fails keeps what was typed, names the field, and never gives a password back",
  async (test) => {
    await test.signUp();
    const form = {
      name: `<b>"Ada"</b>`,
      email: "person1@example.com",
      password: "short",
      organizationName: "Northwind",
    };
    const short = await submit(test, "/sign-up", form);
    assert.equal(short.status, 422);
    assert.match(short.html, /value="&lt;b&gt;&quot;Ada&quot;&lt;\/b&gt;"/);
    assert.match(short.html, /value="Northwind"/);
    assert.match(short.html, /Use 12 to 128 characters/);
    assert.doesNotMatch(short.html, /value="short"/);
    const taken = await submit(test, "/sign-up", { ...form, password: testPassword });
    assert.equal(taken.status, 409);
    assert(taken.html.includes(accountWords.emailTaken));
    const wrong = await submit(test, "/sign-in", {
      email: "person1@example.com",
      password: "wrong password",
    });
    assert.equal(wrong.status, 401);
    assert.match(wrong.html, /value="person1@example.com"/);
    assert.match(wrong.html, inPage(signInWords.wrongCredentials));
    assert.doesNotMatch(wrong.html, /wrong password/);
  },
);

testApp("sign-in goes back to the page asked for, and to no stranger's", async (test) => {
  const { email } = await test.signUp();
  const go = async (return_to: string) =>
    (await submit(test, "/sign-in", { email, password: testPassword, return_to })).location;
  assert.equal(await go("/portal/usage?range=7d"), "/portal/usage?range=7d");
  assert.equal(
    await go("https://app.example.com/a?b=c"),
    "/sign-in/continue?return_to=https%3A%2F%2Fapp.example.com%2Fa%3Fb%3Dc",
  );
  const tricks = [
    "//evil.example",
    "/\\evil.example",
    "https://evil.example",
    "https://app.example.com@evil.example/",
    "javascript:alert(1)",
    "https:evil.example",
    "/\t/evil.example",
    "",
    "data:text/html,x",
    "http://app.example.com",
    "/%2e%2e//evil.example",
    "https://u:p@app.example.com/",
  ];
  for (const trick of tricks) {
    const location = (await go(trick)) ?? "/refused";
    assert(
      new URL(location, "http://localhost:8000").origin === "http://localhost:8000",
      trick,
    );
  }
}, { ALLOWED_ORIGINS: "https://app.example.com" });

testApp("a new key is shown in the answer to its form, once, with the line to try it", async (test) => {
  const person = await test.signUp();
  const made = await submit(test, "/portal/api-keys/new", { name: "Production", expires: "90d" }, person);
  assert.equal(made.status, 201);
  assert.match(made.answer.headers.get("cache-control") ?? "", /no-store/);
  const key = keyIn(made.html);
  assert(key !== undefined);
  // To copy, and in the line to paste.
  assert.match(made.html, new RegExp(`<code[^>]*>${key}</code>`));
  assert(made.html.includes(`Bearer ${key}`));
  assert.match(made.html, inPage(apiKeyWords.shownOnce));
  assert(made.html.includes("curl http://localhost:8000/api/v1/usage"));
  assert.equal((await test.send("/api/v1/usage", { apiKey: key, json: usage })).status, 201);
  const list = await page(test, "/portal/api-keys", person);
  assert.equal(keyIn(list.html), undefined);
  assert.match(list.html, />1 active key · limit 100</);
  assert.match(list.html, /in 90 days|Feb 19, 2027/);
  const bad = await submit(test, "/portal/api-keys/new", { name: "  ", expires: "tomorrow" }, person);
  assert.equal(bad.status, 422);
  assert.match(bad.html, new RegExp(enterName));
});

testApp("revoking asks first, by a page; then the key is refused", async (test) => {
  const person = await test.signUp();
  const { id, fullKey } = await createTestKey(test, person);
  const ask = await page(test, `/portal/api-keys/${id}/revoke`, person);
  assert.match(ask.html, inPage(apiKeyWords.revocation));
  assert.equal((await test.send("/api/v1/usage", { apiKey: fullKey, json: usage })).status, 201);
  const done = await submit(test, `/portal/api-keys/${id}/revoke`, {}, person);
  assert.equal(done.status, 303);
  assert.equal((await test.send("/api/v1/usage", { apiKey: fullKey, json: usage })).status, 401);
  const list = await page(test, done.location ?? "", person);
  assert.match(list.html, inPage(apiKeyWords.revoked("Production")));
  assert.match(list.html, />Active <span class="count">0<.*>Inactive <span class="count">1</s);
  assert.match((await page(test, "/portal/api-keys?status=inactive", person)).html, /Revoked <time/);
});

testApp("the list of keys ignores an unknown key in its address", async (test) => {
  const person = await test.signUp();
  for (const id of ["key_7Kq2mXfB", "nope", ""]) {
    const list = await page(test, `/portal/api-keys?done=revoked&id=${id}`, person);
    assert.equal(list.status, 200, id);
    assert.deepEqual(noticesOf(list.html), []);
  }
});

testApp("renaming and rotating work by forms", async (test) => {
  const person = await test.signUp();
  const { id, fullKey } = await createTestKey(test, person);
  const rename = await submit(test, `/portal/api-keys/${id}/edit`, { name: "Staging" }, person);
  assert.equal(rename.status, 303);
  const renamed = await page(test, rename.location ?? "", person);
  assert.match(renamed.html, inPage(apiKeyWords.changed("Staging")));
  assert.equal((await submit(test, `/portal/api-keys/${id}/edit`, { name: "" }, person)).status, 422);
  const rotated = await submit(test, `/portal/api-keys/${id}/rotate`, { expireOld: "24h" }, person);
  assert.equal(rotated.status, 201);
  const next = keyIn(rotated.html) ?? "";
  for (const apiKey of [fullKey, next]) {
    assert.equal((await test.send("/api/v1/usage", { apiKey, json: usage })).status, 201);
  }
  assert.equal(
    (await submit(test, `/portal/api-keys/${id}/rotate`, { expireOld: "never" }, person)).status,
    422,
  );
});

testApp("the usage page greets a first visitor, then counts", async (test) => {
  const person = await test.signUp();
  const { fullKey } = await createTestKey(test, person);
  assert.match((await page(test, "/portal/usage", person)).html, /curl /);
  for (const quantity of [1200, 34.5]) {
    await test.send("/api/v1/usage", { apiKey: fullKey, json: { ...usage, quantity } });
  }
  await test.send("/api/v1/usage", { apiKey: fullKey, json: { ...usage, metric: "bytes", quantity: 7 } });
  const { html } = await page(test, "/portal/usage", person);
  assert.match(html, /1,234\.5/);
  assert.match(html, /November 2026 so far, in UTC/);
  assert.match(html, /<svg[^>]*role="img"/);
  for (const range of ["24h", "7d", "month", "last-month", "90d", "nonsense"]) {
    assert.equal(
      (await page(test, `/portal/usage?range=${range}&metric=bytes&apiKey=nothing`, person)).status,
      200,
    );
  }
  const stranger = await test.signUp();
  assert.doesNotMatch((await page(test, "/portal/usage", stranger)).html, /1,234/);
});

testApp(
  "without a session every page of the portal leads to sign-in; htmx is told to load it whole",
  async (test) => {
    const paths = ["/portal", "/portal/api-keys", "/portal/usage", "/portal/api-keys/key_1/revoke"];
    for (const path of paths) {
      const { status, location } = await page(test, path);
      assert.equal(status, 303, path);
      assert.equal(location, `/sign-in?return_to=${encodeURIComponent(path)}`);
      const boosted = await test.send(path, { headers: { "hx-request": "true" } });
      assert.equal(boosted.headers.get("hx-redirect"), `${location}&expired=1`);
    }
  },
);

testApp("an expired session says so, and signing in leads back to the page of the form", async (test) => {
  const { email } = await test.signUp();
  const cookie = "access_token=expired";
  const opened = await test.send("/portal/usage?range=7d", { cookie });
  const back = "/sign-in?return_to=%2Fportal%2Fusage%3Frange%3D7d&expired=1";
  assert.equal(opened.headers.get("location"), back);
  const signIn = await page(test, back);
  assert.match(signIn.html, /role="alert".*?Your session has expired/);
  assert.match(signIn.html, /name="return_to" value="\/portal\/usage\?range=7d"/);
  const base = test.config.baseUrl.origin;
  const sendForm = async (headers: Record<string, string>) => {
    const sent = await test.send("/portal/members/mem_1/remove", { form: {}, cookie, headers });
    return new URL(sent.headers.get("location") ?? sent.headers.get("hx-redirect") ?? "", base);
  };
  const form = "/portal/members/mem_1/remove?x=1";
  for (
    const headers of [
      { referer: `${base}${form}&done=sent` },
      { "hx-request": "true", "hx-current-url": `${base}${form}`, "referer": `${base}/portal` },
    ]
  ) {
    const { pathname, searchParams } = await sendForm(headers);
    assert.deepEqual([pathname, searchParams.get("expired")], ["/sign-in", "1"]);
    const target = searchParams.get("return_to") ?? "";
    assert.equal(target, form);
    const signedIn = await submit(test, "/sign-in", { email, password: testPassword, return_to: target });
    assert.equal(signedIn.location, form);
  }
  const { location } = await submit(test, "/portal/members", {});
  for (const referer of ["https://evil.example/portal/x", `${base}/sign-in`, "nonsense"]) {
    const target = await sendForm({ referer });
    assert.equal(target.pathname + target.search, location, referer);
  }
});

testApp("signed in, the sign-in page leads on; closed sign-up says so", async (test) => {
  assert((await page(test, "/sign-up")).html.includes(accountWords.signUpClosed));
  assert.equal(
    (await submit(test, "/sign-up", { name: "A", email: "a@b.example", password: testPassword })).status,
    403,
  );
}, { SIGN_UP: "closed" });

testApp("assets are cached for ever under an address of their content", async (test) => {
  const { html } = await page(test, "/sign-in");
  const paths = [...html.matchAll(/(?:href|src)="(\/static\/[^"]+)"/g)].map(([, path = ""]) => path);
  assert(paths.length >= 3);
  for (const path of paths) {
    const response = await test.send(path);
    assert.equal(response.status, 200, path);
    assert.match(response.headers.get("cache-control") ?? "", /immutable/);
    await response.body?.cancel();
    const again = await test.send(path, { headers: { "if-none-match": response.headers.get("etag") ?? "" } });
    assert.equal(again.status, 304);
  }
});

Deno.test("signing out of the portal over https clears the browser's cache, and no cookies or storage", async () => {
  for (
    const [baseUrl, cleared] of [["https://auth.example.com", '"cache"'], [
      "http://localhost:8000",
      null,
    ]] as const
  ) {
    const test = await startTestApp({ BASE_URL: baseUrl });
    try {
      const ada = await test.signUp();
      const response = await test.send("/sign-out", { form: {}, cookie: ada.cookie });
      assert.equal(response.status, 303);
      assert.equal(response.headers.get("clear-site-data"), cleared);
      const leaving = await test.send("/portal/access?return_to=/portal", {
        form: { act: "sign-out" },
        cookie: (await test.signUp()).cookie,
      });
      assert.equal(leaving.headers.get("clear-site-data"), cleared);
      const byJson = await test.send("/api/auth/sign-out", { method: "POST", cookie: ada.cookie });
      assert.equal(byJson.headers.get("clear-site-data"), null);
    } finally {
      await test.dispose();
    }
  }
});

// The portal over plain forms, as a browser without scripts sends them: signing up and out, keys, usage, expired sessions, assets.
import assert from "node:assert/strict";
import { enterName } from "../../../routes/schemas/messages.ts";
import { cookieOf, createTestKey, startTestApp, testApp, testPassword } from "../../support/app/app.ts";
import { assertRows, sendRow } from "../../support/app/rows.ts";
import { activeOrganization, noticesOf } from "../../support/people/portal_people.ts";
import { apiKeyWords } from "../../support/portal/words/api_keys.ts";
import { signInWords } from "../../support/portal/words/sign_in.ts";

const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };
const keyIn = (html: string) => /service_live_[0-9A-Za-z]{38}/.exec(html)?.[0];

testApp("sign-up by form opens the overview, and sign-out ends the session", async (test) => {
  const form = { name: "Ada", email: "ada@example.com", password: testPassword, organizationName: "" };
  const { answer } = await assertRows(test, {}, [["POST /sign-up", form, "303 /portal"]]);
  const by = { cookie: cookieOf(answer) };
  const { html } = await assertRows(test, by, [["GET /portal/api-keys", null, 200]]);
  assert.equal(activeOrganization(html), "Ada’s organization");
  await assertRows(test, by, [
    ["POST /sign-out", null, 303],
    ["GET /portal/api-keys", null, "303 /sign-in?return_to=%2Fportal%2Fapi-keys&expired=1"],
  ]);
});

testApp("a rejected form keeps what was typed, names the field, and hides the password", async (test) => {
  const { email } = await test.signUp();
  const form = { name: `<b>"Ada"</b>`, email, password: "short", organizationName: "Northwind" };
  await assertRows(test, {}, [
    ["POST /sign-up", form, "422 password", {
      shows: [
        'value="&lt;b&gt;&quot;Ada&quot;&lt;/b&gt;"',
        'value="Northwind"',
        "Use 12 to 128 characters",
      ],
      hides: ['value="short"'],
    }],
    ["POST /sign-up", { ...form, password: testPassword }, 409, {
      shows: ["An account with this email address already exists"],
    }],
    ["POST /sign-in", { email, password: "wrong password" }, 401, {
      shows: [`value="${email}"`, signInWords.wrongCredentials],
      hides: ["wrong password"],
    }],
  ]);
});

testApp("a new key is shown once, in the response to its form, with a command to try it", async (test) => {
  const person = await test.signUp();
  const form = { name: "Production", expires: "90d" };
  const made = await sendRow(test, person, "POST /portal/api-keys/new", form);
  assert.equal(made.status, 201);
  assert.match(made.answer.headers.get("cache-control") ?? "", /no-store/);
  const key = keyIn(made.html);
  assert(key !== undefined);
  // To copy, and in the line to paste.
  assert.match(made.html, new RegExp(`<code[^>]*>${key}</code>`));
  assert(made.html.includes(`Bearer ${key}`));
  assert(made.html.includes(apiKeyWords.shownOnce.replaceAll("'", "&#39;")));
  assert(made.html.includes("curl http://localhost:8000/api/v1/usage"));
  assert.equal((await test.send("/api/v1/usage", { apiKey: key, json: usage })).status, 201);
  await assertRows(test, person, [
    ["GET /portal/api-keys", null, 200, {
      shows: [">1 active key · limit 100<", /in 90 days|Feb 19, 2027/],
      hides: [key],
    }],
    ["POST /portal/api-keys/new", { name: "  ", expires: "tomorrow" }, 422, { shows: [enterName] }],
  ]);
});

testApp("keys are renamed, rotated and revoked by forms", async (test) => {
  const person = await test.signUp();
  const { id, fullKey } = await createTestKey(test, person);
  const path = `/portal/api-keys/${id}`;
  const records = async (apiKey: string) =>
    (await test.send("/api/v1/usage", { apiKey, json: usage })).status === 201;
  const renamed = await assertRows(test, person, [
    [`POST ${path}/edit`, { name: "" }, 422],
    [`POST ${path}/edit`, { name: "Staging" }, 303],
  ]);
  await assertRows(test, person, [
    [`GET ${renamed.location}`, null, 200, { shows: [apiKeyWords.changed("Staging")] }],
    [`POST ${path}/rotate`, { expireOld: "never" }, 422],
  ]);
  const rotated = await assertRows(test, person, [[`POST ${path}/rotate`, { expireOld: "24h" }, 201]]);
  for (const apiKey of [fullKey, keyIn(rotated.html) ?? ""]) assert.equal(await records(apiKey), true);
  // The page that asks first revokes nothing.
  const other = await createTestKey(test, person, { name: "Old" });
  const revoke = `/portal/api-keys/${other.id}/revoke`;
  await assertRows(test, person, [[`GET ${revoke}`, null, 200, { shows: [apiKeyWords.revocation] }]]);
  assert.equal(await records(other.fullKey), true);
  const revoked = await assertRows(test, person, [[`POST ${revoke}`, null, 303]]);
  assert.equal(await records(other.fullKey), false);
  await assertRows(test, person, [
    [`GET ${revoked.location}`, null, 200, {
      shows: [
        apiKeyWords.revoked("Old"),
        />Active <span class="count">1<.*>Inactive <span class="count">1</s,
      ],
    }],
    ["GET /portal/api-keys?status=inactive", null, 200, { shows: ["Revoked <time"] }],
  ]);
});

testApp("the list of keys ignores an unknown key in its address", async (test) => {
  const person = await test.signUp();
  for (const id of ["key_7Kq2mXfB", "nope", ""]) {
    const list = await sendRow(test, person, `GET /portal/api-keys?done=revoked&id=${id}`);
    assert.equal(list.status, 200, id);
    assert.deepEqual(noticesOf(list.html), []);
  }
});

testApp("without a session, pages of the portal redirect to sign-in, also within htmx", async (test) => {
  for (const path of ["/portal", "/portal/api-keys", "/portal/usage", "/portal/api-keys/key_1/revoke"]) {
    const location = `/sign-in?return_to=${encodeURIComponent(path)}`;
    await assertRows(test, {}, [[`GET ${path}`, null, `303 ${location}`]]);
    const boosted = await test.send(path, { headers: { "hx-request": "true" } });
    assert.equal(boosted.headers.get("hx-redirect"), `${location}&expired=1`);
  }
});

testApp("an expired session says so, and signing in returns to the page of the form", async (test) => {
  const { email } = await test.signUp();
  const cookie = "access_token=expired";
  const back = "/sign-in?return_to=%2Fportal%2Fusage%3Frange%3D7d&expired=1";
  await assertRows(test, { cookie }, [
    ["GET /portal/usage?range=7d", null, `303 ${back}`],
    [`GET ${back}`, null, 200, {
      shows: [
        /role="alert".*?Your session has expired/,
        'name="return_to" value="/portal/usage?range=7d"',
      ],
    }],
  ]);
  const base = test.config.baseUrl.origin;
  const form = "/portal/members/mem_1/remove?x=1";
  const sendForm = async (headers: Record<string, string>) => {
    const sent = await test.send("/portal/members/mem_1/remove", { form: {}, cookie, headers });
    return new URL(sent.headers.get("location") ?? sent.headers.get("hx-redirect") ?? "", base);
  };
  for (
    const headers of [
      { referer: `${base}${form}&done=sent` },
      { "hx-request": "true", "hx-current-url": `${base}${form}`, "referer": `${base}/portal` },
    ]
  ) {
    const { pathname, searchParams } = await sendForm(headers);
    assert.deepEqual([pathname, searchParams.get("expired")], ["/sign-in", "1"]);
    const return_to = searchParams.get("return_to");
    assert.equal(return_to, form);
    await assertRows(test, {}, [
      ["POST /sign-in", { email, password: testPassword, return_to }, `303 ${form}`],
    ]);
  }
  const { location } = await sendRow(test, {}, "POST /portal/members");
  for (const referer of ["https://evil.example/portal/x", `${base}/sign-in`, "nonsense"]) {
    const target = await sendForm({ referer });
    assert.equal(target.pathname + target.search, location, referer);
  }
});

testApp("assets are cached forever under an address of their content", async (test) => {
  const { html } = await sendRow(test, {}, "GET /sign-in");
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

for (
  const [baseUrl, cleared] of [["https://auth.example.com", '"cache"'], [
    "http://localhost:8000",
    null,
  ]] as const
) {
  Deno.test(`signing out by a form at ${baseUrl} clears the browser's cache: ${cleared}`, async () => {
    const test = await startTestApp({ BASE_URL: baseUrl });
    try {
      const [ada, grace] = [await test.signUp(), await test.signUp()];
      const forms = [
        await sendRow(test, ada, "POST /sign-out"),
        await sendRow(test, grace, "POST /portal/access?return_to=/portal", { act: "sign-out" }),
      ];
      for (const { answer } of forms) assert.equal(answer.headers.get("clear-site-data"), cleared);
      const byJson = await sendRow(test, ada, "POST /api/auth/sign-out");
      assert.equal(byJson.answer.headers.get("clear-site-data"), null);
    } finally {
      await test.dispose();
    }
  });
}

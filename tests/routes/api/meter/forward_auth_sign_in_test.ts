// Forward authentication with a session: which page loads are redirected to the sign-in page, and where they return to.
import assert from "node:assert/strict";
import { assertError, testApp } from "../../../support/app/app.ts";
import { ask, identityNames, pageLoad } from "../../../support/network/forward.ts";
import { inPage, signInWords } from "../../../support/portal/words/sign_in.ts";

const real = {
  BASE_URL: "https://auth.example.com",
  COOKIE_DOMAIN: ".example.com",
  ALLOWED_ORIGINS: "https://*.example.com,https://app.other.example",
} as const;
const page = "https://app.example.com/reports/7?tab=a&b=%2F";
const signInFor = (address: string) => `${real.BASE_URL}/sign-in?return_to=${encodeURIComponent(address)}`;

testApp("a browser that loads a page is redirected to sign in, and back", async (test) => {
  const response = await ask(test, "", { headers: pageLoad(page) });
  assert.equal(response.status, 302);
  assert.equal(response.headers.get("location"), signInFor(page));
  for (const name of identityNames) assert.equal(response.headers.get(name), null);
  const isSent = async (headers: Record<string, string>, address = page) => {
    const sent = await ask(test, "", { headers });
    assert.equal(sent.headers.get("location"), signInFor(address), JSON.stringify(headers));
  };
  await isSent(pageLoad(page, { "x-forwarded-method": "HEAD" }));
  await isSent(pageLoad(page, { accept: "*/*", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" }));
  await isSent(pageLoad(page, { cookie: "access_token=stale" }));
  // Without X-Forwarded-Proto, the scheme is that of BASE_URL.
  const { "x-forwarded-proto": _scheme, ...rest } = pageLoad(page);
  await isSent(rest);
  // The service's own host may also be behind forward authentication.
  await isSent(pageLoad(`${real.BASE_URL}/own?x=1`), "/own?x=1");
}, real);

testApp("after signing in at the redirect address, the user returns to the page", async (test) => {
  const ada = await test.signUp();
  const sent = await ask(test, "", { headers: pageLoad(page) });
  const address = sent.headers.get("location")?.slice(real.BASE_URL.length) ?? "";
  assert.equal((await test.send(address)).status, 200);
  const back = await test.send(address, { cookie: ada.cookie });
  assert.equal(back.headers.get("location"), page);
  const through = await ask(test, "", { headers: pageLoad(page), cookie: ada.cookie });
  assert.equal(through.status, 200);
}, real);

testApp("nginx gets a 401 with the same address", async (test) => {
  const response = await ask(test, "?redirect=401", { headers: pageLoad(page) });
  assert.equal(response.headers.get("location"), signInFor(page));
  await assertError(response, 401, "unauthenticated");
  const script = await ask(test, "?redirect=401", { headers: pageLoad(page, { "sec-fetch-mode": "cors" }) });
  assert.equal(script.headers.get("location"), null);
  await assertError(script, 401, "unauthenticated");
}, real);

testApp("a page is returned to with every character that browsers leave unencoded", async (test) => {
  const app = "https://app.example.com";
  const printable = Array.from({ length: 94 }, (_, index) => String.fromCharCode(0x21 + index));
  const inPath = printable.filter((character) =>
    new URL(`${app}/a${character}b`).pathname === `/a${character}b`
  );
  const inQuery = printable.filter((character) => new URL(`${app}/?${character}`).search === `?${character}`);
  assert.ok(inQuery.includes("\\"));
  const path = `/a${inPath.join("")}b?c=${inQuery.join("")}`;
  const response = await ask(test, "", { headers: pageLoad(page, { "x-forwarded-uri": path }) });
  assert.equal(response.headers.get("location"), signInFor(app + path));
}, real);

testApp("an address that is too long to return to is shortened", async (test) => {
  const app = "https://app.example.com";
  for (
    const [path, back] of [
      [`/a?${"b&".repeat(900)}#c`, null],
      [`/dashboards/7?state=${"a".repeat(2_000)}`, "/dashboards/7"],
      [`/dashboards/7?state=${"ü".repeat(400)}`, "/dashboards/7"],
      [`/${"a".repeat(2_000)}?b=c`, "/"],
    ] as const
  ) {
    for (const query of ["", "?redirect=401"]) {
      const response = await ask(test, query, { headers: pageLoad(page, { "x-forwarded-uri": path }) });
      const given = response.headers.get("location");
      assert.equal(given, signInFor(`${app}${back ?? path}`), path.slice(0, 40));
    }
  }
  const other = pageLoad(page, {
    "x-forwarded-uri": `/${"a".repeat(2_000)}`,
    "x-forwarded-host": "evil.example",
  });
  assert.equal((await ask(test, "", { headers: other })).headers.get("location"), null);
}, real);

testApp(
  "requests other than page loads, and disallowed addresses, get a 401 without an address",
  async (test) => {
    const refused: Record<string, string>[] = [
      {},
      { accept: "text/html" },
      { "x-forwarded-method": "GET", accept: "text/html" },
      ...["POST", "get", "DELETE", "GET, GET", ""].map((method) =>
        pageLoad(page, { "x-forwarded-method": method })
      ),
      pageLoad(page, { accept: "*/*" }),
      pageLoad(page, { accept: "application/json" }),
      pageLoad(page, { "sec-fetch-mode": "cors" }),
      pageLoad(page, { "sec-fetch-mode": "websocket" }),
      pageLoad(page, { "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" }),
      pageLoad(page, { upgrade: "websocket" }),
      pageLoad(page, { "x-requested-with": "XMLHttpRequest" }),
      pageLoad(page, { "hx-request": "true" }),
      pageLoad("https://evil.example/"),
      pageLoad("https://a.b.example.com/"),
      pageLoad("https://app.example.com:8443/"),
      // These would not get the cookie and would be redirected in a loop: another domain, and http.
      pageLoad("https://app.other.example/"),
      pageLoad("http://app.example.com/"),
      ...["evil.example", "app.example.com@evil.example", "evil.example/", "evil.example\\", "", "a b", "a,b"]
        .map((host) => pageLoad(page, { "x-forwarded-host": host })),
      ...["javascript", "https:", "https://evil.example/?", "https, http"]
        .map((scheme) => pageLoad(page, { "x-forwarded-proto": scheme })),
      ...["", "@evil.example/", ".evil.example/", ":443@evil.example/", "\\evil", "/\t/evil"]
        .map((path) => pageLoad(page, { "x-forwarded-uri": path })),
    ];
    for (const headers of refused) {
      const response = await ask(test, "", { headers });
      assert.equal(response.headers.get("location"), null, JSON.stringify(headers));
      await assertError(response, 401, "unauthenticated");
    }
    // The path can't lead to another host.
    const slashes = await ask(test, "", {
      headers: pageLoad(page, { "x-forwarded-uri": "//evil.example/" }),
    });
    assert.equal(slashes.headers.get("location"), signInFor("https://app.example.com//evil.example/"));
  },
  { ...real, ALLOWED_ORIGINS: `${real.ALLOWED_ORIGINS},http://app.example.com` },
);

testApp("without a cookie domain, only pages of the service's own host are returned to", async (test) => {
  const sent = async (address: string) =>
    (await ask(test, "", { headers: pageLoad(address) })).headers.get("location");
  assert.equal(await sent("https://app.example.com/"), null);
  assert.equal(await sent("https://auth.example.com:8443/a"), signInFor("https://auth.example.com:8443/a"));
}, { BASE_URL: real.BASE_URL, ALLOWED_ORIGINS: "https://app.example.com,https://auth.example.com:8443" });

testApp("conflicting session cookies are denied without a redirect loop", async (test) => {
  const [ada, eve] = [await test.signUp(), await test.signUp()];
  const response = await ask(test, "", { cookie: `${ada.cookie}; ${eve.cookie}`, headers: pageLoad(page) });
  assert.equal(response.status, 302);
  const location = response.headers.get("location") ?? "";
  assert.equal(location, `${signInFor(page)}&conflict=1`);
  assert.ok(response.headers.getSetCookie().every((cookie) => cookie.startsWith("access_token=; Max-Age=0")));
  // For the requested address: browsers never request this one.
  const cleared = response.headers.getSetCookie().join("\n");
  for (const path of ["/", "/reports", "/reports/", "/reports/7"]) {
    assert.ok(cleared.includes(`; Domain=.example.com; Path=${path};`), `${path} in ${cleared}`);
  }
  assert.doesNotMatch(cleared, /Path=\/api|\?/);
  // If the cookie of one host remains, the sign-in page shows the form instead of redirecting back.
  const path = location.slice(real.BASE_URL.length);
  const asked = await test.send(path, { cookie: ada.cookie });
  assert.equal(asked.status, 200);
  const html = await asked.text();
  assert.match(html, inPage(signInWords.conflict));
  assert.ok(html.includes(`name="return_to" value="${page.replaceAll("&", "&amp;")}"`), html);
  assert.equal((await test.send(path.replace("&conflict=1", ""), { cookie: ada.cookie })).status, 302);
  // Other requests get the error.
  const fetched = await ask(test, "", { cookie: `${ada.cookie}; ${eve.cookie}` });
  assert.ok(fetched.headers.getSetCookie().length > 0);
  await assertError(fetched, 401, "unauthenticated");
}, real);

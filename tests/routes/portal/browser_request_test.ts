// The page that shows an owner what their own browser sent, compared to the settings, and never a secret. Only operators see
// what it says about proxies.
import assert from "node:assert/strict";
import { errorTitles } from "../../../routes/portal/errors.ts";
import { type SendOptions, type TestApp, testApp } from "../../support/app/app.ts";
import { makeOperator } from "../../support/operators/operators.ts";
import { joinedPerson } from "../../support/people/people.ts";
import { inPage } from "../../support/portal/words/sign_in.ts";
import { verdictLabels } from "../../../views/browser_request.tsx";

const { ok, wrong } = verdictLabels;

const settings = {
  BASE_URL: "https://auth.example.com",
  COOKIE_DOMAIN: ".example.com",
  TRUSTED_PROXIES: "10.0.0.0/24",
};
/** Headers through a correctly configured proxy. */
const good = {
  "host": "auth.example.com",
  "x-forwarded-for": "6.6.6.6, 203.0.113.9, 10.0.0.3",
  "x-forwarded-proto": "https",
  "user-agent": "Mozilla/5.0 Test",
};

/** @returns Each fact with the received value and the verdict. */
async function facts(test: TestApp, options: SendOptions): Promise<Record<string, [string, string]>> {
  const response = await test.send("/portal/check", { peerAddress: "10.0.0.2", ...options });
  const html = (await response.text()).replaceAll(/ +>/g, ">");
  assert.equal(response.status, 200, html.slice(0, 300));
  assert(!html.includes((options.cookie ?? "=").split("=")[1] ?? ""), "a secret is shown");
  const text = (part = "") => part.replaceAll(/<[^>]*>/g, "").replaceAll(/\s+/g, " ").trim();
  return Object.fromEntries(
    [...html.matchAll(/<tr role="row">(.*?)<\/tr>/gs)].slice(1).map(([, row = ""]) => {
      const cells = [...row.matchAll(/<td\b[^>]*>(.*?)<\/td>/gs)].map(([, cell = ""]) => cell);
      const about = text(/<div class="name">(.*?)<\/div>/s.exec(cells[0] ?? "")?.[1]);
      return [about, [text(cells[1]), text(cells[3])]];
    }),
  );
}

testApp("shows an operator what arrived behind the proxy, and which address counts", async (test) => {
  const ada = await test.signUp();
  await makeOperator(test, ada);
  assert.deepEqual(await facts(test, { cookie: ada.cookie, headers: good }), {
    "Connection from": ["10.0.0.2", ok],
    "X-Forwarded-For": ["6.6.6.6, 203.0.113.9, 10.0.0.3", ok],
    "Your address": ["203.0.113.9", ok],
    "X-Forwarded-Proto": ["https", ok],
    "Host": ["auth.example.com", ok],
    "access_token cookies": ["1", ok],
    "User-Agent": ["Mozilla/5.0 Test", ok],
  });
}, settings);

/** How a request can arrive, and what anyone may see of its address. */
const arrivals: readonly (readonly [about: string, options: SendOptions, address: string | undefined])[] = [
  ["a trusted proxy", { headers: good }, "203.0.113.9"],
  ["a trusted proxy without the header", { headers: { host: good.host } }, undefined],
  [
    "a trusted proxy behind a trusted proxy",
    { headers: { ...good, "x-forwarded-for": "10.0.0.3" } },
    undefined,
  ],
  ["an unknown proxy", { headers: good, peerAddress: "10.9.0.1" }, undefined],
  [
    "an unknown proxy without the header",
    { headers: { host: good.host }, peerAddress: "10.9.0.1" },
    undefined,
  ],
];

testApp("shows no one but operators the proxy's address, or whether it is trusted", async (test) => {
  const ada = await test.signUp();
  const bob = await test.signUp("Bob");
  // An operator who only used the password.
  await makeOperator(test, bob, { secondFactorAt: null });
  for (const { cookie } of [ada, bob]) {
    for (const [about, options, address] of arrivals) {
      for (const more of [{}, { form: {} }]) {
        const response = await test.send("/portal/check", {
          peerAddress: "10.0.0.2",
          cookie,
          ...options,
          ...more,
        });
        const html = await response.text();
        assert.equal(response.status, 200, about);
        assert.doesNotMatch(html, /\b10\.[09]\.0\.\d|TRUSTED_PROXIES|X-Forwarded|trusted proxy/, about);
      }
      const found = await facts(test, { cookie, ...options });
      assert.equal(found["Your address"]?.[0], address, about);
      assert.deepEqual(Object.keys(found).slice(-3), ["Host", "access_token cookies", "User-Agent"]);
    }
  }
}, settings);

testApp("shows everyone their own address without a proxy", async (test) => {
  const ada = await test.signUp();
  const found = await facts(test, { cookie: ada.cookie, peerAddress: "192.168.1.20" });
  assert.deepEqual(found["Your address"], ["192.168.1.20", ok]);
});

testApp("reports each mismatch by itself", async (test) => {
  const ada = await test.signUp();
  await makeOperator(test, ada);
  const misfits = async (options: SendOptions & { without?: string }) => {
    const headers: Record<string, string> = { ...good, ...options.headers };
    if (options.without !== undefined) delete headers[options.without];
    const found = await facts(test, { cookie: ada.cookie, ...options, headers });
    return Object.entries(found).filter(([, [, fits]]) => fits !== ok).map(([about]) => about);
  };
  assert.deepEqual(await misfits({ without: "x-forwarded-for" }), ["X-Forwarded-For", "Your address"]);
  assert.deepEqual(await misfits({ peerAddress: "10.9.0.1" }), ["Connection from", "X-Forwarded-For"]);
  assert.deepEqual(await misfits({ peerAddress: "10.9.0.1", without: "x-forwarded-for" }), [
    "Connection from",
  ]);
  assert.deepEqual(await misfits({ headers: { "x-forwarded-for": "10.0.0.7" } }), ["Your address"]);
  assert.deepEqual(await misfits({ headers: { "x-forwarded-proto": "http" } }), ["X-Forwarded-Proto"]);
  assert.deepEqual(await misfits({ without: "x-forwarded-proto" }), []);
  assert.deepEqual(await misfits({ headers: { host: "127.0.0.1:8000" } }), ["Host"]);
  assert.deepEqual(await misfits({ headers: { host: "auth.example.com:80" } }), ["Host"]);
  assert.deepEqual(await misfits({ headers: { host: "auth.example.com.evil.example" } }), ["Host"]);
  // Some proxies always add the port.
  assert.deepEqual(await misfits({ headers: { host: "Auth.example.com:443" } }), []);
  assert.deepEqual(await misfits({ without: "user-agent" }), ["User-Agent"]);
  const twice = `${ada.cookie}; access_token=planted`;
  assert.deepEqual(await misfits({ cookie: twice }), ["access_token cookies"]);
}, settings);

testApp("a test form shows the headers of forms, even when all other forms are rejected", async (test) => {
  const ada = await test.signUp();
  const form = async (headers: Record<string, string>) => {
    const found = await facts(test, { cookie: ada.cookie, form: {}, headers: { ...good, ...headers } });
    return [found["Origin of the form"], found["Sec-Fetch-Site of the form"]];
  };
  const own = "https://auth.example.com";
  assert.deepEqual(await form({ "sec-fetch-site": "same-origin" }), [[own, ok], [
    "same-origin",
    ok,
  ]]);
  assert.deepEqual(await form({}), [[own, ok], ["Nothing", ok]]);
  assert.deepEqual(await form({ "origin": "https://app.example.com", "sec-fetch-site": "same-site" }), [
    ["https://app.example.com", wrong],
    ["same-site", wrong],
  ]);
  const response = await test.app.request("/portal/check", {
    method: "POST",
    headers: { cookie: ada.cookie, ...good },
  });
  assert.equal(response.status, 200);
  const lost = await response.text();
  assert.equal(lost.split(`>${wrong}<`).length - 1, 2);
  // Only this exact path is exempt.
  for (const path of ["/portal/check/", "/portal/organization", "/portal/switch"]) {
    const headers = { origin: "https://app.example.com" };
    const refused = await test.send(path, { cookie: ada.cookie, form: {}, headers });
    assert(refused.status === 403 || refused.status === 404, `${path}: ${refused.status}`);
  }
}, settings);

testApp("rejects MEMBERs, ADMINs and strangers, shows them no link, and cuts long values", async (test) => {
  const ada = await test.signUp();
  for (const role of ["MEMBER", "ADMIN"] as const) {
    const { cookie } = await joinedPerson(test, ada, role);
    for (const more of [{}, { form: {} }]) {
      const refused = await test.send("/portal/check", { cookie, ...more });
      assert.equal(refused.status, 403);
      assert.match(await refused.text(), inPage(`<h1>${errorTitles.forbidden}</h1>`));
    }
    const page = await (await test.send("/portal/organization", { cookie })).text();
    assert.doesNotMatch(page, /portal\/check/);
  }
  assert.match(
    await (await test.send("/portal/organization", { cookie: ada.cookie })).text(),
    /href="\/portal\/check"/,
  );
  const away = await test.send("/portal/check");
  assert.equal(away.headers.get("location"), "/sign-in?return_to=%2Fportal%2Fcheck");
  const found = await facts(test, {
    cookie: ada.cookie,
    headers: { "user-agent": `<b>${"x".repeat(500)}` },
  });
  assert.equal(found["User-Agent"]?.[0], `&lt;b&gt;${"x".repeat(197)}…`);
});

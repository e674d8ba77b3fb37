// `return_to` on every page that accepts it, with every trick: no response leads elsewhere, in its Location or its page.
import assert from "node:assert/strict";
import { recentAuthenticationMs } from "../../../domain/limits.ts";
import { cookieOf, type SendOptions, type TestApp, testApp, testPassword } from "../../support/app/app.ts";
import { signInAgain } from "../../support/people/people.ts";
import { badReturns, goodReturns, returnToSettings } from "../../support/people/return_to.ts";
import { addPasskey, codeOf, signInOptions, twoStepPerson } from "../../support/people/second_step.ts";

const home = "/portal";
const proof = "/portal/confirm-password";
const tricks = badReturns.map((text) => [text, null] as const);
const all: readonly (readonly [text: string, target: string | null])[] = [
  ...Object.entries(goodReturns),
  ...tricks,
];
/** One of each kind, for requests that cost a hash. */
const some = all.filter(([text]) =>
  [
    "/portal/usage?range=7d",
    "HTTPS://AUTH.EXAMPLE.COM:443/portal",
    "https://App.Example.COM:443/a",
    "https://one.products.example.com/x",
    "//evil.example",
    "/\\evil.example",
    "/.//evil.example",
    "javascript:alert(1)",
    "https:evil.example",
    "https://evil.example",
    "https://user@app.example.com/",
    "https://a.b.products.example.com/",
  ].includes(text)
);

let address = 0;
const send = async (test: TestApp, path: string, options: SendOptions = {}) => {
  address++;
  const peerAddress = `10.9.${address >> 8}.${address & 255}`;
  const response = await test.send(path, { peerAddress, ...options });
  return { answer: response, location: response.headers.get("location"), html: await response.text() };
};
const query = (path: string, text: string) => `${path}?return_to=${encodeURIComponent(text)}`;
/** @returns The return address of the page's forms, which is the same in all. */
function carried(html: string): string | null {
  const found = [...html.matchAll(/name="return_to" value="([^"]*)"/g)].map(([, value = ""]) =>
    value.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&lt;", "<").replaceAll("&gt;", ">")
      .replaceAll("&amp;", "&")
  );
  assert.ok(new Set(found).size <= 1, found.join(" "));
  return found[0] ?? null;
}
/** @returns Where a form redirects after signing in: to other origins only from a page of ours. */
const led = (target: string | null) =>
  target === null || target.startsWith("/") ? target ?? home : query("/sign-in/continue", target);

testApp(
  "GET /sign-in and /sign-up keep allowed return addresses, and redirect signed-in people there",
  async (test) => {
    const { cookie } = await test.signUp();
    for (const path of ["/sign-in", "/sign-up"]) {
      for (const [text, target] of all) {
        const page = await send(test, query(path, text));
        assert.equal(page.answer.status, 200);
        assert.equal(carried(page.html), target, `${path} ${JSON.stringify(text)}`);
        const other = path === "/sign-in" ? "/sign-up" : "/sign-in";
        const link = target === null ? other : query(other, target);
        assert.ok(page.html.includes(`href="${link.replaceAll("'", "&#39;")}"`), link);
        const away = await send(test, query(path, text), { cookie });
        assert.equal(away.answer.status, 302);
        assert.equal(away.location, target ?? home, `${path} ${JSON.stringify(text)}`);
      }
    }
  },
  returnToSettings,
);

testApp(
  "POST /sign-in redirects to allowed addresses only, and a rejected form keeps no others",
  async (test) => {
    const { email } = await test.signUp();
    for (const [text, target] of some) {
      const form = { email, password: testPassword, return_to: text };
      const done = await send(test, "/sign-in", { form });
      assert.equal(done.answer.status, 303);
      assert.equal(done.location, led(target), JSON.stringify(text));
    }
    for (const [text, target] of some.slice(-4)) {
      const form = { email: "nobody@example.com", password: testPassword, return_to: text };
      assert.equal(carried((await send(test, "/sign-in", { form })).html), target, JSON.stringify(text));
    }
    // Texts that browsers never send in a hidden field are rejected entirely.
    const odd = await send(test, "/sign-in", { form: { email, password: testPassword, return_to: "/\t/x" } });
    assert.equal(odd.answer.status, 422);
    assert.equal(carried(odd.html), null);
    // Without a password, the form is rejected before hashing.
    for (const [text, target] of all) {
      const refused = await send(test, "/sign-up", { form: { name: "N", email: "x", return_to: text } });
      assert.equal(refused.answer.status, 422);
      assert.equal(carried(refused.html), target, JSON.stringify(text));
    }
    const form = { name: "N", email: "new@example.com", password: testPassword };
    const made = await send(test, "/sign-up", { form: { ...form, return_to: "https://app.example.com/" } });
    assert.equal(made.location, query("/sign-in/continue", "https://app.example.com/"));
  },
  returnToSettings,
);

testApp("/sign-in/continue redirects signed-in people to allowed origins only", async (test) => {
  const { cookie } = await test.signUp();
  for (const [text, target] of all) {
    const label = JSON.stringify(text);
    const page = await send(test, query("/sign-in/continue", text), { cookie });
    const isOwn = target === null || target.startsWith("/");
    assert.equal(page.location, isOwn ? target ?? home : null, label);
    const refresh = /http-equiv="refresh" content="0; url=([^"]*)"/.exec(page.html)?.[1];
    assert.equal(refresh, isOwn ? undefined : target?.replaceAll("&", "&amp;"), label);
    const nobody = await send(test, query("/sign-in/continue", text));
    assert.equal(nobody.location, target === null ? "/sign-in" : query("/sign-in", target), label);
  }
  const page = await send(test, query("/sign-in/continue", "https://app.example.com/a"), { cookie });
  assert.match(page.html, /<a [^>]*href="https:\/\/app\.example\.com\/a"[^>]*>/);
  // The page has the usual content security policy.
  assert.match(page.answer.headers.get("content-security-policy") ?? "", /form-action 'self';/);
}, returnToSettings);

testApp("the second step and passkeys redirect to allowed addresses only", async (test) => {
  const ada = await twoStepPerson(test);
  const begin = async (text: string) => {
    const form = { email: ada.email, password: testPassword, return_to: text };
    return await send(test, "/sign-in", { form });
  };
  for (const [text, target] of some.slice(0, 3).concat(some.slice(-3))) {
    const first = await begin(text);
    assert.equal(
      first.location,
      target === null ? "/sign-in/second-step" : query("/sign-in/second-step", target),
    );
    const cookie = cookieOf(first.answer);
    for (const [other, shown] of all) {
      const page = await send(test, query("/sign-in/second-step", other), { cookie });
      assert.equal(carried(page.html), shown, JSON.stringify(other));
    }
    const wrong = await send(test, "/sign-in/second-step", { cookie, form: { code: "x", return_to: text } });
    assert.equal(carried(wrong.html), target, JSON.stringify(text));
    const form = { code: codeOf(ada.secret, test.now()), return_to: text };
    const done = await send(test, "/sign-in/second-step", { cookie, form });
    assert.equal(done.location, led(target), JSON.stringify(text));
    test.advance(30_000);
  }
  for (const [text, target] of all) {
    for (const path of ["/sign-in/passkey", "/sign-in/second-step/passkey"]) {
      const refused = await send(test, path, { form: { response: "{}", return_to: text } });
      assert.equal(carried(refused.html), target, `${path} ${JSON.stringify(text)}`);
    }
    // No sign-in is pending: back to the start.
    const page = await send(test, query("/sign-in/second-step", text));
    assert.equal(page.location, target === null ? "/sign-in" : query("/sign-in", target));
  }
  const { cookie } = await test.signUp();
  const { passkey } = await addPasskey(test, cookie);
  for (const [text, target] of some) {
    const response = JSON.stringify(passkey.signIn(await signInOptions(test)));
    const done = await send(test, "/sign-in/passkey", { form: { response, return_to: text } });
    assert.equal(done.location, led(target), JSON.stringify(text));
  }
}, returnToSettings);

testApp("/portal/confirm-password redirects only to the portal", async (test) => {
  const { cookie, email } = await test.signUp();
  const away = (target: string | null) => target?.startsWith("/portal") ? target : "/portal/account";
  const others = [`${proof}?return_to=//evil.example`, "/portalx", "/sign-in", "/portal/%2e%2e/sign-out"];
  for (const [text, target] of [...all, ...others.map((text) => [text, null] as const)]) {
    const page = await send(test, query(proof, text), { cookie });
    assert.equal(page.location, away(target), JSON.stringify(text));
  }
  test.advance(recentAuthenticationMs + 1);
  for (const [text, target] of all) {
    const page = await send(test, query(proof, text), { cookie });
    // The first is the sidebar's, which returns to this page.
    assert.ok(page.html.includes(`name="return_to" value="${away(target).replaceAll("&", "&amp;")}"`), text);
  }
  for (const [text, target] of some) {
    const again = await signInAgain(test, email);
    const done = await send(test, proof, {
      cookie: again,
      form: { password: testPassword, return_to: text },
    });
    assert.equal(done.location, away(target), JSON.stringify(text));
  }
}, returnToSettings);

// People who sign in with a provider only: proof for applications needs the provider's word on when, and a required provider its session.
import assert from "node:assert/strict";
import { startTestApp } from "../../support/app/app.ts";
import { startIssuer } from "../../support/identity_providers/issuer.ts";
import {
  confirmPath,
  confirmWith,
  providerPerson,
  providerUrl,
} from "../../support/identity_providers/own_visits.ts";
import { addProvider } from "../../support/identity_providers/providers.ts";
import { newVisitor } from "../../support/identity_providers/visitor.ts";
import { addClient, answerOf, authorizeAddress, exchange, post } from "../../support/oauth/scene.ts";
import { confirmed } from "../../support/oauth/scene.ts";

const settings = { WEBHOOK_ALLOWED_HOSTS: "127.0.0.1" };

// deno-lint-ignore no-explicit-any -- each test knows what it asked for
const claimsOf = (token: string): any =>
  JSON.parse(atob((token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/")));

/** Runs with a provider, and a person who signed up with it. */
async function withProviderPerson(
  run: (scene: {
    test: Awaited<ReturnType<typeof startTestApp>>;
    issuer: ReturnType<typeof startIssuer>;
    person: Awaited<ReturnType<typeof providerPerson>>;
  }) => Promise<void>,
  options: Parameters<typeof addProvider>[2] = {},
) {
  await using issuer = startIssuer();
  const test = await startTestApp(settings);
  try {
    await addProvider(test, issuer, { name: "Peer", ...options });
    await run({ test, issuer, person: await providerPerson(test, issuer, "ada@north.example") });
  } finally {
    await test.dispose();
  }
}

for (const asked of [{ prompt: "login" }, { max_age: "60" }]) {
  const [name] = Object.entries(asked).map((pair) => pair.join("="));
  Deno.test(`asks the provider again for ${name}, and accepts only its auth_time`, () =>
    withProviderPerson(async ({ test, issuer, person: { browser, userId } }) => {
      const own = await addClient(test, { consent: false });
      test.advance(61_000);
      const outside = (url: URL) => url.origin === "https://app.example.com";
      const asks = await browser.open(authorizeAddress(own, asked), { stopAt: outside });
      assert.equal(asks.url.pathname, confirmPath, asks.html);
      const target = asks.url.searchParams.get("return_to") ?? "";
      const secondsNow = () => Math.floor(test.now() / 1_000);
      // It didn't ask again, or doesn't say.
      for (const authTime of [secondsNow() - 3_600, undefined]) {
        issuer.lies = { claims: { auth_time: authTime } };
        const rejected = await confirmWith(browser, target);
        assert.equal(rejected.status, 403, rejected.html);
        assert.equal(issuer.asked.get("prompt"), "login");
      }
      test.advance(5_000);
      issuer.lies = { claims: { auth_time: secondsNow() } };
      const { location } = await browser.open(
        await providerUrl(browser, `${confirmPath}/provider`, { provider: "peer", return_to: target }),
        { stopAt: outside },
      );
      const code = location?.searchParams.get("code") ?? "";
      const { body } = await exchange(test, own, code);
      const { sub, auth_time, amr } = claimsOf(body.id_token);
      assert.deepEqual([sub, auth_time, amr], [userId, secondsNow(), undefined]);
    }));
}

Deno.test("takes a provider's old auth_time at sign-in for what it is", () =>
  withProviderPerson(async ({ test, issuer }) => {
    const own = await addClient(test, { consent: false });
    const errorAfter = async (secondsAgo: number) => {
      const browser = newVisitor(test);
      issuer.lies = { claims: { auth_time: Math.floor(test.now() / 1_000) - secondsAgo } };
      await browser.signInWith("peer");
      const address = authorizeAddress(own, { max_age: "600", prompt: "none" });
      return (await answerOf(test, { cookie: await browser.cookie() }, address)).get("error");
    };
    assert.equal(await errorAfter(3_600), "login_required");
    assert.equal(await errorAfter(60), null);
  }));

Deno.test("names no method once a provider has confirmed the person", () =>
  withProviderPerson(async ({ test, person: { browser } }) => {
    const own = await addClient(test, { consent: false });
    const amr = async () => {
      const code = (await answerOf(test, { cookie: await browser.cookie() }, authorizeAddress(own))).get(
        "code",
      );
      return claimsOf((await exchange(test, own, code ?? "")).body.id_token).amr;
    };
    const json = { password: "seven blue lanterns" };
    const set = await test.send("/api/portal/account/password", { cookie: await browser.cookie(), json });
    assert.equal(set.status, 204, await set.clone().text());
    for (const cookie of set.headers.getSetCookie()) await browser.take(cookie);
    assert.deepEqual(await amr(), ["pwd"]);
    const confirmation = await confirmWith(browser, "/portal/account");
    assert.equal(confirmation.status, 200, confirmation.html);
    assert.equal(await amr(), undefined);
  }));

Deno.test("gives people of a required provider no code without it, and no access beyond their session", async () => {
  await using issuer = startIssuer();
  const test = await startTestApp(settings);
  try {
    const owner = await confirmed(test, await test.signUp());
    await addProvider(test, issuer, {
      company: { organizationId: owner.organizationId, domains: ["north.example"], enforced: true },
    });
    const own = await addClient(test);
    issuer.person = { sub: "ada", email: "ada@north.example", email_verified: true, name: "Ada" };
    const browser = newVisitor(test);
    const page = await browser.signInWith("peer");
    assert.equal(page.status, 200, page.html);
    const signIn = await test.send("/api/auth/sign-in", {
      json: { email: "ada@north.example", password: "seven blue lanterns" },
    });
    assert.equal((await signIn.json()).error.code, "sso_required");
    const scope = "openid offline_access";
    const { html } = await browser.open(authorizeAddress(own, { scope }));
    const hidden = (name: string) =>
      new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1]?.replaceAll("&amp;", "&") ?? "";
    const form = {
      request: hidden("request"),
      proof: hidden("proof"),
      organizationId: hidden("organizationId"),
      decision: "allow",
    };
    const done = await browser.open("/authorize/decision", { form });
    const [, href = ""] = /<a[^>]* href="(https?:[^"]+)"/.exec(done.html) ?? [];
    const code = new URL(href.replaceAll("&amp;", "&")).searchParams.get("code") ?? "";
    const { body } = await exchange(test, own, code);
    assert.equal(body.scope, "openid");
    await test.send("/api/auth/sign-out", { method: "POST", cookie: await browser.cookie() });
    const refreshed = await post(test, "/oauth/token", {
      grant_type: "refresh_token",
      refresh_token: body.refresh_token,
    }, own);
    assert.equal(refreshed.body.error, "invalid_grant");
  } finally {
    await test.dispose();
  }
});

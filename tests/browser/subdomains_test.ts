// Tests single sign-on on real subdomains: signing in on one product signs in on all, and other origins learn nothing.
import assert from "node:assert/strict";
import { testPassword } from "../support/app/app.ts";
import {
  type BrowserContext,
  browserMissing,
  heading,
  type Page,
  signIn,
  watchedPage,
} from "../support/browser/browser.ts";
import { codeOf, turnOnTwoStep } from "../support/people/second_step.ts";
import { smtpTlsMissing } from "../support/network/smtp_tls.ts";
import { run } from "../support/people/scene.ts";
import { withSubdomains } from "../support/browser/subdomains.ts";
import { signInWords } from "../support/portal/words/sign_in.ts";

const options = {
  ignore: browserMissing() || smtpTlsMissing(),
  sanitizeOps: false,
  sanitizeResources: false,
};
const nobody = { authenticated: false, user: null, organizationId: null, role: null, memberships: [] };

const says = (page: Page, text: string) => page.locator("#who", { hasText: text }).waitFor();

/** Sends a request to Gatehouse from a page. @returns The response body, or the name of the error. */
function ask(page: Page, auth: string, path = "/api/auth/me", init: RequestInit = {}) {
  const act = async ([url, init]: [string, RequestInit]) => {
    const response = await fetch(url, { credentials: "include", ...init });
    return response.status === 204 || response.type === "opaque" ? response.status : await response.json();
  };
  return page.evaluate(act, [auth + path, init] as [string, RequestInit])
    .catch((error: Error) => /TypeError/.exec(error.message)?.[0] ?? error.message);
}

const serverPages = new WeakMap<BrowserContext, Page>();

/** @returns The user that the product's server sees for this browser. */
async function askServer(context: BrowserContext, product: string) {
  // Opening a page takes longer than the rest.
  const page = serverPages.get(context) ?? await context.newPage();
  serverPages.set(context, page);
  await page.goto(`${product}/server`);
  return JSON.parse(await page.locator("body").innerText());
}

/** Simulates a return to the tab. */
const comeBack = (page: Page) => page.evaluate(() => dispatchEvent(new Event("focus")));

/** @returns The domains of the browser's session cookies. */
const cookieDomains = async (context: BrowserContext) =>
  (await context.cookies()).filter(({ name }) => name === "access_token").map(({ domain }) => domain);

Deno.test({
  ...options,
  name: "signing in or out on one product, and losing a membership, take effect on all products immediately",
  fn: () =>
    withSubdomains(async ({ test, auth, app, docs, profile }) => {
      const ada = await test.signUp();
      const bob = await test.signUp("Bob");
      await run(
        test,
        "INSERT INTO memberships (user_id, organization_id, role, created_at) VALUES (?, ?, 'MEMBER', ?)",
        bob.userId,
        ada.organizationId,
        test.now() + 1,
      );
      const context = await profile();
      const { page, errors } = await watchedPage(context);
      await page.goto(`${app}/?page=1#part`);
      await says(page, "Not signed in");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.waitForURL(`${auth}/sign-in?**`);
      await signIn(page, bob.email);
      await page.waitForURL(`${app}/?page=1#part`);
      await says(page, "Bob, OWNER");

      // The other product's page and both servers see the session without another redirect.
      const { page: other, errors: errorsOfOther } = await watchedPage(context);
      await other.goto(`${docs}/`);
      await says(other, "Bob, OWNER");

      // Switch the organization on one product.
      await other.getByLabel("Organization").selectOption(ada.organizationId);
      await says(other, "Bob, MEMBER");
      await comeBack(page);
      await says(page, "Bob, MEMBER");
      const known = {
        authenticated: true,
        user: { id: bob.userId, name: "Bob", email: bob.email, emailVerified: false },
        organizationId: ada.organizationId,
        role: "MEMBER",
        memberships: [
          { organizationId: ada.organizationId, name: "Ada Lovelace’s organization", role: "MEMBER" },
          { organizationId: bob.organizationId, name: "Bob’s organization", role: "OWNER" },
        ],
        features: [],
      };
      for (const one of [page, other]) assert.deepEqual(await ask(one, auth), known);
      for (const product of [app, docs]) assert.deepEqual(await askServer(context, product), known);

      // The sign-in page redirects a signed-in user back immediately.
      await page.goto(`${auth}/sign-in?return_to=${encodeURIComponent(`${docs}/?again=1`)}`);
      assert.equal(page.url(), `${docs}/?again=1`);
      await page.goto(`${app}/`);
      await says(page, "Bob, MEMBER");

      // Remove the member.
      const path = `/api/portal/organizations/${ada.organizationId}/members/${bob.userId}`;
      assert.equal((await test.send(path, { method: "DELETE", cookie: ada.cookie })).status, 204);
      for (const now of [await ask(page, auth), await ask(other, auth), await askServer(context, docs)]) {
        assert.deepEqual([now.organizationId, now.role], [bob.organizationId, "OWNER"]);
        assert.deepEqual(now.memberships.length, 1);
      }
      await comeBack(page);
      await says(page, "Bob, OWNER");

      // Sign out on one product.
      await other.getByRole("button", { name: "Sign out" }).click();
      await says(other, "Not signed in");
      assert.deepEqual(await ask(page, auth), nobody);
      assert.deepEqual(await askServer(context, app), nobody);
      await comeBack(page);
      await says(page, "Not signed in");
      await page.goto(`${auth}/portal/api-keys`);
      await heading(page, "Sign in");
      assert.deepEqual(await cookieDomains(context), []);
      assert.deepEqual([...errors, ...errorsOfOther], []);
    }),
});

Deno.test({
  ...options,
  name: "an origin that isn't allowed learns and changes nothing, even a sibling domain that gets the cookie",
  fn: () =>
    withSubdomains(async ({ test, auth, app, other, evil, seen, profile }) => {
      const ada = await test.signUp();
      const context = await profile();
      const page = await context.newPage();
      await page.goto(`${auth}/sign-in?return_to=${encodeURIComponent(`${other}/`)}`);
      await signIn(page, ada.email);
      // Sign-in doesn't redirect there either.
      await page.waitForURL(`${auth}/portal`);
      for (const origin of [other, evil]) {
        await page.goto(`${origin}/`);
        // The client script loads on any origin, but can't read anything.
        await page.getByRole("alert").filter({ hasText: /./ }).waitFor();
        seen.length = 0;
        assert.equal(await ask(page, auth), "TypeError");
        assert.equal(await ask(page, auth, "/api/auth/sign-out", { method: "POST" }), "TypeError");
        const blind = { method: "POST", mode: "no-cors" } as const;
        assert.equal(await ask(page, auth, "/api/auth/sign-out", blind), "TypeError");
        const json = { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" };
        assert.equal(await ask(page, auth, "/api/auth/organization", json), "TypeError");
        assert.deepEqual(seen.map(({ request, status }) => `${status} ${request}`), [
          "200 GET /api/auth/me",
          "403 POST /api/auth/sign-out",
          "403 POST /api/auth/sign-out",
          "403 OPTIONS /api/auth/organization",
        ]);
        for (const { origin: from, headers } of seen) {
          assert.equal(from, origin);
          const told = [...headers.keys()].filter((name) => name.startsWith("access-control-"));
          assert.deepEqual(told, []);
        }
      }
      await page.goto(`${app}/`);
      await says(page, "OWNER");
    }),
});

for (const javaScriptEnabled of [true, false]) {
  Deno.test({
    ...options,
    name: `every way to sign in returns to the product ${javaScriptEnabled ? "with" : "without"} scripts`,
    fn: () =>
      withSubdomains(async ({ test, auth, app, docs, profile }) => {
        const ada = await test.signUp();
        const grace = await test.signUp("Grace Hopper");
        const { secret } = await turnOnTwoStep(test, grace.cookie);
        const to = (address: string) => `return_to=${encodeURIComponent(address)}`;

        // With a password, also to a product that redirects to another one.
        for (const [asked, got] of [[`${app}/?a=1#b`], [`${app}/moved`, `${docs}/?moved=1`]] as const) {
          const { page, errors } = await watchedPage(await profile({ javaScriptEnabled }));
          await page.goto(`${auth}/sign-in?${to(asked)}`);
          await page.locator("#email").fill(ada.email);
          await page.getByLabel("Password", { exact: true }).fill("wrong wrong wrong");
          await page.getByRole("button", { name: "Sign in", exact: true }).click();
          await page.getByText(signInWords.wrongCredentials).waitFor();
          await signIn(page, ada.email);
          await page.waitForURL(got ?? asked);
          assert.deepEqual(errors, []);
          await page.context().close();
        }

        // With a second step.
        const { page: second, errors } = await watchedPage(await profile({ javaScriptEnabled }));
        await second.goto(`${auth}/sign-in?${to(`${docs}/?second=1`)}`);
        await signIn(second, grace.email);
        await second.getByRole("textbox", { name: "Code" }).fill(codeOf(secret, test.now()));
        await second.getByRole("button", { name: "Sign in", exact: true }).click();
        await second.waitForURL(`${docs}/?second=1`);

        // With a new account.
        const { page: fresh, errors: more } = await watchedPage(await profile({ javaScriptEnabled }));
        await fresh.goto(`${auth}/sign-in?${to(`${docs}/?new=1`)}`);
        await fresh.getByRole("link", { name: "Create an account" }).click();
        await fresh.getByLabel("Your name").fill("Kay");
        await fresh.locator("#email").fill("kay@example.com");
        await fresh.getByLabel("Password").fill(testPassword);
        await fresh.getByRole("button", { name: "Create account" }).click();
        await fresh.waitForURL(`${docs}/?new=1`);
        assert.deepEqual([...errors, ...more], []);
      }),
  });
}

// Tests the main workflow in a real browser with and without scripts: sign up, create a key, run the command on the page,
// see the usage, revoke the key.
import assert from "node:assert/strict";
import {
  follow,
  heading,
  type Page,
  problemsOnScreens,
  signIn,
  signOut,
  signUp,
} from "../support/browser/browser.ts";
import {
  browserOptions,
  type BrowserScene,
  browserTest,
  withApp,
  withProgram,
} from "../support/browser/app.ts";
import { apiKeyWords } from "../support/portal/words/api_keys.ts";
import { enterName } from "../../routes/schemas/messages.ts";

/** Runs the command on the page. */
async function pasteCurl(page: Page): Promise<void> {
  const line = await page.locator("pre", { hasText: "curl" }).first().innerText();
  const { success, stdout } = await new Deno.Command("sh", {
    args: ["-c", `${line} --silent --fail`],
    stdin: "null",
  }).output();
  assert(success, line);
  assert.equal(JSON.parse(new TextDecoder().decode(stdout)).usageRecord.quantity, 1);
}

/** The program in a process of its own is the same with and without scripts. */
const withProduct = (isOwnProcess: boolean) =>
  isOwnProcess ? withProgram : (run: (scene: BrowserScene) => Promise<void>) => withApp("localhost", run);

for (const scripts of [true, false]) {
  Deno.test({
    ...browserOptions,
    name: `the main workflow works in a browser ${scripts ? "with" : "without"} scripts`,
    fn: () =>
      withProduct(scripts)(async ({ origin, open }) => {
        const page = await open("/", {
          javaScriptEnabled: scripts,
          permissions: ["clipboard-read", "clipboard-write"],
        });
        if (scripts) await page.clock.install();
        let loads = 0;
        // Count requests, because the load event may come too late.
        page.on("request", (request) => {
          if (request.isNavigationRequest()) loads++;
        });
        await follow(page, "Create an account");
        await signUp(page, origin);
        assert.equal(await page.title(), "Overview · Gatehouse");

        const loadsBefore = loads;
        await page.getByRole("link", { name: "Create key" }).click();
        await page.getByLabel("Name", { exact: true }).fill("Production");
        await page.getByRole("button", { name: "Create key" }).click();
        await page.getByText(apiKeyWords.shownOnce).first().waitFor();
        const key = await page.locator("code", { hasText: /^service_live_[0-9A-Za-z]{38}$/ }).first()
          .innerText();
        const copy = page.getByRole("button", { name: "Copy key" });
        if (scripts) {
          await copy.click();
          await page.getByText("Copied").first().waitFor();
          assert.equal(await page.evaluate("navigator.clipboard.readText()"), key);
        } else assert.equal(await copy.isVisible(), false);
        await page.getByText("Waiting for the first request").waitFor();
        await pasteCurl(page);
        // With scripts, the page waits for the request.
        if (scripts) await page.clock.fastForward(3_000);
        else await page.getByRole("link", { name: "Check again" }).click();
        await page.getByText("First request received").waitFor();

        // The usage goes up.
        await page.getByRole("link", { name: "Usage", exact: true }).click();
        await heading(page, "Usage");
        assert.match(await page.locator("#main").innerText(), /my-product/);
        const count = async () => Number(await page.locator(".figure[aria-current] .value").innerText());
        assert.equal(await count(), 1);
        const json = { productSlug: "tiles", metric: "requests", quantity: 41 };
        await fetch(`${origin}/api/v1/usage`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify(json),
        }).then((response) => response.body?.cancel());
        // With scripts, the page refreshes itself.
        if (scripts) await page.clock.fastForward(15_000);
        else await page.reload();
        await page.locator(".figure[aria-current] .value", { hasText: "42" }).waitFor();

        await page.getByRole("link", { name: "API keys" }).first().click();
        await heading(page, "API keys");
        assert.doesNotMatch(await page.content(), new RegExp(key));
        await page.locator("summary[aria-label='Actions for Production']").click();
        await page.getByRole("link", { name: /Revoke/ }).click();
        await page.getByText(apiKeyWords.revocation).first().waitFor();
        await page.getByRole("button", { name: "Revoke key" }).click();
        await page.getByText(apiKeyWords.revoked("Production")).first().waitFor();
        await page.getByRole("link", { name: /^Inactive/ }).click();
        await page.locator("table").getByText(/Revoked/).first().waitFor();
        const refused = await fetch(`${origin}/api/v1/usage`, {
          headers: { authorization: `Bearer ${key}` },
        });
        await refused.body?.cancel();
        assert.equal(refused.status, 401);
        // htmx replaces only the main part of a page, so no full page has loaded since sign-up.
        if (scripts) assert.equal(loads, loadsBefore);

        await page.goBack();
        await page.goto(`${origin}/portal/api-keys`);
        await signOut(page);
        await page.goto(`${origin}/portal/usage`);
        await signIn(page, "ADA@example.com");
        await heading(page, "Usage");
      }),
  });
}

browserTest("rejected forms keep their input, and pass axe", async ({ open, origin }) => {
  const page = await open("/sign-up");
  await page.getByLabel("Your name").fill("Grace");
  await page.locator("#email").fill("grace@example.com");
  await page.getByLabel("Password").fill("password1234");
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByText("too common").waitFor();
  assert.equal(await page.locator("#email").inputValue(), "grace@example.com");
  assert.deepEqual(await problemsOnScreens(page), []);
  await signUp(page, origin);
  await page.goto(`${origin}/portal/api-keys/new`);
  await page.getByLabel("Name", { exact: true }).fill("   ");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByText(enterName).waitFor();
  assert.equal(new URL(page.url()).pathname, "/portal/api-keys/new");
  assert.deepEqual(await problemsOnScreens(page), []);
});

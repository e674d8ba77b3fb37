// The documentation in a real browser: accessible on phones and desktops, light and dark, with and without scripts; readers choose
// the language of examples, and old addresses lead to the page that has their text now.
import assert from "node:assert/strict";
import { browserMissing, type Page, problemsOnScreens, watchedPage } from "../support/browser/browser.ts";
import { withApp } from "../support/browser/app.ts";

const paths = [
  "/docs",
  "/docs/settings",
  "/docs/guarantees",
  "/docs/proxy-configuration",
  "/docs/errors",
  "/docs/search?q=idempotency",
  "/docs/reference/operators",
  "/docs/reference/usage/recordUsage",
];

Deno.test({
  name:
    "the documentation passes axe on phones and desktops, scrolls nowhere sideways, and loads nothing from other servers",
  ignore: browserMissing(),
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withApp("localhost", async (test, browser) => {
      const { origin } = test.config.baseUrl;
      for (const { width, colorScheme, javaScriptEnabled } of screens) {
        const context = await browser.newContext({
          viewport: { width, height: 900 },
          colorScheme,
          javaScriptEnabled,
        });
        const { page, errors } = await watchedPage(context);
        const asked = new Set<string>();
        page.on("request", (request) => asked.add(new URL(request.url()).origin));
        for (const path of paths) {
          await page.goto(origin + path);
          const wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
          assert.ok(Number(wide) <= 0, `${path} scrolls horizontally by ${wide} px at ${width}`);
          const height = await page.evaluate("document.querySelector('main').scrollHeight");
          if (width === 1440) assert.ok(Number(height) <= 7_700, `${path} is ${height} px high`);
          if (javaScriptEnabled) {
            assert.deepEqual(await problemsOnScreens(page, [{ colorScheme, width }]), [], path);
          }
        }
        await chooses(page, { origin, isRemembered: javaScriptEnabled });
        assert.deepEqual([...asked], [origin]);
        assert.deepEqual(errors, []);
        await context.close();
      }
    }),
});

Deno.test({
  name: "the navigation, the search and the examples work together",
  ignore: browserMissing(),
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withApp("localhost", async (test, browser) => {
      const { origin } = test.config.baseUrl;
      const permissions = ["clipboard-read", "clipboard-write"];
      const context = await browser.newContext({ viewport: { width: 1440, height: 500 }, permissions });
      const { page, errors } = await watchedPage(context);
      await page.goto(`${origin}/docs/reference/usage/recordUsage`);
      await page.getByLabel("Python").first().check();
      await page.getByRole("button", { name: "Copy" }).first().click();
      await page.getByText("Copied").first().waitFor();
      const copied = String(await page.evaluate("navigator.clipboard.readText()"));
      assert.match(copied, /^import os\nimport requests\n\nresponse = requests\.post\(\n/);
      assert.doesNotMatch(copied, /curl|fetch/);
      const current = page.locator(".docs-side > .places [aria-current]");
      assert.equal(await current.innerText(), "Record usage");
      // However long the navigation is.
      await current.waitFor();
      const { y = -1 } = await current.boundingBox() ?? {};
      assert.ok(y > 0 && y < 500, `the current entry is at ${y}`);
      await page.getByRole("link", { name: "idempotency_conflict" }).click();
      await page.waitForURL(`${origin}/docs/errors#error-idempotency_conflict`);
      await page.getByLabel("Search the documentation").fill("retry safely");
      await page.keyboard.press("Enter");
      await page.getByRole("link", { name: "Record usage › Retry safely" }).click();
      await page.waitForURL(`${origin}/docs/record-usage#retry-safely`);
      // The portal doesn't swap the documentation into its own frame.
      const { cookie } = await test.signUp();
      const [name = "", value = ""] = cookie.split("=");
      await context.addCookies([{ name, value, url: origin }]);
      await page.goto(`${origin}/portal`);
      await page.getByRole("link", { name: "Quick start" }).click();
      await page.getByText("You are signed in to").waitFor();
      assert.equal(await page.locator("#side").count(), 0);
      await page.getByRole("link", { name: "Back to the portal" }).click();
      await page.waitForURL(`${origin}/portal`);
      assert.deepEqual(errors, []);
    }),
});

const screens = [
  { width: 320, colorScheme: "light", javaScriptEnabled: false },
  { width: 360, colorScheme: "dark", javaScriptEnabled: true },
  { width: 1440, colorScheme: "light", javaScriptEnabled: true },
] as const;

/** Chooses Python in one example. With scripts, all others on this page and the next one follow. */
async function chooses(
  page: Page,
  { origin, isRemembered }: { origin: string; isRemembered: boolean },
): Promise<void> {
  await page.goto(`${origin}/docs`);
  const shown = page.locator(".code-scroll:visible", { hasText: "import requests" });
  assert.equal(await shown.count(), 0);
  await page.getByLabel("Python").first().check();
  await shown.first().waitFor();
  assert.equal(await shown.count(), isRemembered ? 2 : 1);
  await page.goto(`${origin}/docs/reference/usage/recordUsage`);
  assert.equal(await shown.count(), isRemembered ? 1 : 0);
}

// The documentation in a real browser: accessible on phones and desktops, light and dark, with and without scripts; readers choose
// the language of examples, and old addresses lead to the page that has their text now.
import assert from "node:assert/strict";
import { addCookie, overhangs, type Page, problemsOnScreens } from "../support/browser/browser.ts";
import { browserTest } from "../support/browser/app.ts";

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

browserTest(
  "the documentation passes axe on phones and desktops, scrolls nowhere sideways, and loads nothing from other servers",
  async ({ open, origin }) => {
    for (const { width, colorScheme, javaScriptEnabled } of screens) {
      const page = await open(undefined, {
        viewport: { width, height: 900 },
        colorScheme,
        javaScriptEnabled,
      });
      const asked = new Set<string>();
      page.on("request", (request) => asked.add(new URL(request.url()).origin));
      for (const path of paths) {
        await page.goto(origin + path);
        const height = await page.evaluate("document.querySelector('main').scrollHeight");
        if (width === 1440) assert.ok(Number(height) <= 9_200, `${path} is ${height} px high`);
        if (javaScriptEnabled) {
          assert.deepEqual(await problemsOnScreens(page, { on: [{ colorScheme, width }] }), [], path);
        } else assert.deepEqual(await overhangs(page, [width]), [], path);
      }
      await chooses(page, { origin, isRemembered: javaScriptEnabled });
      assert.deepEqual([...asked], [origin]);
      await page.context().close();
    }
  },
);

browserTest("the navigation, the search and the examples work together", async ({ test, open, origin }) => {
  const permissions = ["clipboard-read", "clipboard-write"];
  const look = { viewport: { width: 1440, height: 500 }, permissions };
  const page = await open("/docs/reference/usage/recordUsage", look);
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
  await addCookie(page.context(), origin, cookie);
  await page.goto(`${origin}/portal`);
  await page.getByRole("link", { name: "Quick start" }).click();
  await page.getByText("You are signed in to").waitFor();
  assert.equal(await page.locator("#side").count(), 0);
  await page.getByRole("link", { name: "Back to the portal" }).click();
  await page.waitForURL(`${origin}/portal`);
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

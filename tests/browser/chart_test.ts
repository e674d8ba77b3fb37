// The chart in a real browser: boxes of numbers on hover, focus and tap, one tab stop with scripts, and links without.
import assert from "node:assert/strict";
import { createTestKey, type TestApp, type TestPerson } from "../support/app/app.ts";
import {
  type Browser,
  browserMissing,
  type Page,
  problemsOnScreens,
  signedInContext,
  watchedPage,
} from "../support/browser/browser.ts";
import { withApp } from "../support/browser/app.ts";

const options = { ignore: browserMissing(), sanitizeOps: false, sanitizeResources: false };

/** Two products with usage on three days, of which the last is today. */
async function withUsage(run: (test: TestApp, person: TestPerson, browser: Browser) => Promise<void>) {
  await withApp("localhost", async (test, browser) => {
    const ada = await test.signUp();
    const { fullKey: apiKey } = await createTestKey(test, ada);
    for (const [day, quantity] of [["13", 100], ["20", 150], ["21", 30]] as const) {
      for (const productSlug of ["tiles", "search"]) {
        const json = { productSlug, metric: "requests", quantity, timestamp: `2026-11-${day}T09:00:00Z` };
        assert.equal((await test.send("/api/v1/usage", { apiKey, json })).status, 201);
      }
    }
    await run(test, ada, browser);
  });
}

const bar = (page: Page, name: string | RegExp) =>
  page.getByRole("group", { name: "Requests per day" }).getByLabel(name);
const shownTips = async (page: Page) =>
  (await page.locator(".tip:visible").allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " ").trim());
const friday = "Fri, Nov 20 requests search 150 tiles 150 Total 300 50% more than Fri, Nov 13";

async function open(
  test: TestApp,
  { cookie }: TestPerson,
  browser: Browser,
  look: Parameters<Browser["newContext"]>[0] = {},
) {
  const { baseUrl } = test.config;
  const opened = await watchedPage(await signedInContext(browser, { baseUrl: baseUrl.origin, cookie }, look));
  await opened.page.goto(`${baseUrl.origin}/portal/usage`);
  return opened;
}

Deno.test({
  ...options,
  name: "a bar shows its numbers on hover, and leads to the hours of its day",
  fn: () =>
    withUsage(async (test, ada, browser) => {
      const { page, errors } = await open(test, ada, browser);
      await bar(page, /Nov 20/).hover();
      assert.deepEqual(await shownTips(page), [friday]);
      await page.keyboard.press("Escape");
      assert.deepEqual(await shownTips(page), []);
      await bar(page, /Nov 13/).hover();
      assert.match((await shownTips(page)).join(), /^Fri, Nov 13 .* Total 200$/);
      assert.deepEqual(await problemsOnScreens(page), []);
      await bar(page, /Nov 20/).click();
      await page.getByRole("heading", { name: "Requests per hour" }).waitFor();
      assert.equal(await page.getByLabel(/Nov 20, 09:00: 300 requests/).count(), 1);
      assert.deepEqual(errors, []);
    }),
});

Deno.test({
  ...options,
  name: "with scripts, a chart is one tab stop and arrow keys move between its bars",
  fn: () =>
    withUsage(async (test, ada, browser) => {
      const { page, errors } = await open(test, ada, browser);
      assert.equal(await page.locator(".hit > [tabindex='0']").count(), 1);
      // The newest bar is the stop.
      await bar(page, /so far/).focus();
      await page.keyboard.press("ArrowLeft");
      assert.deepEqual(await shownTips(page), [friday]);
      await page.keyboard.press("Tab");
      assert.deepEqual(await shownTips(page), []);
      await page.keyboard.press("Shift+Tab");
      assert.deepEqual(await shownTips(page), [friday]);
      await page.keyboard.press("Home");
      await page.keyboard.press("ArrowLeft");
      assert.match((await shownTips(page)).join(), /^Sun, Nov 1 /);
      await page.keyboard.press("End");
      assert.match((await shownTips(page)).join(), /^Sat, Nov 21 .* so far$/);
      assert.deepEqual(errors, []);
    }),
});

Deno.test({
  ...options,
  name: "on a phone, the first tap shows the numbers and the second opens the day",
  fn: () =>
    withUsage(async (test, ada, browser) => {
      const look = { hasTouch: true, isMobile: true, viewport: { width: 360, height: 780 } };
      const { page, errors } = await open(test, ada, browser, look);
      await bar(page, /Nov 20/).tap();
      assert.deepEqual(await shownTips(page), [friday]);
      const tip = await page.locator(".tip:visible").boundingBox() ?? assert.fail("the box is not visible");
      assert.ok(tip.x >= 0 && tip.x + tip.width <= 360, JSON.stringify(tip));
      await bar(page, /Nov 20/).tap();
      await page.getByRole("heading", { name: "Requests per hour" }).waitFor();
      assert.deepEqual(errors, []);
    }),
});

Deno.test({
  ...options,
  name: "without scripts, each bar is a tab stop that shows its numbers",
  fn: () =>
    withUsage(async (test, ada, browser) => {
      const { page } = await open(test, ada, browser, { javaScriptEnabled: false });
      await bar(page, /Nov 13/).focus();
      assert.match((await shownTips(page)).join(), /^Fri, Nov 13 /);
      for (let day = 13; day < 20; day++) await page.keyboard.press("Tab");
      assert.deepEqual(await shownTips(page), [friday]);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Requests per hour" }).waitFor();
    }),
});

// The chart in a real browser: boxes of numbers on hover, focus and tap, one tab stop with scripts, and links without.
import assert from "node:assert/strict";
import { createTestKey } from "../support/app/app.ts";
import { type Look, type Page, problemsOnScreens } from "../support/browser/browser.ts";
import { browserTest } from "../support/browser/app.ts";

/** Defines a test of a chart of two products with usage on three days, of which the last is today. */
function chartTest(name: string, look: Look, run: (page: Page) => Promise<void>): void {
  browserTest(name, async ({ test, open }) => {
    const ada = await test.signUp();
    const { fullKey: apiKey } = await createTestKey(test, ada);
    for (const [day, quantity] of [["13", 100], ["20", 150], ["21", 30]] as const) {
      for (const productSlug of ["tiles", "search"]) {
        const json = { productSlug, metric: "requests", quantity, timestamp: `2026-11-${day}T09:00:00Z` };
        assert.equal((await test.send("/api/v1/usage", { apiKey, json })).status, 201);
      }
    }
    await run(await open("/portal/usage", { ...look, cookie: ada.cookie }));
  });
}

const phone = { hasTouch: true, isMobile: true, viewport: { width: 360, height: 780 } };
const bar = (page: Page, name: string | RegExp) =>
  page.getByRole("group", { name: "Requests per day" }).getByLabel(name);
const shownTips = async (page: Page) =>
  (await page.locator(".tip:visible").allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " ").trim());
const friday = "Fri, Nov 20 requests search 150 tiles 150 Total 300 Tue, Oct 20 0 50% more than Fri, Nov 13";

chartTest("a bar shows its numbers on hover, and leads to the hours of its day", {}, async (page) => {
  await bar(page, /Nov 20/).hover();
  assert.deepEqual(await shownTips(page), [friday]);
  await page.keyboard.press("Escape");
  assert.deepEqual(await shownTips(page), []);
  await bar(page, /Nov 13/).hover();
  assert.match((await shownTips(page)).join(), /^Fri, Nov 13 .* Total 200 Tue, Oct 13 0$/);
  // On other screens, another bar would be below the pointer.
  await page.mouse.move(0, 0);
  assert.deepEqual(await problemsOnScreens(page), []);
  await bar(page, /Nov 20/).click();
  await page.getByRole("heading", { name: "Requests per hour" }).waitFor();
  assert.equal(await page.getByLabel(/Nov 20, 09:00: 300 requests/).count(), 1);
});

chartTest("with scripts, a chart is one tab stop and arrow keys move between its bars", {}, async (page) => {
  assert.equal(await page.locator(".hit[tabindex='0']").count(), 1);
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
});

chartTest("on a phone, the first tap shows the numbers and the second opens the day", phone, async (page) => {
  await bar(page, /Nov 20/).tap();
  assert.deepEqual(await shownTips(page), [friday]);
  const tip = await page.locator(".tip:visible").boundingBox() ?? assert.fail("the box is not visible");
  assert.ok(tip.x >= 0 && tip.x + tip.width <= 360, JSON.stringify(tip));
  await bar(page, /Nov 20/).tap();
  await page.getByRole("heading", { name: "Requests per hour" }).waitFor();
});

chartTest(
  "without scripts, each bar is a tab stop that shows its numbers",
  { javaScriptEnabled: false },
  async (page) => {
    await bar(page, /Nov 13/).focus();
    assert.match((await shownTips(page)).join(), /^Fri, Nov 13 /);
    for (let day = 13; day < 20; day++) await page.keyboard.press("Tab");
    assert.deepEqual(await shownTips(page), [friday]);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Requests per hour" }).waitFor();
  },
);

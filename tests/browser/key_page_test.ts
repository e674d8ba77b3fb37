// The page of an API key and the form of its budget in a real browser.
import assert from "node:assert/strict";
import { type Page, problemsOnScreens } from "../support/browser/browser.ts";
import { browserTest, browserTests } from "../support/browser/app.ts";
import { type Journey, sendJson, signUpAndRecord } from "../support/process/journey.ts";

/** @returns How a record was answered. */
async function record(
  { origin, journey }: { origin: string; journey: Journey },
  quantity: number,
): Promise<number> {
  const json = { productSlug: "tiles", metric: "requests", quantity };
  const response = await sendJson(origin, "/api/v1/usage", { apiKey: journey.fullKey, json });
  return response.status;
}

const field = (page: Page, row: number, part: string) => page.locator(`[name="limits[${row}].${part}"]`);
const budget = (page: Page) => page.locator(".meters").first();

browserTests(
  "owners set a key's budget, and see what is used of it",
  async ({ open, origin }) => {
    const visit = { origin, journey: await signUpAndRecord(origin) };
    const page = await open("/portal/api-keys", { cookie: visit.journey.cookie });
    await page.locator("td.title a.name").click();
    await page.getByRole("link", { name: "Set budget" }).click();
    await field(page, 1, "metric").fill("loads");
    await field(page, 1, "quantity").fill("-1");
    await page.getByRole("button", { name: "Save budget" }).click();
    await page.locator("[aria-invalid]").waitFor();
    assert.equal(await field(page, 0, "metric").inputValue(), "loads");
    await field(page, 0, "metric").fill("requests");
    await field(page, 0, "quantity").fill("1,000");
    await field(page, 0, "per").selectOption("total");
    await page.getByRole("button", { name: "Save budget" }).click();
    await page.locator("main .note.done", { hasText: "The budget has been saved." }).waitFor();
    assert.match(
      await budget(page).innerText(),
      /Requests in total\s+1\.6 of 1,000\s+<1% used\s+Never resets/,
    );
    assert.equal(await record(visit, 1_000), 429);
    assert.equal(await record(visit, 998.4), 201);
    assert.equal(await record(visit, 1), 429);
    await page.reload();
    assert.match(
      await budget(page).innerText(),
      /1,000 of 1,000\s+Limit reached\. New requests are rejected\./,
    );
  },
);

browserTest(
  "the page of a key and its budget pass axe, also when limits are reached, and in forced colors",
  async ({ open, origin }) => {
    const visit = { origin, journey: await signUpAndRecord(origin) };
    const page = await open("/portal/api-keys", { cookie: visit.journey.cookie });
    await page.locator("td.title a.name").click();
    await page.getByText("No budget").waitFor();
    assert.deepEqual(await problemsOnScreens(page), []);
    const url = page.url();
    await record(visit, 900);
    const limit = { productSlug: "tiles", metric: "requests", mode: "soft" };
    const quantities = { hour: 10, day: 1_000, month: Number.MAX_SAFE_INTEGER, total: 0 };
    const limits = Object.entries(quantities).map(([per, quantity]) => ({ ...limit, per, quantity }));
    const { cookie, keyId } = visit.journey;
    const changed = await sendJson(origin, `/api/portal/api-keys/${keyId}`, {
      method: "PATCH",
      cookie,
      json: { budget: limits },
    });
    assert.equal(changed.status, 200, await changed.text());
    await page.goto(url);
    assert.equal(await page.locator(".meter.near").count(), 1);
    assert.equal(await page.locator(".meter.full").count(), 2);
    assert.deepEqual(await problemsOnScreens(page), []);
    await page.emulateMedia({ forcedColors: "active" });
    assert.deepEqual(await page.evaluate(barColors), ["bordered, filled"]);
    await page.emulateMedia({ forcedColors: "none" });
    await page.goto(`${url}/budget`);
    assert.deepEqual(await problemsOnScreens(page), []);
    await field(page, 0, "quantity").fill("none");
    await page.getByRole("button", { name: "Save budget" }).click();
    await page.locator("[aria-invalid]").waitFor();
    assert.deepEqual(await problemsOnScreens(page), []);
  },
);

/** How bars stand out in forced colors. */
const barColors = `[...new Set([...document.querySelectorAll(".meter-bar:has(rect)")].map((bar) => {
  const { borderTopWidth, backgroundColor } = getComputedStyle(bar);
  const { fill } = getComputedStyle(bar.querySelector("rect"));
  return (borderTopWidth === "1px" ? "bordered" : "without border") + ", " +
    (fill === backgroundColor ? "invisible" : "filled");
}))]`;

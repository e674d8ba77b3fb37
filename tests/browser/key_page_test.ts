// The page of an API key and the form of its budget in a real browser.
import assert from "node:assert/strict";
import { problemsOnScreens } from "../support/browser/browser.ts";
import { browserTest } from "../support/browser/app.ts";
import { sendJson, signUpAndRecord } from "../support/process/journey.ts";

browserTest(
  "the page of a key and its budget pass axe, also when limits are reached, and in forced colors",
  async ({ open, origin }) => {
    const { cookie, keyId, fullKey } = await signUpAndRecord(origin);
    const page = await open("/portal/api-keys", { cookie });
    await page.locator("td.title a.name").click();
    await page.getByText("No budget").waitFor();
    assert.deepEqual(await problemsOnScreens(page), []);
    const url = page.url();
    const json = { productSlug: "tiles", metric: "requests", quantity: 900 };
    assert.equal((await sendJson(origin, "/api/v1/usage", { apiKey: fullKey, json })).status, 201);
    const limit = { productSlug: "tiles", metric: "requests", mode: "soft" };
    const quantities = { hour: 10, day: 1_000, month: Number.MAX_SAFE_INTEGER, total: 0 };
    const limits = Object.entries(quantities).map(([per, quantity]) => ({ ...limit, per, quantity }));
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
    await page.locator(`[name="limits[0].quantity"]`).fill("none");
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

// The operator console in a real browser, with and without scripts.
import assert from "node:assert/strict";
import { heading, openMenu } from "../support/browser/browser.ts";
import { browserTests } from "../support/browser/app.ts";
import { fillPortal } from "../support/filled/portal.ts";

browserTests(
  "operators go from the portal to the console and back",
  async ({ test, open }) => {
    const { operator: { cookie } } = await fillPortal(test, { days: 2 });
    const page = await open("/portal/api-keys", { cookie });
    await openMenu(page);
    await page.getByRole("link", { name: "Operator console" }).click();
    await page.getByRole("heading", { name: "Top organizations this month" }).waitFor();
    await page.locator("header.operator").waitFor();
    await page.getByRole("link", { name: "Map loads", exact: true }).click();
    await page.getByRole("heading", { name: "Map loads per day" }).waitFor();

    await page.getByRole("link", { name: "Organizations", exact: true }).click();
    await page.locator("#search").fill("cus_9003");
    await page.locator("#search").press("Enter");
    await page.getByRole("link", { name: "Northwind Maps" }).waitFor({ state: "detached" });
    await page.getByRole("link", { name: /^Ridgeline Forecasting/ }).waitFor();
    await page.getByRole("link", { name: /^Near limit/ }).click();
    await page.getByText("No matching organizations").waitFor();

    // On a phone, the other pages are in a menu at the bottom.
    await page.setViewportSize({ width: 360, height: 800 });
    await page.getByText("More", { exact: true }).click();
    await page.getByRole("link", { name: "Products" }).click();
    await page.getByRole("link", { name: "Add product" }).click();
    await page.getByLabel("Name", { exact: true }).first().fill("Weather");
    await page.getByLabel("Slug", { exact: true }).first().fill("weather");
    await page.getByRole("button", { name: "Add product" }).click();
    await page.locator("#main").getByText("Product added.").waitFor();
    await page.getByText("More", { exact: true }).click();
    await page.getByRole("link", { name: "Portal", exact: true }).click();
    await heading(page, /^Welcome to/);
    assert.equal(await page.locator("header.operator").count(), 0);
  },
  { host: "console.example", plainOnlyInFull: true },
);

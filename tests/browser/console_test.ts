// The operator console in a real browser: accessible on phones and desktops, light and dark, and without scripts.
import assert from "node:assert/strict";
import { browserMissing, openMenu, problemsOnScreens, watchedPage } from "../support/browser/browser.ts";
import { withApp } from "../support/browser/browser_app.ts";
import { newOperator } from "../support/operators/console.ts";
import { fillConsole } from "../support/filled/console_data.ts";

const options = { ignore: browserMissing(), sanitizeOps: false, sanitizeResources: false };
const host = "console.example";
/** From the smallest phone to a very wide screen, without those that every page is checked with. */
const widths = [320, 768, 1024, 1920, 2560];

Deno.test({
  ...options,
  name: "every page of the console passes axe and scrolls in no width",
  fn: () =>
    withApp(host, async (test, browser) => {
      const mara = await newOperator(test);
      const { organizationId, tokenId, planId } = await fillConsole(test);
      const context = await browser.newContext();
      const origin = test.config.baseUrl.origin;
      const [name = "", value = ""] = mara.cookie.split("=");
      await context.addCookies([{ name, value, url: origin }]);
      const { page, errors } = await watchedPage(context);
      const problems: string[] = [];
      const paths = [
        "",
        "/organizations",
        "/organizations?search=nothing",
        "/organizations/new",
        `/organizations/${organizationId}`,
        `/organizations/${organizationId}/edit`,
        `/organizations/${organizationId}/plan`,
        `/organizations/${organizationId}/limits`,
        `/organizations/${organizationId}/members`,
        `/organizations/${organizationId}/api-keys`,
        `/organizations/${organizationId}/api-keys/new`,
        `/organizations/${organizationId}/notes/new`,
        `/organizations/${organizationId}/suspend`,
        "/users",
        `/users/${mara.userId}`,
        `/users/${mara.userId}/disable`,
        "/plans",
        "/plans/new",
        `/plans/${planId}`,
        `/plans/${planId}/edit`,
        `/plans/${planId}/default`,
        `/plans/${planId}/delete`,
        "/products",
        "/products/tiles/edit",
        "/products/tiles/delete",
        "/tokens",
        "/tokens/new",
        `/tokens/${tokenId}/revoke`,
        "/usage",
        "/audit",
        "/system",
      ];
      for (const path of paths) {
        const response = await page.goto(`${origin}/operator${path}`);
        assert.equal(response?.status(), 200, path);
        problems.push(...await problemsOnScreens(page));
        for (const width of widths) {
          await page.setViewportSize({ width, height: 900 });
          const over = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
          if (Number(over) > 0) problems.push(`${path} scrolls by ${over} px at ${width} px`);
        }
      }
      assert.deepEqual(problems, []);
      assert.deepEqual(errors, []);
    }),
});

for (const scripts of [true, false]) {
  Deno.test({
    ...options,
    name: `operators go from the portal to the console and back, ${scripts ? "with" : "without"} scripts`,
    fn: () =>
      withApp(host, async (test, browser) => {
        const mara = await newOperator(test);
        await fillConsole(test);
        const context = await browser.newContext({ javaScriptEnabled: scripts });
        const origin = test.config.baseUrl.origin;
        const [name = "", value = ""] = mara.cookie.split("=");
        await context.addCookies([{ name, value, url: origin }]);
        const { page, errors } = await watchedPage(context);
        await page.goto(`${origin}/portal/api-keys`);
        await openMenu(page);
        await page.getByRole("link", { name: "Operator console" }).click();
        await page.getByRole("heading", { name: "Top customers this month" }).waitFor();
        await page.locator("header.operator").waitFor();
        await page.getByRole("link", { name: "Bytes", exact: true }).click();
        await page.getByRole("heading", { name: "Bytes per day" }).waitFor();

        await page.getByRole("link", { name: "Organizations", exact: true }).click();
        await page.getByLabel("Search").fill("cus_8842");
        await page.getByLabel("Search").press("Enter");
        await page.getByRole("link", { name: "Northwind Maps" }).waitFor({ state: "detached" });
        await page.getByRole("link", { name: "Halden Logistics" }).waitFor();
        await page.getByLabel("Status").selectOption("active");
        if (!scripts) await page.getByRole("button", { name: "Apply" }).click();
        await page.getByText("No matching organizations").waitFor();

        // On a phone, the other pages are in a menu at the bottom.
        await page.setViewportSize({ width: 360, height: 800 });
        await page.getByText("More", { exact: true }).click();
        await page.getByRole("link", { name: "Products" }).click();
        await page.getByRole("link", { name: "Add product" }).click();
        await page.getByLabel("Name", { exact: true }).first().fill("Search");
        await page.getByLabel("Slug", { exact: true }).first().fill("search");
        await page.getByRole("button", { name: "Add product" }).click();
        await page.locator("#main").getByText("Product added.").waitFor();
        await page.getByText("More", { exact: true }).click();
        await page.getByRole("link", { name: "Portal", exact: true }).click();
        await page.getByRole("heading", { name: /^Welcome to/, level: 1 }).waitFor();
        assert.equal(await page.locator("header.operator").count(), 0);
        assert.deepEqual(errors, []);
      }),
  });
}

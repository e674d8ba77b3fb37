// The form of a metric in a real browser: dimensions are tags with scripts, and words with commas between them without.
import assert from "node:assert/strict";
import { browserTests } from "../support/browser/app.ts";
import { problemsOnScreens } from "../support/browser/browser.ts";
import { newOperator } from "../support/operators/console.ts";

browserTests(
  "operators add a metric with a price for a quantity and with dimensions",
  async ({ test, open }, scripts) => {
    const { cookie } = await newOperator(test);
    const page = await open("/operator/products/new", { cookie });
    await page.getByLabel("Name", { exact: true }).fill("Weather");
    await page.getByLabel("Slug").fill("weather");
    await page.getByRole("button", { name: "Add product" }).click();
    await page.getByRole("link", { name: "Add metric" }).click();
    await page.getByLabel("Name", { exact: true }).fill("Data transfer");
    await page.getByLabel("Slug").fill("bytes");
    await page.getByLabel("Unit (optional)").fill("bytes");
    await page.getByLabel("Price in EUR (optional)").fill("0.09");
    await page.getByLabel("Per", { exact: true }).fill("GB");
    assert.equal(await page.getByLabel("Distinct property").isVisible(), false);
    const field = page.getByLabel("Dimensions (optional)");
    if (scripts) {
      // A comma and Enter end a word, as does leaving the field.
      await field.pressSequentially("region,model+type");
      await field.press("Enter");
      await field.pressSequentially("city, zone ");
      await page.getByLabel("Values that events may name (optional)").focus();
      await page.getByRole("button", { name: "Remove city" }).press("Enter");
      assert.equal(await page.evaluate("document.activeElement.id"), "dimensions");
      await field.press("Backspace");
      const tags = page.getByRole("button", { name: /^Remove / });
      assert.deepEqual(await tags.allInnerTexts(), ["region\u00a0×", "model + type\u00a0×"]);
      assert.deepEqual(await problemsOnScreens(page), []);
    } else await field.fill("region, model+type");
    await page.getByRole("button", { name: "Add metric" }).click();
    await page.locator("#main").getByText("Changes saved.").waitFor();
    await page.getByText("€0.09 per GB").waitFor();
    assert.deepEqual(await page.locator(".tags bdi").allInnerTexts(), ["region", "model + type"]);
    if (scripts) assert.deepEqual(await problemsOnScreens(page), []);

    // A rejected form keeps the tags.
    await page.getByRole("link", { name: "Data transfer", exact: true }).click();
    await page.getByLabel("Name", { exact: true }).fill(" ");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Enter a name of up to 100 characters.").waitFor();
    if (scripts) assert.equal(await page.getByRole("button", { name: /^Remove / }).count(), 2);
    else assert.equal(await field.inputValue(), "region, model + type");
    await page.getByLabel("Counted as").selectOption("unique");
    await page.getByLabel("Distinct property").fill("region");
    await page.getByLabel("Name", { exact: true }).fill("Regions");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Distinct values of region").waitFor();
  },
  { settings: { CURRENCY: "EUR" } },
);

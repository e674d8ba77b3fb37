// Choices within a page leave the reader where they are, and what applies them is in sight.
import assert from "node:assert/strict";
import { browserTest } from "../support/browser/app.ts";
import { signUpAndRecord } from "../support/process/journey.ts";

browserTest("a choice within a scrolled page doesn't move the page", async ({ open, origin }) => {
  const { cookie } = await signUpAndRecord(origin);
  const page = await open("/portal/usage?range=month", { cookie, viewport: { width: 1000, height: 500 } });
  const scrolled = () => page.evaluate<number>("Math.round(scrollY)");
  for (const range of ["7 days", "24 h", "90 days"]) {
    await page.evaluate("scrollTo(0, 60)");
    assert.equal(await scrolled(), 60);
    const link = page.getByRole("link", { name: range, exact: true });
    await link.click();
    await link.and(page.locator("[aria-current]")).waitFor();
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    assert.equal(await scrolled(), 60, range);
  }
});

browserTest("the button of a filter that is longer than its box is in sight", async ({ open, origin }) => {
  const { cookie } = await signUpAndRecord(origin);
  for (const height of [440, 620]) {
    const page = await open("/portal/usage/records", { cookie, viewport: { width: 1000, height } });
    const menu = page.locator(".tools details.menu");
    await menu.locator("summary").click();
    const box = await menu.locator(".menu-box").boundingBox();
    const button = await menu.getByRole("button", { name: "Apply" }).boundingBox();
    assert.ok(box && button);
    assert.ok(button.y + button.height <= box.y + box.height, `cut off at ${height} px`);
  }
});

// The list of API keys in a real browser: menus of rows, orders, search, and every width.
import assert from "node:assert/strict";
import { type Page, problemsOnScreens } from "../support/browser/browser.ts";
import { type AppScene, browserTest, browserTests } from "../support/browser/app.ts";
import { sendJson, signUpAndRecord } from "../support/process/journey.ts";

const widths = [320, 360, 480, 700, 720, 768, 900, 1024, 1180, 1280, 1440, 1920, 2560];
const longName = "Hackathon 2026 – temporary key for the geocoding team, do not use it in production, please";

/** Opens the list of five keys, one of which has records. */
async function openList({ test, origin, open }: AppScene): Promise<Page> {
  const { cookie } = await signUpAndRecord(origin);
  for (const name of [longName, "W".repeat(100), "Staging", "Key 2"]) {
    const expiresAt = name === "Staging" ? new Date(test.now() + 5 * 86_400_000).toISOString() : undefined;
    const created = await sendJson(origin, "/api/portal/api-keys", { cookie, json: { name, expiresAt } });
    assert.equal(created.status, 201, await created.text());
  }
  return await open("/portal/api-keys", { cookie });
}

const names = (page: Page) => page.locator("td.title a").allInnerTexts();

browserTests(
  "keys are sorted, searched and revoked from the list",
  async (scene, scripts) => {
    const page = await openList(scene);
    // The only one with usage is the first.
    assert.equal((await names(page))[0], "Production");
    await page.locator("th").getByRole("link", { name: "Name" }).click();
    await page.locator("th[aria-sort=ascending]").waitFor();
    assert.deepEqual((await names(page)).slice(1, 4), ["Key 2", "Production", "Staging"]);
    await page.getByLabel("Search by name or prefix").fill("STAG");
    await page.keyboard.press("Enter");
    await page.getByText("Clear search").waitFor();
    assert.deepEqual(await names(page), ["Staging"]);
    await page.getByRole("link", { name: /^Expiring/ }).click();
    await page.locator("[aria-current=page]", { hasText: "Expiring 1" }).waitFor();
    const menu = page.locator("summary[aria-label='Actions for Staging']");
    await menu.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Revoke" }).click();
    await page.getByRole("button", { name: "Revoke key" }).click();
    await page.locator(".note.done", { hasText: "“Staging” has been revoked." }).waitFor();
    assert.equal((await names(page)).length, 4);
    // Several at a time.
    const submit = page.locator(".selection-bar [type=submit]");
    assert.equal(await submit.isVisible(), false);
    await page.getByLabel("Select Key 2").check();
    await page.getByLabel("Select Production").check();
    assert.equal(await submit.innerText(), scripts ? "Revoke 2 keys…" : "Revoke selected keys…");
    await submit.click();
    await page.getByRole("heading", { name: "Revoke keys" }).waitFor();
    await page.getByLabel("Production").uncheck();
    await page.getByRole("button", { name: "Revoke selected keys" }).click();
    await page.locator(".note.done", { hasText: "1 key has been revoked." }).waitFor();
    assert.equal((await names(page)).length, 3);
  },
);

browserTest(
  "the list of keys stays in its card at every width, and passes axe with an open menu",
  async (scene) => {
    const page = await openList(scene);
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 });
      assert.deepEqual(await page.evaluate(outsideOfCards), [], `${width} px`);
    }
    await page.locator(".row-menu > summary").first().click();
    assert.deepEqual(await problemsOnScreens(page), []);
  },
);

/** Runs in the page. @returns What leaves its card or scrolls the page. */
function outsideOfCards(): string[] {
  // deno-lint-ignore no-explicit-any
  const { document } = globalThis as any;
  const outside: string[] = [];
  for (const card of document.querySelectorAll(".card")) {
    const { left, right } = card.getBoundingClientRect();
    for (const one of card.querySelectorAll("td > *, .bar > *, footer > *, .hint-line > *")) {
      const box = one.getBoundingClientRect();
      const isSeen = box.width > 1;
      if (isSeen && (box.left < left - 1 || box.right > right + 1)) outside.push(one.outerHTML.slice(0, 80));
    }
  }
  const { scrollWidth, clientWidth } = document.documentElement;
  return scrollWidth > clientWidth ? [...outside, "the page scrolls sideways"] : outside;
}

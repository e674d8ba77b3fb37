// The usage page in a real browser: all filters work without scripts, and a refresh preserves what the user is doing.
// axe-core checks the states that main_job_test.ts doesn't reach. The filled page fits on a screen.
import assert from "node:assert/strict";
import { type Page, problemsOnScreens } from "../support/browser/browser.ts";
import { browserTest, browserTests } from "../support/browser/app.ts";
import { fillPortal } from "../support/filled/portal.ts";
import { type Journey, sendJson, signUpAndRecord } from "../support/process/journey.ts";
import { poll } from "../support/runner/poll.ts";
import { usageWords } from "../support/portal/words/usage.ts";

/** Someone with a key that has recorded two metrics. */
async function recorded(origin: string) {
  const journey = await signUpAndRecord(origin);
  const visit = { origin, journey };
  await record(visit, { productSlug: "search", metric: "bytes", quantity: 2048 });
  return { ...visit, cookie: journey.cookie };
}

async function record(
  { origin, journey }: { origin: string; journey: Journey },
  json: { productSlug: string; metric: string; quantity: number },
): Promise<void> {
  const response = await sendJson(origin, "/api/v1/usage", { apiKey: journey.fullKey, json });
  assert.equal(response.status, 201);
}

const sum = (page: Page) => page.locator(".figure[aria-current] .value");
const openMenu = (page: Page, label: string) => page.locator(`summary[data-key="${label}"]`).click();
const tab = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Usage by" }).getByRole("link", { name });
const queryOf = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams);

browserTests("range, days, windows, filters and time zone work", async ({ open, origin }, scripts) => {
  const { cookie } = await recorded(origin);
  const page = await open("/portal/usage", { cookie, timezoneId: "Asia/Kathmandu" });
  const apply = () => page.getByRole("button", { name: "Apply" }).and(page.locator(":visible")).click();
  await sum(page).getByText("1.6", { exact: true }).waitFor();

  await page.locator(".figure", { hasText: "Bytes" }).click();
  await sum(page).getByText("2,048", { exact: true }).waitFor();
  await openMenu(page, "Step and time zone");
  await page.locator("#menu-window").selectOption("week");
  await page.locator("#menu-timezone").selectOption("Asia/Kathmandu");
  if (scripts) {
    const own = await page.locator("#menu-timezone option:checked").innerText();
    assert.equal(own, "Kathmandu (this browser)");
  }
  await apply();
  await page.getByText(/Asia\/Kathmandu\. /).waitFor();
  await page.getByRole("heading", { name: usageWords.chartTitle("week", "Bytes") }).waitFor();
  const { range, metric, window, timezone } = queryOf(page);
  assert.deepEqual([range, metric, window, timezone], ["month", "bytes", "week", "Asia/Kathmandu"]);

  await openMenu(page, "Days");
  let requests = 0;
  page.on("request", (request) => requests += request.url().includes("/portal/usage") ? 1 : 0);
  await page.locator("#menu-to").fill("2026-01-02");
  await page.locator("#menu-from").fill("2026-01-03");
  await apply();
  await page.locator(".field-error").getByText(usageWords.endBeforeStart).waitFor();
  // Both days are submitted together, by the button.
  assert.equal(requests, 1);
  await openMenu(page, "Days");
  assert.equal(await page.locator("#menu-from").inputValue(), "2026-01-03");
  await page.locator("#menu-to").fill("2026-01-04");
  await apply();
  await page.getByText(/January 3–4, 2026, in Asia\/Kathmandu/).waitFor();
  assert.equal(await sum(page).innerText(), "0");

  await page.getByRole("link", { name: "24 h", exact: true }).click();
  await page.getByRole("heading", { name: usageWords.chartTitle("hour", "Bytes") }).waitFor();
  assert.equal(await sum(page).innerText(), "2,048");
  await tab(page, "API key").click();
  await tab(page, "API key").and(page.locator("[aria-current]")).waitFor();
  assert.equal(queryOf(page)["stack"], "key");
  // A click anywhere on a row filters by it, and a chip removes the filter.
  await page.locator("table.breakdown tbody tr").first().click({ position: { x: 320, y: 10 } });
  await page.getByRole("link", { name: /^Remove the filter Key: / }).click();
  await page.getByRole("link", { name: /^Remove the filter Key: / }).waitFor({ state: "detached" });
  await openMenu(page, "Filter");
  await page.locator("#menu-productSlug").selectOption("search");
  await apply();
  await page.getByRole("link", { name: "Remove the filter Product: search" }).waitFor();
  const saved = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download CSV" }).click();
  assert.match((await saved).suggestedFilename(), /\.csv$/);
  assert.equal(await sum(page).innerText(), "2,048");
  // The address has the whole state.
  await page.goto(page.url());
  assert.equal(await sum(page).innerText(), "2,048");
  assert.match(await page.locator(".figure[aria-current]").innerText(), /^Bytes/);
});

browserTest(
  "a refresh shows new usage and preserves focus, open details and unsent choices; a hidden page is not refreshed",
  async ({ open, origin }) => {
    const visit = await recorded(origin);
    const page = await open(undefined, { cookie: visit.cookie });
    let requests = 0;
    page.on("request", (request) => requests += request.resourceType() === "fetch" ? 1 : 0);
    await page.goto(`${visit.origin}/portal/usage?metric=requests`);
    const refresh = () => page.evaluate("document.getElementById('live').dispatchEvent(new Event('every'))");
    const summary = page.getByText("Show as table");
    await summary.click();
    await summary.focus();
    await page.evaluate("document.getElementById('head').dataset.here = 'yes'");

    await page.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true })");
    await refresh();
    await page.evaluate("delete document.hidden");
    await record(visit, { productSlug: "tiles", metric: "requests", quantity: 40 });
    await refresh();
    await sum(page).getByText("41.6", { exact: true }).waitFor();
    assert.equal(requests, 1);
    assert.equal(await page.locator("details.numbers").getAttribute("open"), "");
    await page.locator("summary:focus").waitFor();
    assert.equal(await page.locator("tbody td.num", { hasText: "41.6" }).first().isVisible(), true);

    const csv = page.getByRole("link", { name: "Download CSV" });
    await csv.focus();
    await record(visit, { productSlug: "tiles", metric: "requests", quantity: 400 });
    await refresh();
    await sum(page).getByText("441.6", { exact: true }).waitFor();
    await page.locator("a:focus", { hasText: "Download CSV" }).waitFor();
    // A choice that is not submitted yet stays.
    await openMenu(page, "Step and time zone");
    await page.locator("#menu-timezone").selectOption("Europe/Berlin");
    await refresh();
    await poll(() => Promise.resolve(requests === 3));
    assert.equal(await page.locator("#menu-timezone").inputValue(), "Europe/Berlin");
  },
);

browserTest(
  "the usage page passes axe with any filters and never scrolls horizontally",
  async ({ open, origin }) => {
    const visit = await recorded(origin);
    const page = await open(undefined, { cookie: visit.cookie });
    for (
      const query of [
        "range=7d&window=hour&timezone=America/Argentina/ComodRivadavia",
        "range=90d&window=hour&metric=nothing",
        "range=custom&from=2026-02-01&to=2026-01-01&timezone=Mars&apiKey=x",
        "range=custom&from=2020-01-01&to=2020-12-31",
      ]
    ) {
      await page.goto(`${visit.origin}/portal/usage?${query}`);
      for (const summary of await page.locator("details.numbers summary").all()) await summary.click();
      assert.deepEqual(await problemsOnScreens(page), []);
      assert.deepEqual(await problemsOnScreens(page, { on: [{ colorScheme: "light", width: 900 }] }), []);
    }
  },
);

browserTest(
  "the explorer of a filled portal fits on a screen, has few elements, and passes axe and the keyboard",
  async ({ test, open, origin }) => {
    const { owner, operator, organizationId } = await fillPortal(test, { days: 2 });
    const look = { viewport: { width: 1440, height: 900 } };
    for (
      const [{ cookie }, path, isAlone = true] of [
        [owner, "/portal/usage"],
        [owner, "/portal/usage?stack=key"],
        [operator, `/operator/organizations/${organizationId}/usage`, false],
        [operator, "/operator/usage"],
      ] as const
    ) {
      const page = await open(undefined, { ...look, cookie });
      await page.goto(origin + path);
      const height = Number(await page.evaluate("document.documentElement.scrollHeight"));
      assert.ok(!isAlone || height < 1_200, `${path}: ${height} px`);
      assert.deepEqual(await problemsOnScreens(page), []);
      await page.goto(`${origin}${path.split("?")[0]}?range=month&window=hour`);
      const bars = await page.locator(".hits > *").count();
      const elements = Number(await page.evaluate("document.querySelectorAll('*').length"));
      assert.equal(bars, 180);
      assert.ok(elements <= 1_500, `${path}: ${elements} elements`);
      assert.deepEqual(await problemsOnScreens(page), []);
      await page.getByRole("link", { name: "Show as table" }).click();
      await page.locator("details.numbers[open] tbody tr").first().waitFor();
    }
    // One click from usage to what was rejected.
    const usage = await open("/portal/usage", { ...look, cookie: owner.cookie });
    await usage.getByRole("link", { name: / rejected requests$/ }).click();
    await usage.getByRole("heading", { name: "Last rejected requests" }).waitFor();
    assert.deepEqual(await problemsOnScreens(usage), []);
    const page = await open("/portal/usage?productSlug=tiles&stack=properties.region", {
      ...look,
      cookie: owner.cookie,
    });
    // The keyboard reaches the menu of filters, closes it, and follows a row.
    await page.locator('summary[data-key="Filter"]').focus();
    await page.keyboard.press("Enter");
    assert.deepEqual(await problemsOnScreens(page), []);
    await page.keyboard.press("Escape");
    await page.locator('summary[data-key="Filter"]:focus').waitFor();
    await page.getByRole("link", { name: "Not set" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Remove the filter Region: Not set" }).waitFor();
    assert.equal(queryOf(page)["properties.region"], "(none)");
  },
);

browserTest("a quantity says how long it lasts while it is typed", async ({ open, origin }) => {
  const { cookie } = await recorded(origin);
  const page = await open("/portal/alerts/new", { cookie });
  await page.locator("#scope").selectOption("other");
  await page.locator("#metric").fill("bytes");
  await page.locator("#quantity").pressSequentially("2,048");
  await page.getByText("7 days at the rate of the last 7 days").waitFor();
  assert.equal(await page.locator("#quantity:focus").inputValue(), "2,048");
  await page.locator("#quantity").fill("lots");
  await page.locator(".pace:empty").waitFor({ state: "attached" });
  await page.locator("#quantity").fill("4,096");
  await page.getByText("14 days at the rate of the last 7 days").waitFor();
  assert.deepEqual(await problemsOnScreens(page), []);
});

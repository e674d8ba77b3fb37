// The frame around all pages in a real browser: focus, history, menus, an expired session, passwords and forced colors.
import assert from "node:assert/strict";
import { type TestApp, testPassword, type TestPerson } from "../support/app/app.ts";
import {
  type Browser,
  browserMissing,
  openMenu,
  type Page,
  problemsOnScreens,
  signedInContext,
  watchedPage,
} from "../support/browser/browser.ts";
import { withApp } from "../support/browser/app.ts";

const options = { ignore: browserMissing(), sanitizeOps: false, sanitizeResources: false };

interface Scene {
  readonly test: TestApp;
  readonly browser: Browser;
  readonly person: TestPerson;
  readonly origin: string;
}

/** Runs a test with a person who has a key with usage. */
async function withPerson(run: (scene: Scene) => Promise<void>): Promise<void> {
  await withApp("auth.example.com", async (test, browser) => {
    const person = await test.signUp("Ada Lovelace");
    const made = await test.send("/api/portal/api-keys", {
      cookie: person.cookie,
      json: { name: "Production" },
    });
    const { fullKey } = await made.json();
    const json = { productSlug: "tiles", metric: "requests", quantity: 250 };
    assert.equal((await test.send("/api/v1/usage", { apiKey: fullKey, json })).status, 201);
    await run({ test, browser, person, origin: test.config.baseUrl.origin });
  });
}

/** Opens a page as the person. */
async function open(
  { browser, origin, person }: Scene,
  path: string,
  look: Parameters<Browser["newContext"]>[0] = {},
): Promise<{ page: Page; errors: string[] }> {
  const context = await signedInContext(browser, { baseUrl: origin, cookie: person.cookie }, look);
  const watched = await watchedPage(context);
  await watched.page.goto(`${origin}${path}`);
  return watched;
}

const focused = (page: Page) => page.evaluate("document.activeElement.textContent.trim()");
const heading = (page: Page, name: string) => page.getByRole("heading", { name, level: 1 }).waitFor();

Deno.test({
  ...options,
  name: "the focus stays on the control that was used, and moves to the start of another page",
  fn: () =>
    withPerson(async (scene) => {
      const { page, errors } = await open(scene, "/portal/usage");
      const range = page.locator(".switch").getByRole("link", { name: "7 days" });
      // htmx would copy the style to the new page while it settles, which the policy forbids.
      await page.evaluate(
        `for (const one of document.querySelectorAll("#main [id], #main a")) one.style.top = "0px"`,
      );
      await range.focus();
      await page.keyboard.press("Enter");
      await page.locator(".switch a[aria-current]", { hasText: "7 days" }).waitFor();
      assert.equal(await focused(page), "7 days");
      assert.match(await page.locator("#announcer").innerText(), /^requests: 250\b/i);
      await page.locator(".places").getByRole("link", { name: "Members" }).focus();
      await page.keyboard.press("Enter");
      await heading(page, "Members");
      assert.equal(await page.evaluate("document.activeElement.id"), "main");
      assert.deepEqual(errors, []);
    }),
});

Deno.test({
  ...options,
  name: "Back after an act leads to the page before its form",
  fn: () =>
    withPerson(async (scene) => {
      const { page, errors } = await open(scene, "/portal/members");
      await page.goto(`${scene.origin}/portal/api-keys`);
      const rename = await page.locator(`#main a[href$="/edit"]`).first().getAttribute("href") ?? "";
      await page.evaluate(`document.querySelector('#main a[href$="/edit"]').click()`);
      await page.waitForURL(`${scene.origin}${rename}`);
      await page.evaluate(`document.getElementById("name").required = false`);
      await page.locator("#name").fill("");
      await page.locator("#main form:has(#name) button[type=submit]").click();
      await page.locator("#main .field-error").waitFor();
      assert.equal(page.url(), `${scene.origin}${rename}`);
      await page.locator("#name").fill("Staging");
      await page.locator("#main form:has(#name) button[type=submit]").click();
      await page.locator("#main [role=status]").waitFor();
      const act = page.url();
      assert.notEqual(act, `${scene.origin}${rename}`);
      await page.goBack();
      await heading(page, "API keys");
      await page.locator("#main", { hasText: "Staging" }).waitFor();
      assert.equal(new URL(page.url()).pathname, "/portal/api-keys");
      // The address of a form is no page.
      await page.goto(`${scene.origin}/portal/account`);
      await page.locator(`#main form[action="/portal/account/name"] button[type=submit]`).click();
      await page.locator("#main [role=status]").waitFor();
      assert.equal(new URL(page.url()).pathname, "/portal/account");
      assert.deepEqual(errors, []);
    }),
});

for (const scripts of [true, false]) {
  Deno.test({
    ...options,
    name: `an expired session leads to sign-in and back, ${scripts ? "with" : "without"} scripts`,
    fn: () =>
      withPerson(async (scene) => {
        const { page, errors } = await open(scene, "/portal/members", { javaScriptEnabled: scripts });
        const { test, origin, person: { email, cookie } } = scene;
        assert.equal((await test.send("/api/auth/sign-out", { method: "POST", cookie })).status, 204);
        await page.locator("#email").fill("grace@example.com");
        await page.locator("#main form button[type=submit]").last().click();
        await page.getByText("Your session has expired").waitFor();
        await page.locator("#email").fill(email);
        const password = page.getByLabel("Password");
        await password.fill(testPassword);
        const show = page.getByRole("button", { name: "Show password" });
        assert.equal(await show.count(), scripts ? 1 : 0);
        if (scripts) {
          await show.click();
          assert.equal(await password.getAttribute("type"), "text");
          await page.getByRole("button", { name: "Hide password" }).click();
          assert.equal(await password.getAttribute("type"), "password");
        }
        await page.getByRole("button", { name: "Sign in", exact: true }).click();
        await heading(page, "Members");
        assert.equal(page.url(), `${origin}/portal/members`);
        assert.deepEqual(errors, []);
      }),
  });
}

Deno.test({
  ...options,
  name: "on a phone, the account is in the bar at the bottom, and forced colors show the current page",
  fn: () =>
    withPerson(async (scene) => {
      const look = { viewport: { width: 360, height: 740 }, javaScriptEnabled: false } as const;
      const { page } = await open(scene, "/portal/members", look);
      const bar = page.locator(".tabbar");
      assert.equal((await bar.boundingBox())?.y, 740 - 57);
      await openMenu(page);
      for (
        const name of ["Members", "Organization", "Documentation", "All organizations", "Account", "Security"]
      ) {
        assert.ok(await bar.getByRole("link", { name, exact: true }).isVisible(), name);
      }
      assert.ok(await bar.getByRole("button", { name: "Sign out" }).isVisible());
      await bar.getByRole("link", { name: "Security" }).click();
      await heading(page, "Security");

      const wide = await open(scene, "/portal/usage", { forcedColors: "active" });
      const styleOf = (selector: string, name: string) =>
        wide.page.evaluate(`getComputedStyle(document.querySelector("${selector}")).${name}`);
      assert.equal(await styleOf(".places a[aria-current]", "outlineStyle"), "solid");
      assert.equal(await styleOf("#main a[aria-current]", "outlineStyle"), "solid");
      await wide.page.goto(`${scene.origin}/portal/account/delete`);
      assert.equal(await styleOf(".button.destroy", "textDecorationLine"), "underline");
      // In the dark, axe-core takes the text color of the style sheet for the one that is shown.
      const light = [360, 1440].map((width) => ({ colorScheme: "light", width }) as const);
      assert.deepEqual(await problemsOnScreens(wide.page, light), []);
    }),
});

Deno.test({
  ...options,
  name: "the search opens above the page with keys, on a phone with a button, and never sends a pasted key",
  fn: () =>
    withPerson(async (scene) => {
      const { page, errors } = await open(scene, "/portal/usage");
      const sent: string[] = [];
      page.on("request", (request) => sent.push(request.url()));
      const palette = page.getByRole("dialog", { name: "Search" });
      const field = palette.getByRole("searchbox");
      await page.locator("main summary").first().focus();
      await page.keyboard.press("Control+k");
      await palette.getByRole("link", { name: "Members" }).waitFor();
      assert.deepEqual(await problemsOnScreens(page), []);
      await page.keyboard.press("Escape");
      await palette.waitFor({ state: "detached" });
      assert.equal(await page.locator("main summary:focus").count(), 1);

      await page.setViewportSize({ width: 390, height: 800 });
      await page.getByRole("link", { name: "Search keys, organizations and pages" }).click();
      await field.fill("service_live_0123456789SECRET");
      await palette.getByText("No results for").waitFor();
      assert.equal(await field.inputValue(), "service_live_01234567");
      assert.deepEqual(sent.filter((url) => url.includes("SECRET")), []);
      await field.fill("");
      await palette.getByRole("link", { name: "Overview" }).waitFor();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowDown");
      assert.equal(await focused(page), "API keys");
      // What is typed goes on in the field, and Enter waits for its results.
      await page.keyboard.type("prod");
      assert.equal(await field.inputValue(), "prod");
      await page.keyboard.press("Enter");
      await heading(page, "Production");

      await page.keyboard.press("/");
      await field.fill("organization");
      await palette.getByRole("link", { name: "Organization", exact: true }).click();
      await heading(page, "Organization");
      assert.deepEqual(errors, []);
    }),
});

Deno.test({
  ...options,
  name: "ids are copied with a button, and the search works as a page without scripts",
  fn: () =>
    withPerson(async (scene) => {
      const permissions = ["clipboard-read", "clipboard-write"];
      const { page, errors } = await open(scene, "/portal/organization", { permissions });
      await page.evaluate(
        "navigator.clipboard ??= { writeText: async (text) => { globalThis.copied = text; } }",
      );
      const button = page.getByRole("button", { name: "Copy ID" });
      await button.focus();
      await page.keyboard.press("Enter");
      await page.locator("#announcer", { hasText: "Copied" }).waitFor();
      assert.equal(
        await page.evaluate("globalThis.copied ?? navigator.clipboard.readText()"),
        scene.person.organizationId,
      );
      assert.deepEqual(errors, []);

      const plain = (await open(scene, "/portal/organization", { javaScriptEnabled: false })).page;
      assert.equal(await plain.locator(".copy").count(), 0);
      await plain.getByRole("link", { name: "Search keys, organizations and pages" }).click();
      await plain.getByRole("searchbox").fill("prod");
      await plain.keyboard.press("Enter");
      await plain.locator("#found").getByRole("link", { name: "Production" }).click();
      await heading(plain, "Production");
    }),
});

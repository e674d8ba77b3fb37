// The frame around all pages in a real browser: focus, history, menus, an expired session, passwords and forced colors.
import assert from "node:assert/strict";
import { createTestKey, testPassword, type TestPerson } from "../support/app/app.ts";
import {
  heading,
  type Look,
  openMenu,
  type Page,
  press,
  problemsOnScreens,
} from "../support/browser/browser.ts";
import { type AppScene, browserTest, browserTests } from "../support/browser/app.ts";
import { verifiedPerson } from "../support/people/people.ts";
import { poll } from "../support/runner/poll.ts";

/** A person who has a key with usage. */
interface Scene extends Pick<AppScene, "test" | "origin"> {
  readonly person: TestPerson;
  /** Opens a page as the person. */
  open(path: string, look?: Look): Promise<Page>;
}

function personTest(name: string, run: (scene: Scene) => Promise<void>): void {
  browserTest(name, async ({ test, origin, open }) => {
    const person = await test.signUp();
    const { fullKey: apiKey } = await createTestKey(test, person);
    const json = { productSlug: "tiles", metric: "requests", quantity: 250 };
    assert.equal((await test.send("/api/v1/usage", { apiKey, json })).status, 201);
    await run({
      test,
      origin,
      person,
      open: (path, look = {}) => open(path, { ...look, cookie: person.cookie }),
    });
  }, { host: "auth.example.com" });
}

/** Waits until the element with a text has the focus, which moves after a page is swapped. */
const focusOn = (page: Page, text: string) =>
  poll(async () => await page.evaluate("document.activeElement.textContent.trim()") === text);

personTest(
  "the focus stays on the control that was used, and moves to the start of another page",
  async ({ open }) => {
    const page = await open("/portal/usage");
    const range = page.locator(".switch").getByRole("link", { name: "7 days" });
    // htmx would copy the style to the new page while it settles, which the policy forbids.
    await page.evaluate(
      `for (const one of document.querySelectorAll("#main [id], #main a")) one.style.top = "0px"`,
    );
    await range.focus();
    await page.keyboard.press("Enter");
    await page.locator(".switch a[aria-current]", { hasText: "7 days" }).waitFor();
    await focusOn(page, "7 days");
    await page.locator("#announcer", { hasText: /^requests: 250\b/i }).waitFor({ state: "attached" });
    await page.locator(".places").getByRole("link", { name: "Members" }).focus();
    await page.keyboard.press("Enter");
    await heading(page, "Members");
    await page.locator("#main:focus").waitFor();
  },
);

personTest("Back after an act leads to the page before its form", async ({ origin, open }) => {
  const page = await open("/portal/members");
  await page.goto(`${origin}/portal/api-keys`);
  const rename = await page.locator(`#main a[href$="/edit"]`).first().getAttribute("href") ?? "";
  await page.evaluate(`document.querySelector('#main a[href$="/edit"]').click()`);
  await page.waitForURL(`${origin}${rename}`);
  await page.evaluate(`document.getElementById("name").required = false`);
  await page.locator("#name").fill("");
  await page.locator("#main form:has(#name) button[type=submit]").click();
  await page.locator("#main .field-error").waitFor();
  assert.equal(page.url(), `${origin}${rename}`);
  await page.locator("#name").fill("Staging");
  await page.locator("#main form:has(#name) button[type=submit]").click();
  await page.locator("#main [role=status]").waitFor();
  const act = page.url();
  assert.notEqual(act, `${origin}${rename}`);
  await page.goBack();
  await heading(page, "API keys");
  await page.locator("#main", { hasText: "Staging" }).waitFor();
  assert.equal(new URL(page.url()).pathname, "/portal/api-keys");
  // The address of a form is no page.
  await page.goto(`${origin}/portal/account`);
  await page.locator(`#main form[action="/portal/account/name"] button[type=submit]`).click();
  await page.locator("#main [role=status]").waitFor();
  assert.equal(new URL(page.url()).pathname, "/portal/account");
});

for (const scripts of [true, false]) {
  personTest(
    `an expired session leads to sign-in and back, ${scripts ? "with" : "without"} scripts`,
    async ({ test, origin, person, open }) => {
      const page = await open("/portal/members", { javaScriptEnabled: scripts });
      assert.equal(
        (await test.send("/api/auth/sign-out", { method: "POST", cookie: person.cookie })).status,
        204,
      );
      await page.locator("#email").fill("grace@example.com");
      await page.locator("#main form button[type=submit]").last().click();
      await page.getByText("Your session has expired").waitFor();
      await page.locator("#email").fill(person.email);
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
    },
  );
}

personTest(
  "on a phone, the account is in the bar at the bottom, and forced colors show the current page",
  async ({ origin, open }) => {
    const look = { viewport: { width: 360, height: 740 }, javaScriptEnabled: false } as const;
    const page = await open("/portal/members", look);
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

    const wide = await open("/portal/usage", { forcedColors: "active" });
    const styleOf = (selector: string, name: string) =>
      wide.evaluate(`getComputedStyle(document.querySelector("${selector}")).${name}`);
    assert.equal(await styleOf(".places a[aria-current]", "outlineStyle"), "solid");
    assert.equal(await styleOf("#main a[aria-current]", "outlineStyle"), "solid");
    await wide.goto(`${origin}/portal/account/delete`);
    assert.equal(await styleOf(".button.destroy", "textDecorationLine"), "underline");
    // In the dark, axe-core takes the text color of the style sheet for the one that is shown.
    const light = [360, 1440].map((width) => ({ colorScheme: "light", width }) as const);
    assert.deepEqual(await problemsOnScreens(wide, { on: light, inPlace: true }), []);
  },
);

personTest(
  "the search opens above the page with keys, on a phone with a button, and never sends a pasted key",
  async ({ open }) => {
    const page = await open("/portal/usage");
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
    await page.locator("main summary:focus").waitFor();

    await page.setViewportSize({ width: 390, height: 800 });
    await page.getByRole("link", { name: /^Search keys/ }).click();
    await field.fill("service_live_0123456789SECRET");
    await palette.getByText("No results for").waitFor();
    assert.equal(await field.inputValue(), "service_live_01234567");
    assert.deepEqual(sent.filter((url) => url.includes("SECRET")), []);
    await field.fill("");
    await palette.getByRole("link", { name: "Overview" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await focusOn(page, "API keys");
    // What is typed goes on in the field, and Enter waits for its results.
    await page.keyboard.type("prod");
    assert.equal(await field.inputValue(), "prod");
    await page.keyboard.press("Enter");
    await heading(page, "Production");

    await page.keyboard.press("/");
    await field.fill("organization");
    await palette.getByRole("link", { name: "Organization", exact: true }).click();
    await heading(page, "Organization");
  },
);

personTest(
  "ids are copied with a button, and the search works as a page without scripts",
  async ({ open, person }) => {
    const permissions = ["clipboard-read", "clipboard-write"];
    const page = await open("/portal/organization", { permissions });
    await page.evaluate(
      "navigator.clipboard ??= { writeText: async (text) => { globalThis.copied = text; } }",
    );
    const button = page.getByRole("button", { name: "Copy ID" });
    await button.focus();
    await page.keyboard.press("Enter");
    await page.locator("#announcer", { hasText: "Copied" }).waitFor();
    assert.equal(
      await page.evaluate("globalThis.copied ?? navigator.clipboard.readText()"),
      person.organizationId,
    );

    const plain = await open("/portal/organization", { javaScriptEnabled: false });
    assert.equal(await plain.locator(".copy").count(), 0);
    await plain.getByRole("link", { name: /^Search keys/ }).click();
    await plain.getByRole("searchbox").fill("prod");
    await plain.keyboard.press("Enter");
    await plain.locator("#found").getByRole("link", { name: /^Production/ }).click();
    await heading(plain, "Production");
  },
);

browserTests("the first field with an error has the focus", async ({ test, open }) => {
  const { cookie } = await verifiedPerson(test);
  const page = await open("/portal/webhooks/new", { cookie });
  const send = async (url: string, field: string) => {
    await page.locator("#url").fill(url);
    await press(page, "Add webhook");
    await page.locator("#events-error").waitFor();
    await page.locator(field).and(page.locator(":focus")).waitFor();
  };
  await send("https://1.1.1.1/", 'input[name="*"]');
  await send("http://1.1.1.1/", "[aria-describedby^=url-error]");
}, { plainOnlyInFull: true });

personTest(
  "a proxy's error keeps the page and what was typed, and Retry sends it again",
  async ({ open }) => {
    const page = await open("/portal/organization");
    const gone = {
      status: 502,
      contentType: "text/html",
      body: "<html><body><h1>502 Bad Gateway</h1></body></html>",
    };
    await page.route("**/*", (route) => route.fulfill(gone));
    const trouble = page.getByRole("alert").filter({ hasText: "isn't available" });
    const retry = trouble.getByRole("button", { name: "Retry" });

    await page.locator(".places").getByRole("link", { name: "Members" }).click();
    await retry.waitFor();
    await heading(page, "Organization");
    assert.ok(page.url().endsWith("/portal/organization"));
    await page.unroute("**/*");
    await retry.click();
    await heading(page, "Members");
    assert.equal(await trouble.count(), 0);
    assert.ok(page.url().endsWith("/portal/members"));

    await page.goBack();
    await heading(page, "Organization");
    await page.route("**/*", (route) => route.fulfill(gone));
    await page.getByLabel("Organization name").fill("Northwind");
    await press(page, "Rename");
    await retry.waitFor();
    assert.equal(await page.getByLabel("Organization name").inputValue(), "Northwind");
    assert.deepEqual(await problemsOnScreens(page), []);
    await page.unroute("**/*");
    await retry.click();
    await page.getByRole("status").filter({ hasText: "Northwind" }).first().waitFor();
  },
);

personTest(
  "the search acts on what it found with the arrow keys, and stays during a proxy's error",
  async (scene) => {
    const { test, person, open } = scene;
    await createTestKey(test, person, { name: "Renderer" });
    const page = await open("/portal/usage");
    await page.keyboard.press("/");
    const palette = page.getByRole("dialog", { name: "Search" });
    const gone = { status: 502, contentType: "text/html", body: "<html><body>Bad gateway</body></html>" };
    await page.route("**/search*", (route) => route.fulfill(gone));
    await palette.getByRole("searchbox").fill("render");
    await palette.getByText("Connection failed").waitFor({ state: "attached" });
    await page.unroute("**/search*");
    await palette.getByRole("searchbox").fill("renderer");
    await palette.getByRole("link", { name: "Rotate Renderer" }).waitFor();
    assert.deepEqual(await problemsOnScreens(page), []);
    await palette.getByRole("searchbox").focus();
    await page.keyboard.press("ArrowDown");
    for (let n = 0; n < 3; n++) await page.keyboard.press("ArrowRight");
    await focusOn(page, "Revoke Renderer");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Enter");
    await heading(page, "Rotate");
  },
);

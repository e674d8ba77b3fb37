// Debian's Chromium, driven by playwright-core.
// Test dependencies stay out of deno.json, because its imports go into the compiled binary.
// deno-lint-ignore no-import-prefix
import { type Browser, type BrowserContext, chromium, type Page } from "npm:playwright-core@1.65.1";
// deno-lint-ignore no-import-prefix
import axe from "npm:axe-core@4.14.1/axe.min.js" with { type: "text" };

import { testPassword } from "../app/app.ts";
import { isFull } from "../runner/extent.ts";
import { isMissing, pathOf } from "../runner/needs.ts";

export type { Browser, BrowserContext, Page };
/** How a window differs from a desktop's. */
export type Look = Parameters<Browser["newContext"]>[0];

/** `TEST_BROWSER` chooses another Chromium than the one that takes the least time. */
const executablePath = Deno.env.get("TEST_BROWSER") ?? pathOf("a browser") ?? "";
/** For starting, and for each step. Reached only by a failure, even on a slow machine. */
const timeoutMs = 60_000;

/** True if no browser is installed. @throws When `CI=true`, where one is required. */
export const browserMissing = (): boolean => isMissing("a browser");

/** Starts a browser. @param hosts Addresses by host name. Default: every host name is this machine. */
export function launchBrowser(
  hosts: Readonly<Record<string, string>> = { "*": "127.0.0.1" },
): Promise<Browser> {
  const rules = Object.entries(hosts).map(([name, address]) => `MAP ${name} ${address}`);
  return chromium.launch({
    executablePath,
    timeout: timeoutMs,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      `--host-resolver-rules=${rules.join(",")}`,
    ],
  });
}

let shared: Browser | undefined;

/** Runs a test with a browser that the process's tests share, and closes what the test opened. */
export async function withBrowser(run: (browser: Browser) => Promise<void>): Promise<void> {
  if (!shared?.isConnected()) shared = await launchBrowser();
  const browser = shared;
  try {
    await run(browser);
  } finally {
    const opened = browser.contexts().filter((context) => context !== copies?.context);
    await Promise.all(opened.map((context) => context.close()));
  }
}

Deno.test.afterAll(async () => await shared?.close());

/** Opens a page and collects its script errors and content security policy violations. */
export async function watchedPage(
  context: BrowserContext,
  errors: string[] = [],
): Promise<{ page: Page; errors: string[] }> {
  const page = await context.newPage();
  page.setDefaultTimeout(timeoutMs);
  page.on("pageerror", (error) => errors.push(`script error: ${error.message}`));
  page.on("console", (message) => {
    // Chromium logs the 4xx of a rejected form, and headers that it ignores without HTTPS.
    const isExpected = /Failed to load resource|Cross-Origin-Opener-Policy header has been ignored/;
    if (message.type() === "error" && !isExpected.test(message.text())) errors.push(message.text());
  });
  return { page, errors };
}

/** Waits for a first-level heading. */
export const heading = (page: Pick<Page, "getByRole">, name: string | RegExp): Promise<void> =>
  page.getByRole("heading", { name, level: 1 }).first().waitFor();
/** Uses the first button with a name. */
export const press = (page: Page, name: string | RegExp): Promise<void> =>
  page.getByRole("button", { name }).first().click();
/** Uses the first link with a name. */
export const follow = (page: Page, name: string | RegExp): Promise<void> =>
  page.getByRole("link", { name }).first().click();

/** Opens the menu of the sidebar, which has the organizations and the account. */
export async function openMenu(page: Page): Promise<void> {
  await page.locator("#side summary:visible").last().click();
}

/** Creates an account. */
export async function signUp(page: Page, origin: string, email = "ada@example.com"): Promise<void> {
  await page.goto(`${origin}/sign-up`);
  await page.getByLabel("Your name").fill("Ada Lovelace");
  await page.locator("#email").fill(email);
  await page.getByLabel("Password").fill(testPassword);
  await press(page, "Create account");
  await heading(page, /^Welcome to/);
}

/** Fills in and sends the form for signing in. */
export async function signIn(page: Page, email: string, password = testPassword): Promise<void> {
  await page.locator("#email").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

/** Signs out of the portal. */
export async function signOut(page: Page): Promise<void> {
  await openMenu(page);
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
}

/** Opens a browser window with the cookie of a session. @param cookie As the `Cookie` header has it. */
export async function signedInContext(
  browser: Browser,
  { baseUrl, cookie }: { baseUrl: string; cookie: string },
  look: Look = {},
): Promise<BrowserContext> {
  const context = await browser.newContext(look);
  await addCookie(context, baseUrl, cookie);
  return context;
}

/** Gives a profile the cookie of a session. @param cookie As the `Cookie` header has it. */
export async function addCookie(context: BrowserContext, baseUrl: string, cookie: string): Promise<void> {
  const at = cookie.indexOf("=");
  await context.addCookies([{ name: cookie.slice(0, at), value: cookie.slice(at + 1), url: baseUrl }]);
}

/** What a page is looked at with. */
export interface Screen {
  readonly colorScheme: "light" | "dark";
  readonly width: number;
}

/** Both color schemes and both widths. The other two combinations show the same colors and layouts. */
const diagonals: readonly (readonly Screen[])[] = [
  [{ colorScheme: "light", width: 360 }, { colorScheme: "dark", width: 1440 }],
  [{ colorScheme: "dark", width: 360 }, { colorScheme: "light", width: 1440 }],
];
let looks = 0;

/**
 * Checks a loaded page on each screen without reloading it. A quick run checks a copy, in which repeated rows are left out, and only
 * its colors on the second screen.
 *
 * @param page With JavaScript enabled: without it, no timer of axe-core ends.
 * @param options `on`: the screens. Default: phone and desktop, one light and the other dark, swapped from call to call. `inPlace`:
 *   whether a copy would look different.
 * @returns One line per problem: axe-core violations (frames excluded), horizontal scrolling, or not exactly one `h1`.
 */
export async function problemsOnScreens(
  page: Page,
  { on = diagonals[looks++ % 2] as readonly Screen[], inPlace = isFull }: {
    on?: readonly Screen[];
    inPlace?: boolean;
  } = {},
): Promise<string[]> {
  const height = page.viewportSize()?.height ?? 900;
  const findings: string[] = [];
  // Phones and desktops, light and dark, have their turn with all rules.
  const thorough = on[looks % 4 < 2 ? 0 : on.length - 1];
  for (const screen of on) {
    const { colorScheme, width } = screen;
    await page.setViewportSize({ width, height });
    if (inPlace) {
      await page.emulateMedia({ colorScheme });
      // Colors change in steps.
      await page.evaluate(`Promise.all(document.getAnimations()
        .filter(({ effect }) => effect.getComputedTiming().iterations < Infinity)
        .map(({ finished }) => finished.catch(() => {}))).then(() => null)`);
    }
    const checked = inPlace ? page : await copyOf(page, screen);
    // axe-core is half a megabyte, so inject it once per page.
    if (await checked.evaluate("globalThis.axe === undefined")) {
      await checked.evaluate(`(() => { ${axe} })()`);
    }
    const rules = inPlace || screen === thorough ? {} : { runOnly: ["color-contrast"] };
    const found = [
      ...await checked.evaluate(`(${violations})(${JSON.stringify(rules)})`) as string[],
      ...await page.evaluate(misshapen) as string[],
    ];
    findings.push(...found.map((finding) => `${page.url()}, ${colorScheme}, ${width} px: ${finding}`));
  }
  return findings;
}

const violations = `async (rules) => {
  const options = { resultTypes: ["violations"], iframes: false, ...rules };
  const { violations } = await globalThis.axe.run(document, options);
  return violations.map(({ id, nodes }) =>
    id + ": " + nodes.map(({ html }) => html.slice(0, 150)).join(" | ")
  );
}`;

/** One line per table in a card whose rows don't begin below the card's heading, and per column that isn't below its own, within 1 px. */
const misaligned = `(() => {
  const edgesOf = (element) => {
    const boxes = [...element.querySelectorAll("svg, input, .badge, .swatch")].map((e) => e.getBoundingClientRect());
    const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const range = document.createRange();
      range.selectNodeContents(texts.currentNode);
      if (!texts.currentNode.parentElement.closest(".unseen")) boxes.push(...range.getClientRects());
    }
    const seen = boxes.filter(({ width }) => width > 0);
    return { left: Math.min(...seen.map(({ left }) => left)), right: Math.max(...seen.map(({ right }) => right)) };
  };
  const found = new Map();
  const compare = (head, content, side) => {
    const by = edgesOf(content)[side] - edgesOf(head)[side];
    if (Math.abs(by) > 1 && Math.abs(by) < Infinity) found.set(head, head.textContent + " is off by " + Math.round(by) + " px: " + content.textContent.slice(0, 40));
  };
  for (const table of document.querySelectorAll(".card table")) {
    const rows = [...table.tBodies].flatMap(({ rows }) => [...rows]).slice(0, 20);
    const heading = table.closest(".card").querySelector(":scope > header h2, :scope > .bar .tabs");
    if (heading && rows[0] && !table.closest(".body, details")) compare(heading, rows[0], "left");
    if (!table.tHead || getComputedStyle(table.tHead).position === "absolute") continue;
    for (const { cells } of rows) {
      for (const [index, head] of [...table.tHead.rows[0].cells].entries()) {
        if (cells[index]) compare(head, cells[index], getComputedStyle(head).textAlign === "right" ? "right" : "left");
      }
    }
  }
  return [...found.values()];
})()`;

/** One line if the page scrolls sideways, one per misaligned table, and one per card that something sticks out of, unless it scrolls or is cut off inside. */
const overhang = `(() => {
  const found = ${misaligned};
  const over = document.documentElement.scrollWidth - innerWidth;
  if (over > 0) found.push("scrolls horizontally by " + over + " px");
  for (const card of document.querySelectorAll(".card")) {
    const { left, right } = card.getBoundingClientRect();
    const visit = (parent) => {
      for (const child of parent.children) {
        const box = child.getBoundingClientRect();
        if (box.width === 0 || child.matches(".unseen, .menu-box, svg")) continue;
        if (box.right > right + 1 || box.left < left - 1) return child;
        const inside = getComputedStyle(child).overflowX === "visible" && visit(child);
        if (inside) return inside;
      }
    };
    const out = visit(card);
    if (out) {
      const by = Math.round(Math.max(out.getBoundingClientRect().right - right, left - out.getBoundingClientRect().left));
      found.push(out.localName + " " + out.className + " leaves its card by " + by + " px: " + out.textContent.slice(0, 40));
    }
  }
  return found;
})()`;

const misshapen = `(() => {
  const found = ${overhang};
  const headlines = document.querySelectorAll("h1").length;
  if (headlines !== 1) found.push(headlines + " headlines");
  return found;
})()`;

/** Windows by screen, in which axe-core stays compiled: running it for the first time takes four times as long. */
let copies: { readonly context: BrowserContext; readonly pages: Map<string, Page> } | undefined;

/** @returns A copy of a page without scripts and repeated rows. */
async function copyOf(page: Page, { colorScheme, width }: Screen): Promise<Page> {
  const browser = page.context().browser();
  if (browser === null) throw new Error("the page has no browser");
  if (copies?.context.browser() !== browser) {
    copies = { context: await browser.newContext(), pages: new Map() };
  }
  const screen = `${colorScheme} ${width}`;
  let copy = copies.pages.get(screen);
  if (copy === undefined) {
    copy = await copies.context.newPage();
    copies.pages.set(screen, copy);
    copy.setDefaultTimeout(timeoutMs);
    await copy.setViewportSize({ width, height: 900 });
    await copy.emulateMedia({ colorScheme });
  }
  const parts = await page.evaluate(partsOfPage);
  await copy.evaluate(`(${fillCopy})(${JSON.stringify(parts)})`);
  return copy;
}

const partsOfPage = `({
  html: document.documentElement.outerHTML,
  styles: [...document.styleSheets].flatMap(({ cssRules }) => [...cssRules].map(({ cssText }) => cssText)).join(""),
})`;

const fillCopy = `({ html, styles }) => {
  const copy = new DOMParser().parseFromString(html, "text/html").documentElement;
  for (const one of copy.querySelectorAll("script, link, style")) one.remove();
  // The same styles aren't parsed again.
  const style = document.querySelector("style") ?? document.head.appendChild(document.createElement("style"));
  if (style.textContent !== styles) style.textContent = styles;
  const shapeOf = (e) => e.localName + e.getAttributeNames() + e.getAttribute("class") + "(" + [...e.children].map(shapeOf) + ")";
  const leaveOut = (parent) => {
    const counts = new Map();
    for (const child of [...parent.children]) {
      const shape = shapeOf(child);
      counts.set(shape, (counts.get(shape) ?? 0) + 1);
      if (counts.get(shape) > 2) child.remove();
      else leaveOut(child);
    }
  };
  leaveOut(copy.querySelector("body"));
  const root = document.documentElement;
  for (const name of root.getAttributeNames()) root.removeAttribute(name);
  for (const { name, value } of copy.attributes) root.setAttribute(name, value);
  for (const one of [...document.head.children]) if (one !== style) one.remove();
  document.head.append(...copy.querySelector("head").children);
  document.body.replaceWith(document.adoptNode(copy.querySelector("body")));
}`;

/** @returns One line per width, in pixels, at which a loaded page scrolls sideways, and per card that is too narrow then. */
export async function overhangs(page: Page, widths: readonly number[]): Promise<string[]> {
  const found: string[] = [];
  for (const width of widths) {
    // A low page is painted sooner.
    await page.setViewportSize({ width, height: 200 });
    const problems = await page.evaluate<string[]>(overhang);
    found.push(...problems.map((problem) => `${page.url()}, ${width} px: ${problem}`));
  }
  return found;
}

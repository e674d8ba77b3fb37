// Debian's Firefox, driven by puppeteer-core with WebDriver BiDi.
import assert from "node:assert/strict";
// Test dependencies stay out of deno.json, because its imports go into the compiled binary.
// deno-lint-ignore no-import-prefix
import { type ElementHandle, type Frame, launch, type Page } from "npm:puppeteer-core@25.16.0";
import { isMissing, pathOf } from "../runner/needs.ts";
import { poll } from "../runner/poll.ts";

const executablePath = pathOf("firefox-esr") ?? "";
/** For starting and for loading a page. Reached only by a failure, even on a slow machine. */
const timeoutMs = 60_000;

/** True if no Firefox is installed. @throws When `CI=true`, where it is required. */
export const firefoxMissing = (): boolean => isMissing("firefox-esr");

/** A window, used as people do. What is looked for may still be loading. */
export interface FirefoxWindow {
  /** Opens an address. */
  open(url: string): Promise<void>;
  /** Types into an empty field with that label. */
  fill(label: string, text: string): Promise<void>;
  /** Uses the link or button with that name, or a menu: with the mouse, or without scripts with the keyboard. */
  use(name: string): Promise<void>;
  /** Waits until the page shows a text. */
  see(text: string): Promise<void>;
  /** Waits for a first-level heading. */
  arriveAt(heading: string): Promise<void>;
  /** @returns The text of the elements that a selector matches. */
  textsOf(selector: string): Promise<string[]>;
  /** @returns The frame whose address a pattern matches, used like a window. */
  frame(address: RegExp): Promise<FirefoxWindow>;
  /** @returns How far the page scrolls sideways at a width, in pixels. */
  overhangAt(width: number): Promise<number>;
  /** Script errors and errors on the console so far, also violations of the content security policy. */
  readonly errors: readonly string[];
}

/**
 * Runs a test with a window of a new Firefox.
 *
 * @param options `scripts`: whether pages may run scripts. Their timers and animation frames stand still without them, and so does
 *   what puppeteer builds on these. `hosts`: host names of this machine, whose certificates are accepted.
 */
export async function withFirefox(
  { scripts, hosts = [] }: { scripts: boolean; hosts?: readonly string[] },
  run: (window: FirefoxWindow) => Promise<void>,
): Promise<void> {
  const browser = await launch({
    browser: "firefox",
    executablePath,
    timeout: timeoutMs,
    acceptInsecureCerts: hosts.length > 0,
    extraPrefsFirefox: { "javascript.enabled": scripts, "network.dns.localDomains": hosts.join(",") },
  });
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(timeoutMs);
    await page.setViewport({ width: 1280, height: 900 });
    await run(openWindow(page, scripts));
  } finally {
    await browser.close();
  }
}

function openWindow(page: Page, scripts: boolean): FirefoxWindow {
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(`script error: ${error}`));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  return windowOf(page, { page, scripts, errors });
}

function windowOf(
  shown: Page | Frame,
  { page, scripts, errors }: { page: Page; scripts: boolean; errors: string[] },
): FirefoxWindow {
  // A page that is being replaced can't be asked.
  const ask = (expression: string) => shown.evaluate(expression).catch(() => null);
  const shows = async (expression: string) => {
    try {
      await poll(async () => await ask(expression) === true);
    } catch {
      throw new Error(`not ${expression} on ${shown.url()}: ${await ask("document.body.innerText")}`);
    }
  };
  return {
    errors,
    open: async (url) => void await shown.goto(url),
    async frame(address) {
      const found = () => page.frames().find((frame) => address.test(frame.url()));
      await poll(() => Promise.resolve(found() !== undefined));
      return windowOf(found() ?? page, { page, scripts, errors });
    },
    async fill(label, text) {
      const field = await find(
        shown,
        `.labels && [...e.labels].some((l) => name(l) === ${JSON.stringify(label)})`,
      );
      await field.focus();
      await page.keyboard.type(text);
    },
    async use(wanted) {
      const isWanted = `.matches("a[href], button, summary") && name(e) === ${JSON.stringify(wanted)}`;
      const element = await find(shown, isWanted);
      if (scripts) return await element.click();
      await element.focus();
      await page.keyboard.press("Enter");
    },
    see: (text) => shows(`document.body.innerText.includes(${JSON.stringify(text)})`),
    arriveAt: (heading) => shows(`document.querySelector("h1")?.innerText === ${JSON.stringify(heading)}`),
    async textsOf(selector) {
      const list = `[...document.querySelectorAll(${JSON.stringify(selector)})].map((e) => e.innerText)`;
      return await shown.evaluate(list) as string[];
    },
    async overhangAt(width) {
      await page.setViewport({ width, height: 900 });
      return await page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth",
      ) as number;
    },
  };
}

/** @param condition Of a visible element `e`, after `e`; `name(e)` is what it is called. */
async function find(page: Page | Frame, condition: string): Promise<ElementHandle> {
  let found: ElementHandle | null = null;
  await poll(async () => {
    const handle = await page.evaluateHandle(`(() => {
      const name = (e) => (e.getAttribute("aria-label") ?? e.innerText).trim();
      return [...document.querySelectorAll("body *")].find((e) => e.checkVisibility() && e${condition});
    })()`).catch(() => null);
    found = handle?.asElement() as ElementHandle | null ?? null;
    return found !== null;
  });
  assert(found !== null);
  return found;
}

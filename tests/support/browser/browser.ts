// Debian's Chromium, driven by playwright-core.
// Test dependencies stay out of deno.json, because its imports go into the compiled binary.
// deno-lint-ignore no-import-prefix
import { type Browser, type BrowserContext, chromium, type Page } from "npm:playwright-core@1.65.1";
// deno-lint-ignore no-import-prefix
import axe from "npm:axe-core@4.14.1/axe.min.js" with { type: "text" };

export type { Browser, BrowserContext, Page };

/** Without windows, pages take half the time. */
const shell = "/usr/bin/chromium-headless-shell";
const executablePath = programMissing(shell, { isOptional: true }) ? "/usr/bin/chromium" : shell;

/** @returns Whether no browser is installed. @throws When `CI=true`, where one is required. */
export function browserMissing(): boolean {
  return programMissing(executablePath);
}

/** @returns Whether a program is not installed. @throws When `CI=true`, where it is required unless it is optional. */
export function programMissing(path: string, { isOptional = false } = {}): boolean {
  try {
    return !Deno.statSync(path).isFile;
  } catch {
    if (!isOptional && Deno.env.get("CI") === "true") {
      throw new Error(`CI requires these tests, but ${path} is missing`);
    }
    return true;
  }
}

/** Starts a browser. @param hosts Addresses by host name. Default: every host name is this machine. */
export function launchBrowser(
  hosts: Readonly<Record<string, string>> = { "*": "127.0.0.1" },
): Promise<Browser> {
  const rules = Object.entries(hosts).map(([name, address]) => `MAP ${name} ${address}`);
  return chromium.launch({
    executablePath,
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

/** Runs a test with a browser that the file's tests share, and closes what the test opened. */
export async function withBrowser(run: (browser: Browser) => Promise<void>): Promise<void> {
  const browser = shared ??= await launchBrowser();
  try {
    await run(browser);
  } finally {
    await Promise.all(browser.contexts().map((context) => context.close()));
  }
}

Deno.test.afterAll(async () => await shared?.close());

/** Opens a page and collects its script errors and content security policy violations. */
export async function watchedPage(context: BrowserContext): Promise<{ page: Page; errors: string[] }> {
  const page = await context.newPage();
  // Reached only by a failure, even on a slow machine.
  page.setDefaultTimeout(60_000);
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(`script error: ${error.message}`));
  page.on("console", (message) => {
    // Chromium logs the 4xx of a rejected form, and headers that it ignores without HTTPS.
    const isExpected = /Failed to load resource|Cross-Origin-Opener-Policy header has been ignored/;
    if (message.type() === "error" && !isExpected.test(message.text())) errors.push(message.text());
  });
  return { page, errors };
}

/** Opens the menu of the sidebar, which has the organizations and the account. */
export async function openMenu(page: Page): Promise<void> {
  await page.locator("#side summary:visible").last().click();
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
  look: Parameters<Browser["newContext"]>[0] = {},
): Promise<BrowserContext> {
  const context = await browser.newContext(look);
  const at = cookie.indexOf("=");
  await context.addCookies([{ name: cookie.slice(0, at), value: cookie.slice(at + 1), url: baseUrl }]);
  return context;
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
 * Checks a loaded page on each screen without reloading it.
 *
 * @param page Works with JavaScript disabled too.
 * @param on The screens. Default: phone and desktop, one light and the other dark, swapped from call to call.
 * @returns One line per problem: axe-core violations (frames excluded), horizontal scrolling, or not exactly one `h1`.
 */
export async function problemsOnScreens(
  page: Page,
  on = diagonals[looks++ % 2] as readonly Screen[],
): Promise<string[]> {
  // axe-core is half a megabyte, so inject it once per page.
  if (await page.evaluate("globalThis.axe === undefined")) await page.evaluate(`(() => { ${axe} })()`);
  const findings: string[] = [];
  const height = page.viewportSize()?.height ?? 900;
  for (const { colorScheme, width } of on) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme });
    const found = await page.evaluate(lookAtPage) as string[];
    findings.push(...found.map((finding) => `${page.url()}, ${colorScheme}, ${width} px: ${finding}`));
  }
  return findings;
}

const lookAtPage = `(async () => {
  const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"], iframes: false });
  const found = violations.map(({ id, nodes }) =>
    id + ": " + nodes.map(({ html }) => html.slice(0, 150)).join(" | ")
  );
  const over = document.documentElement.scrollWidth - innerWidth;
  if (over > 0) found.push("scrolls horizontally by " + over + " px");
  const headlines = document.querySelectorAll("h1").length;
  if (headlines !== 1) found.push(headlines + " headlines");
  return found;
})()`;

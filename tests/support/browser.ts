// Debian's Chromium, driven by playwright-core.
// Test dependencies are not in deno.json: what is there goes into the compiled binary.
// deno-lint-ignore no-import-prefix
import { type Browser, type BrowserContext, chromium, type Page } from "npm:playwright-core@1.65.1";
// deno-lint-ignore no-import-prefix
import axe from "npm:axe-core@4.14.1/axe.min.js" with { type: "text" };

export type { Browser, BrowserContext, Page };

const executablePath = "/usr/bin/chromium";

/** Whether there is no browser to test with. Under `CI=true` there must be one. */
export function browserMissing(): boolean {
  try {
    return !Deno.statSync(executablePath).isFile;
  } catch {
    if (Deno.env.get("CI") === "true") {
      throw new Error(`these tests must run here, but ${executablePath} is missing`);
    }
    return true;
  }
}

/** Starts a browser that talks to this machine only. @param hosts Addresses by the names that it shall know. */
export function launchBrowser(hosts: Readonly<Record<string, string>> = {}): Promise<Browser> {
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
      ...(rules.length === 0 ? [] : [`--host-resolver-rules=${rules.join(",")}`]),
    ],
  });
}

/** A page whose console and network are watched: what breaks the content security policy, or any script error, is kept. */
export async function watchedPage(context: BrowserContext): Promise<{ page: Page; troubles: string[] }> {
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const troubles: string[] = [];
  page.on("pageerror", (error) => troubles.push(`script error: ${error.message}`));
  page.on("console", (message) => {
    // A refused form is 4xx on purpose, and Chromium says so; without https it says what it would have done with it.
    const isExpected = /Failed to load resource|Cross-Origin-Opener-Policy header has been ignored/;
    if (message.type() === "error" && !isExpected.test(message.text())) troubles.push(message.text());
  });
  return { page, troubles };
}

/** The screens that every page has to look well on. */
export const screens: readonly { readonly colorScheme: "light" | "dark"; readonly width: number }[] = [
  { colorScheme: "light", width: 360 },
  { colorScheme: "light", width: 1440 },
  { colorScheme: "dark", width: 1440 },
  { colorScheme: "dark", width: 360 },
];

/**
 * Looks at a page as it stands on one screen after another, without loading it again.
 *
 * @param page Scripts need not be enabled in it.
 * @param on Which screens. Default: a phone and a desk, light and dark.
 * @returns What is wrong, a line each: what axe-core finds (frames left aside), that the page scrolls sideways, or that
 * it has no headline or many.
 */
export async function findingsOnScreens(page: Page, on = screens): Promise<string[]> {
  // Half a megabyte: once a page.
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
  if (over > 0) found.push("scrolls sideways by " + over + " px");
  const headlines = document.querySelectorAll("h1").length;
  if (headlines !== 1) found.push(headlines + " headlines");
  return found;
})()`;

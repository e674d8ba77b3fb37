// Opens the app in a real browser: either in this process, with the test's clock and emails, or as the real program.
import assert from "node:assert/strict";
import type { Settings } from "../../../config.ts";
import { startTestApp, type TestApp } from "../app/app.ts";
import {
  type Browser,
  type BrowserContext,
  browserMissing,
  type Look,
  type Page,
  signedInContext,
  watchedPage,
  withBrowser,
} from "./browser.ts";
import { isReady, startProgram } from "../process/program.ts";
import { freePort } from "../database/sqld.ts";
import { isFull } from "../runner/extent.ts";
import type {} from "../runner/time_limit.ts";

/** A browser, and what it is tested with. */
export interface BrowserScene {
  readonly browser: Browser;
  readonly origin: string;
  /** Script errors and violations of the content security policy in all windows so far. At the end of a test there are none. */
  readonly errors: string[];
  /** Opens a window in a new profile. @param options `cookie`: as the `Cookie` header has it. Also how the window looks. */
  open(path?: string, options?: Look & { cookie?: string }): Promise<Page>;
}

/** A browser with the app on its own port. */
export interface AppScene extends BrowserScene {
  readonly test: TestApp;
}

interface BrowserTestOptions {
  /** The host name that the browser uses. Default: `localhost`. */
  readonly host?: string;
  /** Of the app, besides its address. */
  readonly settings?: Settings;
  /** True if something else is missing. */
  readonly ignore?: boolean;
  /** In milliseconds. */
  readonly timeout?: number;
}

/** Options of tests in a browser, which is still open at the end of a test. */
export const browserOptions = { ignore: browserMissing(), sanitizeOps: false, sanitizeResources: false };

/** Defines a test with the app and a browser. */
export function browserTest(
  name: string,
  run: (scene: AppScene) => Promise<void>,
  { host = "localhost", settings, ignore = false, ...more }: BrowserTestOptions = {},
): void {
  Deno.test({
    ...browserOptions,
    ...more,
    ignore: browserOptions.ignore || ignore,
    name,
    fn: () => withApp(host, run, settings),
  });
}

/**
 * Defines a test of pages with scripts, and one without.
 *
 * @param options `plainOnlyInFull`: a quick run leaves out the one without scripts, because other tests send the same forms.
 */
export function browserTests(
  name: string,
  run: (scene: AppScene, scripts: boolean) => Promise<void>,
  { plainOnlyInFull = false, ...options }: BrowserTestOptions & {
    plainOnlyInFull?: boolean;
  } = {},
): void {
  for (const scripts of plainOnlyInFull && !isFull ? [true] : [true, false]) {
    const test = (scene: AppScene) => {
      const open: AppScene["open"] = (path, look) =>
        scene.open(path, { javaScriptEnabled: scripts, ...look });
      return run({ ...scene, open }, scripts);
    };
    browserTest(`${name} ${scripts ? "with" : "without"} scripts`, test, options);
  }
}

/** Runs a test with the app on its own port, and a browser. @param host The host name that the browser uses. */
export function withApp(
  host: string,
  run: (scene: AppScene) => Promise<void>,
  settings: Settings = {},
): Promise<void> {
  return withServer(host, (test, origin) => withScene(origin, (scene) => run({ test, ...scene })), settings);
}

/** Runs a test with the app on its own port. @param host The host name that the test uses. */
export async function withServer(
  host: string,
  run: (test: TestApp, origin: string) => Promise<void>,
  settings: Settings = {},
): Promise<void> {
  const port = freePort();
  const origin = `http://${host}:${port}`;
  const test = await startTestApp({ ...settings, PORT: String(port), BASE_URL: origin });
  const server = Deno.serve(
    { port, hostname: "127.0.0.1", onListen() {} },
    (request) => test.app.fetch(request),
  );
  try {
    await run(test, origin);
  } finally {
    await server.shutdown();
    await test.dispose();
  }
}

/** Runs a test with a browser, and asserts that its pages made no errors. */
export function withScene(origin: string, run: (scene: BrowserScene) => Promise<void>): Promise<void> {
  return withBrowser(async (browser) => {
    const errors: string[] = [];
    await run({
      browser,
      origin,
      errors,
      async open(path, { cookie, ...look } = {}) {
        const context: BrowserContext = cookie === undefined
          ? await browser.newContext(look)
          : await signedInContext(browser, { baseUrl: origin, cookie }, look);
        const { page } = await watchedPage(context, errors);
        if (path !== undefined) await page.goto(origin + path);
        return page;
      },
    });
    assert.deepEqual(errors, []);
  });
}

/** Runs a test with a browser and the program in its own process and folder, and asserts that it exits cleanly. */
export async function withProgram(run: (scene: BrowserScene) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-browser-" });
  const program = startProgram({ folder });
  try {
    await isReady(program);
    await withScene(program.baseUrl, run);
  } finally {
    program.kill("SIGTERM");
    assert.equal(await program.ended(), 0);
    await Deno.remove(folder, { recursive: true });
  }
}

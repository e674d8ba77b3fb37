// Opens the app in a real browser: either in this process, with the test's clock and emails, or as the real program.
import assert from "node:assert/strict";
import { startTestApp, type TestApp } from "../app/app.ts";
import { type Browser, withBrowser } from "./browser.ts";
import { isReady, startProgram } from "../process/program.ts";
import { freePort } from "../database/sqld.ts";

/** Runs a test with the app on its own port. @param host The host name that the browser uses. */
export async function withApp(
  host: string,
  run: (test: TestApp, browser: Browser) => Promise<void>,
): Promise<void> {
  const port = freePort();
  const test = await startTestApp({ PORT: String(port), BASE_URL: `http://${host}:${port}` });
  const server = Deno.serve(
    { port, hostname: "127.0.0.1", onListen() {} },
    (request) => test.app.fetch(request),
  );
  try {
    await withBrowser((browser) => run(test, browser));
  } finally {
    await server.shutdown();
    await test.dispose();
  }
}

/** Runs a test with the program in its own process and folder, and a browser. */
export function withProgram(run: (baseUrl: string, browser: Browser) => Promise<void>): Promise<void> {
  return withRunningProgram((baseUrl) => withBrowser((browser) => run(baseUrl, browser)));
}

/** Runs a test with the program in its own process and folder, and asserts that it exits cleanly. */
export async function withRunningProgram(run: (baseUrl: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-browser-" });
  const program = startProgram({ folder });
  try {
    await isReady(program);
    await run(program.baseUrl);
  } finally {
    program.kill("SIGTERM");
    assert.equal(await program.ended(), 0);
    await Deno.remove(folder, { recursive: true });
  }
}

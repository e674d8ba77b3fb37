// Opens the app in a real browser: either in this process, with the test's clock and emails, or as the real program.
import assert from "node:assert/strict";
import { startTestApp, type TestApp } from "./app.ts";
import { type Browser, launchBrowser } from "./browser.ts";
import { isReady, startProgram } from "./program.ts";
import { freePort } from "./sqld.ts";

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
  const browser = await launchBrowser({ [host]: "127.0.0.1" });
  try {
    await run(test, browser);
  } finally {
    await browser.close();
    await server.shutdown();
    await test.dispose();
  }
}

/** Runs a test with the program in its own process and folder, and asserts that it exits cleanly. */
export async function withProgram(run: (baseUrl: string, browser: Browser) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-browser-" });
  const program = startProgram({ folder });
  await isReady(program);
  const browser = await launchBrowser();
  try {
    await run(program.baseUrl, browser);
  } finally {
    await browser.close();
    program.kill("SIGTERM");
    assert.equal(await program.ended(), 0);
    await Deno.remove(folder, { recursive: true });
  }
}

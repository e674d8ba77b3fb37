// Serves a test's app on a real port, for behavior that only shows on a connection.
import { Listener } from "../../../commands/serve/listen.ts";
import type { Settings } from "../../../config.ts";
import { freePort } from "../database/sqld.ts";
import { startTestApp, type TestApp, testApp } from "./app.ts";

/** Serves the app while `act` runs. @param port By default a free one. */
export async function onRealPort(
  test: TestApp,
  act: (baseUrl: string) => Promise<void>,
  port = 0,
): Promise<void> {
  const listener = new Listener((request, info) => test.app.fetch(request, info), {
    hostname: "127.0.0.1",
    port,
    // Those of the process are mostly not its connections, but the files of other tests.
    descriptorsMax: Infinity,
    log: { info: () => {}, warn: () => {}, error: () => {} },
  });
  try {
    await act(`http://127.0.0.1:${listener.port}`);
  } finally {
    await listener.finish();
    await listener.close();
  }
}

/** Defines a test with its own app on a free port. */
export function realTest(name: string, run: (test: TestApp, baseUrl: string) => Promise<void>): void {
  testApp(name, (test) => onRealPort(test, (baseUrl) => run(test, baseUrl)));
}

/** Serves a new app at its own BASE_URL, with the clock of other programs, while `act` runs. */
export async function withOwnAddress(
  act: (test: TestApp) => Promise<void>,
  settings: Settings = {},
): Promise<void> {
  const port = freePort();
  const test = await startTestApp({ BASE_URL: `http://localhost:${port}`, ...settings });
  test.advance(Date.now() - test.now());
  try {
    await onRealPort(test, () => act(test), port);
  } finally {
    await test.dispose();
  }
}

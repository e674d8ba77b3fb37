// Serves a test's app on a real port, for behavior that only shows on a connection.
import { Listener } from "../../../commands/serve/listen.ts";
import { type TestApp, testApp } from "./app.ts";

/** Serves the app on a free port while `act` runs. */
export async function onRealPort(test: TestApp, act: (baseUrl: string) => Promise<void>): Promise<void> {
  const listener = new Listener((request, info) => test.app.fetch(request, info), {
    hostname: "127.0.0.1",
    port: 0,
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

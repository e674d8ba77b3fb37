// The app of a test behind a real port: what only a connection can show.
import { Listener } from "../../commands/serve/listen.ts";
import type { TestApp } from "./app.ts";

/** Answers on a free port of this machine for as long as the act takes. */
export async function onRealPort(test: TestApp, act: (baseUrl: string) => Promise<void>): Promise<void> {
  let baseUrl = "";
  const listener = new Listener((request, info) => test.app.fetch(request, info), {
    hostname: "127.0.0.1",
    port: 0,
    log: { info: () => {}, warn: () => {}, error: () => {} },
    onListen: ({ port }) => baseUrl = `http://127.0.0.1:${port}`,
  });
  try {
    await act(baseUrl);
  } finally {
    await listener.shutdown();
  }
}

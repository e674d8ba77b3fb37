// Runs the browser client with a fake page and a fake service whose responses the test controls.
import assert from "node:assert/strict";

/** A fake page with the client loaded, and a fake service. */
export interface Scene {
  readonly client: typeof import("../../../packages/client/src/browser.d.ts");
  /** Pending requests, as method and path. */
  readonly waiting: string[];
  /** Responds to the oldest pending request, or to the oldest one that matches `to`. */
  answer(body: unknown, options?: { status?: number; to?: string }): Promise<void>;
  /** Fails the oldest pending request with a network error. */
  fail(): Promise<void>;
  hide(isHidden: boolean): void;
  look(type: "focus" | "pageshow" | "visibilitychange", isPersisted?: boolean): void;
}

/** Defines a test of the client with a listener. @param run `changes`: each user that the listener was called with. */
export function watchTest(name: string, run: (scene: Scene, changes: unknown[]) => Promise<void>): void {
  clientTest(name, async (scene) => {
    const changes: unknown[] = [];
    const stop = scene.client.onChange((user) => changes.push(user));
    await run(scene, changes);
    stop();
  });
}

let scenes = 0;

/** Defines a test of the client in a fake page. */
export function clientTest(name: string, run: (scene: Scene) => Promise<void>): void {
  Deno.test(name, async () => {
    const page = Object.assign(new EventTarget(), { hidden: false });
    const asked: { request: string; answer: (answer: Response | Error) => void }[] = [];
    const globals = globalThis as unknown as Record<string, unknown>;
    const fetchBefore = globals["fetch"];
    globals["document"] = page;
    globals["fetch"] = (url: string, { method = "GET", credentials }: RequestInit) => {
      assert.equal(credentials, "include");
      return new Promise<Response>((resolve, reject) =>
        asked.push({
          request: `${method} ${url.replace(/.*\/api/, "/api")}`,
          answer: (response) => response instanceof Error ? reject(response) : resolve(response),
        })
      );
    };
    const reply = async (response: unknown, to?: string) => {
      const at = to === undefined ? 0 : asked.findIndex(({ request }) => request === to);
      const [first] = asked.splice(at, 1);
      assert(first !== undefined, "no pending request");
      first.answer(response as Response);
      for (let i = 0; i < 50; i++) await Promise.resolve();
    };
    try {
      await run({
        client: await import(`../../../static/gatehouse.js?scene=${++scenes}`),
        get waiting() {
          return asked.map(({ request }) => request);
        },
        answer: (body, { status = 200, to } = {}) => {
          const json = () => status === 204 ? Promise.reject(new SyntaxError()) : Promise.resolve(body);
          return reply({ status, ok: status < 300, json }, to);
        },
        fail: () => reply(new TypeError("Failed to fetch")),
        hide: (isHidden) => {
          page.hidden = isHidden;
        },
        look(type, isPersisted = false) {
          const event = Object.assign(new Event(type), { persisted: isPersisted });
          (type === "visibilitychange" ? page : globalThis).dispatchEvent(event);
        },
      });
    } finally {
      globals["fetch"] = fetchBefore;
      delete globals["document"];
    }
  });
}

// Clients of both languages with the same methods, so that they run the same cases.
import assert from "node:assert/strict";
import {
  ApiError,
  ConnectionError,
  Gatehouse,
  GatehouseError,
  type HeldUsage,
  type Hold,
  type HoldOptions,
  RateLimitError,
  TimeoutError,
  type VerifyOptions,
} from "../../../packages/client/src/index.ts";
import { eachLanguage, type Language } from "./any_meter.ts";
import type { MeterSteps, Scene } from "./meter_scene.ts";
import { drive, inPython, literal, nowhere } from "./python_meter.ts";

interface ClientOptions {
  readonly url: string;
  readonly operatorToken?: string;
  readonly timeoutMs?: number;
}

export interface Fault {
  readonly code: string;
  readonly status: number | null;
  readonly requestId: string | null;
  readonly details: readonly { readonly path: string }[];
  readonly message: string;
  readonly retryAfterMs: number | null;
}

export interface AnyClient {
  // deno-lint-ignore no-explicit-any
  me(cookie: string | null): Promise<any>;
  // deno-lint-ignore no-explicit-any
  verify(key: unknown, options?: VerifyOptions): Promise<any>;
  // deno-lint-ignore no-explicit-any
  hold(options: HoldOptions): Promise<any>;
  // deno-lint-ignore no-explicit-any
  settle(id: string, usage: readonly HeldUsage[]): Promise<any>;
  release(id: string, options?: { reason?: string }): Promise<Hold>;
  extend(id: string, options: { expiresIn: number }): Promise<Hold>;
  fault(call: () => Promise<unknown>): Promise<Fault>;
}

export interface ClientScene extends Scene {
  readonly language: Language;
  newClient(options: ClientOptions): AnyClient;
}

export function clientSteps(cases: Parameters<typeof eachLanguage<ClientScene>>[0]): MeterSteps {
  return eachLanguage(cases, (scene, language) => {
    const newClient = (options: ClientOptions) =>
      language === "Python" ? ofPython(scene, options) : inTypeScript(options);
    return { ...scene, language, newClient };
  });
}

/** For a machine that does much else. */
const patience = { timeoutMs: 60_000 };

async function fault(call: () => Promise<unknown>): Promise<Fault> {
  const error = await call().then(
    (result) => assert.fail(`returned ${JSON.stringify(result)}`),
    (error) => error,
  );
  if (error instanceof assert.AssertionError) throw error;
  return error;
}

/** The classes of errors other than `ApiError`. */
const classes: Readonly<Record<string, new (...facts: never[]) => GatehouseError>> = {
  connection_failed: ConnectionError,
  timeout: TimeoutError,
  limit_exceeded: RateLimitError,
  rate_limited: RateLimitError,
};

function inTypeScript(options: ClientOptions): AnyClient {
  const gatehouse = new Gatehouse({ ...patience, ...options });
  return {
    me: (cookie) => gatehouse.me(cookie === null ? {} : { cookie }),
    verify: (key, given) => gatehouse.verify(key as string, given),
    hold: (options) => gatehouse.hold(options),
    settle: (id, usage) => gatehouse.settle(id, usage),
    release: (id, options) => gatehouse.release(id, options),
    extend: (id, options) => gatehouse.extend(id, options),
    async fault(call) {
      const error = await fault(call);
      const expected = classes[error.code] ?? ApiError;
      assert.ok(error instanceof expected && error instanceof GatehouseError, Deno.inspect(error));
      assert.equal((error as Error).name, expected.name);
      const isApiError = error instanceof ApiError;
      const [details, retryAfterMs] = isApiError ? [error.details, error.retryAfterMs] : [[], null];
      const { code, status, requestId, message } = error;
      return { code, status, requestId, details, message, retryAfterMs } as Fault;
    },
  };
}

const definitions = `def call(method, *args, **named):
    try:
        return [getattr(g, method)(*args, **named), None]
    except gatehouse.GatehouseError as error:
        fault = dict(code=error.code, status=error.status, requestId=error.request_id, message=str(error))
        wait = error.retry_after and error.retry_after * 1000
        return [None, dict(fault, details=list(error.details), retryAfterMs=wait)]
`;

function ofPython(scene: Scene, options: ClientOptions): AnyClient {
  const driven = drive({ url: nowhere, api_key: "unused" });
  scene.onEnd(() => driven.kill());
  const started = driven.run(
    `${definitions}g = gatehouse.Gatehouse(**${literal(inPython({ ...patience, ...options }))})`,
  );
  const call = async (method: string, args: unknown[], named = {}) => {
    await started;
    const python = `result = call("${method}", *${literal(args)}, **${literal(inPython(named))})`;
    const { result } = await driven.run(python);
    if (!Array.isArray(result)) throw new Error(String(result));
    const [value, fault] = result;
    if (fault !== null) throw fault;
    return value;
  };
  return {
    me: (cookie) => call("me", [cookie]),
    verify: (key, { usage, hold, ...more } = {}) =>
      call("verify", [key], {
        ...more,
        ...(Array.isArray(usage) ? { usage: usage.map(inPython) } : usage),
        ...(typeof hold === "object" ? { hold: inPython(hold) } : { hold }),
      }),
    hold: ({ usage, ...more }) => call("hold", [[usage].flat().map(inPython)], more),
    settle: (id, usage) => call("settle", [id, usage.map(inPython)]),
    release: async (id, options) => (await call("release", [id], options)).hold,
    extend: async (id, options) => (await call("extend", [id], options)).hold,
    fault,
  };
}

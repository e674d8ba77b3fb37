// Runs the whole app in the test's process with its own data file and a clock that the test controls.
import assert from "node:assert/strict";
import { createApp } from "../../../app.ts";
import { createHotApp } from "../../../hot_app.ts";
import { type Config, parseConfig, type Settings } from "../../../config.ts";
import type { App, AppParts } from "../../../routes/env.ts";
import { collectAll, type CollectMetrics } from "../../../routes/metric_set.ts";
import { createMetrics } from "../../../routes/metrics.ts";
import { processMetrics } from "../../../routes/process_metrics.ts";
import type { DevelopmentMail } from "../../../services/outbox/mail.ts";
import type { MailTransport } from "../../../services/outbox/mail_transport.ts";
import { createProcessParts, type OwnedProcessParts } from "../../../services/process_parts.ts";
import { PasswordHasher } from "../../../services/access/password_hasher.ts";
import { createServices, type Services } from "../../../services/services.ts";
import { emailTextsOf } from "../../../views/outbox/mails.tsx";
import { embeddedTestDatabase, type TestDatabase } from "../database/database.ts";
import { assertDocumented } from "./documented.ts";
import { newReportsThread } from "./reused_threads.ts";

/** When every test starts: Saturday, November 21, 2026, 14:03:11 UTC. */
export const testStart = Date.UTC(2026, 10, 21, 14, 3, 11, 250);
export const testPassword = "correct horse 9 battery";

/** Hashes a password once and remembers the results, because hashing takes longer than the rest of many tests. */
class RememberingHasher extends PasswordHasher {
  readonly #hashes = new Map<string, string>();
  readonly #matches = new Map<string, boolean>();

  override async hash(password: string): Promise<string> {
    const phc = this.#hashes.get(password) ?? await super.hash(password);
    this.#hashes.set(password, phc);
    return phc;
  }

  override async verify(phc: string | undefined, password: string): Promise<boolean> {
    const key = JSON.stringify([phc, password]);
    const matches = this.#matches.get(key) ?? await super.verify(phc, password);
    this.#matches.set(key, matches);
    return matches;
  }
}

/** Shared and started up front, because its threads take longer to start than most tests take to run. */
// Shared by all tests, so that none may start a timer that another one would find.
const passwordHasher = new RememberingHasher(navigator.hardwareConcurrency, { idleMs: Infinity });
await Promise.all(Array.from({ length: navigator.hardwareConcurrency }, () => passwordHasher.hash("")));

/** A running app and its test controls. */
export interface TestApp {
  readonly app: App;
  readonly config: Config;
  readonly services: Services;
  readonly parts: OwnedProcessParts;
  readonly opened: TestDatabase;
  /** What `/metrics` adds up. */
  readonly metricSources: CollectMetrics[];
  /** All log output so far. */
  readonly logged: () => string;
  /** Moves the clock forward, in milliseconds. */
  advance(ms: number): void;
  now(): number;
  /** Sends a same-origin request, as the product's own pages do, and checks the response against the OpenAPI document. */
  send(path: string, options?: SendOptions): Promise<Response>;
  /** Creates an account with its own organization. */
  signUp(name?: string): Promise<TestPerson>;
  /** Delivers due emails. @returns The last 100 emails sent, newest last. */
  mails(): Promise<readonly DevelopmentMail[]>;
  dispose(): Promise<void>;
}

/** Options of a request. */
export interface SendOptions {
  readonly method?: string;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as a form. */
  readonly form?: Readonly<Record<string, string>>;
  readonly body?: BodyInit;
  readonly cookie?: string;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly peerAddress?: string;
}

/** A signed-up user. */
export interface TestPerson {
  readonly email: string;
  /** Their `Cookie` header. */
  readonly cookie: string;
  readonly userId: string;
  readonly organizationId: string;
}

/**
 * Starts an app.
 *
 * @param settings Overrides of the default settings.
 * @param options `open`: opens a database other than a new data file. `mailTransport`: delivers email when `SMTP_URL` is set.
 * `documents`: for requests to applications. `providerTimeoutMs`: for identity providers; a minute by default, because the machine may be loaded. `isDebug`: also logs each request.
 */
export async function startTestApp(
  settings: Settings = {},
  options: {
    open?: () => Promise<TestDatabase>;
    mailTransport?: MailTransport;
    providerTimeoutMs?: number;
    documents?: Parameters<typeof createServices>[1]["documents"];
    isDebug?: boolean;
  } = {},
): Promise<TestApp> {
  const result = parseConfig(settings, { isTerminal: false });
  if (!("config" in result)) throw new Error(result.faults.join("\n"));
  const { config } = result;
  const opened = await (options.open ?? embeddedTestDatabase)();
  let now = testStart;
  let people = 0;
  const lines: string[] = [];
  const write = (message: string, values: Record<string, unknown>) => {
    lines.push(
      `${message} ${JSON.stringify(values, (_name, value) => value instanceof Error ? value.stack : value)}`,
    );
  };
  const base = { config, database: opened.database, clock: () => now };
  const onBackgroundError = (error: unknown) => write("background", { error });
  const parts = createProcessParts(base, {
    onBackgroundError,
    mail: {
      log: { debug: write, info: write, warn: write },
      texts: emailTextsOf(config.brand),
      transport: options.mailTransport,
    },
    passwordHasher,
    newReportsWorker: newReportsThread,
  });
  const { providerTimeoutMs = 60_000, documents } = options;
  const services = createServices(base, { parts, onBackgroundError, providerTimeoutMs, documents });
  const metrics = createMetrics(services);
  const metricSources = [
    processMetrics({ parts, services, version: "0.0.0", clock: base.clock }),
    metrics.collect,
  ];
  const app = startedApp({
    config,
    services,
    log: { debug: options.isDebug === true ? write : undefined, warn: write, error: write },
    metrics,
    allMetrics: () => collectAll(metricSources),
  });

  const send = sender(app, config);
  return {
    app,
    config,
    services,
    parts,
    metricSources,
    opened,
    logged: () => lines.join("\n"),
    advance: (ms) => {
      now += ms;
    },
    now: () => now,
    send,
    async signUp(name = "Ada Lovelace") {
      const email = `person${++people}@example.com`;
      const response = await send("/api/auth/sign-up", {
        json: { name, email, password: testPassword },
        // A separate address for each person, so that they don't share rate limits.
        peerAddress: `10.1.${people >> 8}.${people & 255}`,
      });
      assert.equal(response.status, 201, `${await response.clone().text()} ${lines.join("\n")}`);
      const body = await response.json();
      return { email, cookie: cookieOf(response), userId: body.user.id, organizationId: body.organizationId };
    },
    async mails() {
      const { mailWorker } = parts;
      for (;;) {
        const { nextDueAt } = await mailWorker.deliverDue();
        if (nextDueAt === null || nextDueAt > now) return await mailWorker.developmentMails();
      }
    },
    async dispose() {
      await services.close();
      await parts.close();
      await opened.dispose();
    },
  };
}

/** @returns The whole app, whose hot routes respond as those of a thread that has started. */
export function startedApp(parts: AppParts): App {
  const app = createApp(parts, { version: "0.0.0" });
  const { fetch } = app;
  app.fetch = createHotApp(parts, () => Promise.resolve({ fetch })).fetch;
  return app;
}

/** @returns A function that sends requests to an app: see {@linkcode TestApp.send}. */
export function sender(app: App, config: Config): TestApp["send"] {
  return async function send(path, given = {}) {
    const headers = new Headers({ origin: config.baseUrl.origin, ...given.headers });
    let body = given.body;
    if (given.json !== undefined) {
      body = JSON.stringify(given.json);
      if (!headers.has("content-type")) headers.set("content-type", "application/json");
    } else if (given.form !== undefined) body = new URLSearchParams(given.form).toString();
    if (given.form !== undefined) headers.set("content-type", "application/x-www-form-urlencoded");
    if (given.cookie !== undefined) headers.set("cookie", given.cookie);
    if (given.apiKey !== undefined) headers.set("authorization", `Bearer ${given.apiKey}`);
    const method = given.method ?? (body === undefined ? "GET" : "POST");
    const request = new Request(`${config.baseUrl.origin}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
    });
    const response = await app.fetch(request, { remoteAddr: { hostname: given.peerAddress ?? "127.0.0.1" } });
    await assertDocumented(app, request, response);
    return response;
  };
}

/** @returns The `Cookie` header that a browser sends after this response. */
export function cookieOf(response: Response): string {
  return response.headers.getSetCookie()
    .filter((cookie) => !/max-age=0/i.test(cookie))
    .map((cookie) => cookie.slice(0, cookie.indexOf(";")))
    .join("; ");
}

/** Creates an API key. @returns Its id and the full key. */
export async function createTestKey(
  test: TestApp,
  person: TestPerson,
  more: { name?: string; expiresAt?: string; environment?: "test"; permissions?: readonly string[] } = {},
): Promise<{ id: string; fullKey: string }> {
  const response = await test.send("/api/portal/api-keys", {
    cookie: person.cookie,
    json: { name: "Production", ...more },
  });
  assert.equal(response.status, 201, await response.clone().text());
  const { apiKey, fullKey } = await response.json();
  return { id: apiKey.id, fullKey };
}

/** Rotates an API key. @param oldKeyMs How long the old one still works. @returns The new one's id and the full key. */
export async function rotateTestKey(
  test: TestApp,
  { cookie }: Pick<TestPerson, "cookie">,
  { id, oldKeyMs = 86_400_000 }: { id: string; oldKeyMs?: number },
): Promise<{ id: string; fullKey: string }> {
  const json = { expireOldAt: new Date(test.now() + oldKeyMs).toISOString() };
  const response = await test.send(`/api/portal/api-keys/${id}/rotate`, { cookie, json });
  assert.equal(response.status, 201, await response.clone().text());
  const { apiKey, fullKey } = await response.json();
  return { id: apiKey.id, fullKey };
}

/** Asserts an error's status and code. @returns The body. */
export async function assertError(response: Response, status: number, code: string) {
  const text = await response.text();
  assert.equal(response.status, status, text);
  const body = JSON.parse(text);
  assert.equal(body.error.code, code, text);
  assert.equal(body.requestId, response.headers.get("x-request-id"));
  assert.equal(typeof body.error.message, "string");
  assert.doesNotMatch(text, /\.ts:|\bat \w+ \(|node_modules|SQLITE/);
  return body as { error: { code: string; message: string; details?: { path: string; message: string }[] } };
}

/** Defines a test with its own app. */
export function testApp(
  name: string,
  test: (app: TestApp) => Promise<void>,
  settings: Settings = {},
): void {
  Deno.test(name, async () => {
    const app = await startTestApp(settings);
    try {
      await test(app);
    } finally {
      await app.dispose();
    }
  });
}

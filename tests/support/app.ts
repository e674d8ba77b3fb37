// The whole app in this process, over a data file of its own, with a clock that the test moves.
import assert from "node:assert/strict";
import { createApp } from "../../app.ts";
import { type Config, parseConfig, type Settings } from "../../config.ts";
import type { App } from "../../routes/env.ts";
import type { DevelopmentMail } from "../../services/mail/mail.ts";
import type { MailTransport } from "../../services/mail/mail_transport.ts";
import { PasswordHasher } from "../../services/sign_in/password_hasher.ts";
import { createServices, type Services } from "../../services/services.ts";
import { emailTexts } from "../../views/mail/mails.tsx";
import { embeddedTestDatabase, type TestDatabase } from "./database.ts";
import { assertDocumented } from "./documented.ts";

/** The moment at which every test begins: Saturday, 21 November 2026, 14:03:11 UTC. */
export const testStart = Date.UTC(2026, 10, 21, 14, 3, 11, 250);
export const testPassword = "correct horse 9 battery";

/** Shared: its threads take longer to start than most tests run. They are there before the first test begins. */
const passwordHasher = new PasswordHasher(navigator.hardwareConcurrency);
await Promise.all(Array.from({ length: navigator.hardwareConcurrency }, () => passwordHasher.hash("")));

/** A running app and what tests do with it. */
export interface TestApp {
  readonly app: App;
  readonly config: Config;
  readonly services: Services;
  readonly opened: TestDatabase;
  /** Everything that was logged, as one text. */
  readonly logged: () => string;
  /** Moves the clock, in milliseconds. */
  advance(ms: number): void;
  now(): number;
  /** Sends a request as the product's own page would: same origin, JSON. The answer must be one that the OpenAPI document has. */
  send(path: string, options?: SendOptions): Promise<Response>;
  /** Makes an account with an organization of its own. */
  signUp(name?: string): Promise<TestPerson>;
  /** Sends what is due. @returns The mails that were sent so far, newest last; the last 100 of them. */
  mails(): Promise<readonly DevelopmentMail[]>;
  dispose(): Promise<void>;
}

/** What a request can have. */
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

/** Somebody who signed up. */
export interface TestPerson {
  readonly email: string;
  /** The `Cookie` header that they send. */
  readonly cookie: string;
  readonly userId: string;
  readonly organizationId: string;
}

/**
 * @param settings Beyond the defaults.
 * @param options `open`: another database than a new data file. `mailTransport`: where mails go with an `SMTP_URL`.
 */
export async function startTestApp(
  settings: Settings = {},
  options: { open?: () => Promise<TestDatabase>; mailTransport?: MailTransport } = {},
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
  const services = createServices({ config, database: opened.database, clock: () => now }, {
    onBackgroundError: (error) => write("background", { error }),
    mailLog: { debug: write, info: write, warn: write },
    mailTransport: options.mailTransport,
    emailTexts,
    passwordHasher,
  });
  const app = createApp({ config, services, log: { debug: undefined, warn: write, error: write } }, {
    version: "0.0.0",
  });

  async function send(path: string, given: SendOptions = {}): Promise<Response> {
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
    const answer = await app.fetch(request, { remoteAddr: { hostname: given.peerAddress ?? "127.0.0.1" } });
    await assertDocumented(app, request, answer);
    return answer;
  }

  return {
    app,
    config,
    services,
    opened,
    logged: () => lines.join("\n"),
    advance: (ms) => {
      now += ms;
    },
    now: () => now,
    send,
    async signUp(name = "Ada Lovelace") {
      const email = `person${++people}@example.com`;
      const answer = await send("/api/auth/sign-up", {
        json: { name, email, password: testPassword },
        // Each from an address of its own, so that no limit is shared between people.
        peerAddress: `10.1.${people >> 8}.${people & 255}`,
      });
      assert.equal(answer.status, 201, `${await answer.clone().text()} ${lines.join("\n")}`);
      const body = await answer.json();
      return { email, cookie: cookieOf(answer), userId: body.user.id, organizationId: body.organizationId };
    },
    async mails() {
      const { mail } = services;
      for (;;) {
        const { nextDueAt } = await mail.deliverDue();
        if (nextDueAt === null || nextDueAt > now) return mail.developmentMails();
      }
    },
    async dispose() {
      await services.close();
      await opened.dispose();
    },
  };
}

/** @returns The `Cookie` header that a browser sends after an answer. */
export function cookieOf(answer: Response): string {
  return answer.headers.getSetCookie()
    .filter((cookie) => !/max-age=0/i.test(cookie))
    .map((cookie) => cookie.slice(0, cookie.indexOf(";")))
    .join("; ");
}

/** Creates a key. @returns The whole key and its id. */
export async function createTestKey(
  test: TestApp,
  person: TestPerson,
  more: { name?: string; expiresAt?: string } = {},
): Promise<{ id: string; fullKey: string }> {
  const answer = await test.send("/api/portal/api-keys", {
    cookie: person.cookie,
    json: { name: "Production", ...more },
  });
  assert.equal(answer.status, 201, await answer.clone().text());
  const { apiKey, fullKey } = await answer.json();
  return { id: apiKey.id, fullKey };
}

/** Asserts an error's status and code. @returns The body. */
export async function assertError(answer: Response, status: number, code: string) {
  const text = await answer.text();
  assert.equal(answer.status, status, text);
  const body = JSON.parse(text);
  assert.equal(body.error.code, code, text);
  assert.equal(body.requestId, answer.headers.get("x-request-id"));
  assert.equal(typeof body.error.message, "string");
  assert.doesNotMatch(text, /\.ts:|\bat \w+ \(|node_modules|SQLITE/);
  return body as { error: { code: string; message: string; details?: { path: string; message: string }[] } };
}

/** A test with an app of its own. */
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

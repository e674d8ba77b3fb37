// Endpoints of tests: HTTP servers on loopback that keep what they got, and what makes events for them.
import assert from "node:assert/strict";
// deno-lint-ignore no-import-prefix
import { Webhook } from "npm:standardwebhooks@1.1.1";
import { sql, type Statement } from "../../../db/engine/database.ts";
import { insertEvent } from "../../../db/outbox/events.ts";
import { newId } from "../../../domain/id.ts";
import { newWebhookSecret } from "../../../domain/outbox/signature.ts";
import { accessTo, type MemberAccess } from "../../../services/access/access.ts";
import { WebhookWorker, type WebhookWorkerOptions } from "../../../services/outbox/webhook_worker.ts";
import { type TestApp, testApp, type TestPerson } from "../app/app.ts";
import { onBothDatabases } from "../meter/usage.ts";

/** Settings with which webhooks reach loopback. */
export const webhookSettings = { WEBHOOK_ALLOWED_HOSTS: "127.0.0.0/8" };

/** A request that an endpoint got. */
export interface ReceivedWebhook {
  readonly id: string;
  readonly headers: Headers;
  readonly body: string;
}

export interface Receiver {
  readonly url: string;
  readonly received: ReceivedWebhook[];
  /** The most requests that were in progress at the same time, and the most with one id. */
  readonly mostAtOnce: () => number;
  readonly mostOfOneId: () => number;
  /** For all later requests; 204 at first. */
  respond(response: (request: ReceivedWebhook) => Response | Promise<Response>): void;
}

/** Runs a test with an HTTP server. */
export async function withReceiver(use: (receiver: Receiver) => Promise<void>): Promise<void> {
  const received: ReceivedWebhook[] = [];
  let respond: Parameters<Receiver["respond"]>[0] = () => new Response(null, { status: 204 });
  let [now, most, mostOfOne] = [0, 0, 0];
  const inProgress = new Map<string, number>();
  const stop = new AbortController();
  const options = { port: 0, hostname: "127.0.0.1", signal: stop.signal, onListen() {} };
  const server = Deno.serve(options, async (request) => {
    most = Math.max(most, ++now);
    const headers = new Headers(request.headers);
    const got = { id: headers.get("webhook-id") ?? "", headers, body: await request.text() };
    received.push(got);
    const count = (change: 1 | -1) => inProgress.set(got.id, (inProgress.get(got.id) ?? 0) + change);
    count(1);
    mostOfOne = Math.max(mostOfOne, inProgress.get(got.id) ?? 0);
    try {
      return await respond(got);
    } finally {
      now--;
      count(-1);
    }
  });
  try {
    await use({
      url: `http://127.0.0.1:${server.addr.port}/hook`,
      received,
      mostAtOnce: () => most,
      mostOfOneId: () => mostOfOne,
      respond: (next) => respond = next,
    });
  } finally {
    // A shutdown would wait for connections that clients have closed while a response was written, sometimes forever.
    stop.abort();
    await server.finished;
  }
}

/** What a test of deliveries begins with: someone with an organization, and two servers for its endpoints. */
export interface WebhookScene extends Pick<TestPerson, "organizationId" | "cookie"> {
  readonly test: TestApp;
  readonly receiver: Receiver;
  readonly other: Receiver;
}

type RunScene = (scene: WebhookScene) => Promise<void>;

const inScene = (run: RunScene) => (test: TestApp) =>
  withReceiver((receiver) =>
    withReceiver(async (other) => run({ test, receiver, other, ...await test.signUp() }))
  );

/** Defines a test with its own app. */
export function webhookTest(promise: string, run: RunScene): void {
  testApp(promise, inScene(run), webhookSettings);
}

/** Defines a test on both kinds of database, because they claim deliveries differently. */
export function webhookTestOnBothDatabases(promise: string, run: RunScene): void {
  onBothDatabases(promise, inScene(run), webhookSettings);
}

/** Responds with a status. */
export const status = (code: number, headers: Record<string, string> = {}) => () =>
  new Response(null, { status: code, headers });

/** Returns the access of someone who is signed in to their organization. */
export async function sessionAccess({ test, cookie, organizationId }: WebhookScene): Promise<MemberAccess> {
  const { session } = await test.services.sessionSearch.find([cookie.slice(cookie.indexOf("=") + 1)]);
  assert.ok(session);
  const client = { address: "127.0.0.1", userAgent: "test", requestId: null };
  return accessTo({ ...session, type: "session", client }, organizationId);
}

/** A stored endpoint. */
export interface TestEndpoint {
  readonly id: string;
  readonly secret: string;
}

/** Stores an endpoint for events from now on. @param options `organizationId`: null for operators. */
export async function addEndpoint(
  { opened, services, now }: Pick<TestApp, "opened" | "services" | "now">,
  { organizationId, url, events = ["*"] }: { organizationId: string | null; url: string; events?: string[] },
): Promise<TestEndpoint> {
  const [id, secret] = [newId("whk"), newWebhookSecret()];
  const organization = organizationId === null
    ? sql`0`
    : sql`(SELECT number FROM organizations WHERE id = ${organizationId})`;
  await opened.database.write([sql`
    INSERT INTO webhooks (id, organization, url, events, description, secret, since_seq, created_at)
    VALUES (${id}, ${organization}, ${url}, ${JSON.stringify(events)}, '', ${
    services.secrets.seal(id, secret)
  },
      (SELECT coalesce(max(seq), 0) FROM events), ${now()})`]);
  return { id, secret };
}

/** Marks endpoints as deleted. @param which A condition. */
export async function deleteEndpoints({ opened }: Pick<TestApp, "opened">, which: Statement): Promise<void> {
  await opened.database.write([sql`UPDATE webhooks SET deleted_at = 1, turn_at = NULL WHERE ${which}`]);
}

/** Writes events of an organization. @returns Their ids. */
export async function addEvents(
  { opened, now }: Pick<TestApp, "opened" | "now">,
  organizationId: string,
  count = 1,
): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId("evt"));
  await opened.database.write(ids.map((id) =>
    insertEvent({
      id,
      type: "organization.resumed",
      organization: sql`(SELECT number FROM organizations WHERE id = ${organizationId})`,
      at: now(),
      facts: {},
    })
  ));
  return ids;
}

/** Starts another worker on the app's database, as another server would. */
export function anotherWorker(test: TestApp, options: Partial<WebhookWorkerOptions> = {}): WebhookWorker {
  const { config, opened, now } = test;
  const log = { info: () => {}, warn: () => {} };
  // On a loaded machine, a request to a receiver that responds immediately may take seconds.
  const patience = { slowMs: 60_000, timeoutMs: 60_000 };
  return new WebhookWorker({ config, database: opened.database, clock: now }, {
    log,
    ...patience,
    ...options,
  });
}

/** Delivers while a test goes on. If the test fails first, its own error is reported, and not that of the closed database. */
export function deliverMeanwhile(worker: WebhookWorker): ReturnType<WebhookWorker["deliverDue"]> {
  const delivering = worker.deliverDue();
  delivering.catch(() => {});
  return delivering;
}

/** Asserts that a request is signed with a secret, as receivers check it. The time of tests is not that of the package. */
export function assertSigned({ headers, body }: ReceivedWebhook, secret: string): void {
  const realNow = Date.now;
  Date.now = () => Number(headers.get("webhook-timestamp")) * 1000;
  try {
    assert.ok(new Webhook(secret).verify(body, Object.fromEntries(headers)));
  } finally {
    Date.now = realNow;
  }
}

/** Returns the deliveries of an endpoint, in the order of their events. */
export function deliveriesOf({ opened }: Pick<TestApp, "opened">, { id }: TestEndpoint) {
  return opened.database.read<
    { eventId: string; status: string; attempts: number; code: string | null; responseStatus: number | null }
  >(sql`SELECT e.id AS eventId, d.status, d.attempts, d.code, d.response_status AS responseStatus
    FROM webhook_deliveries d JOIN webhooks w ON w.number = d.webhook JOIN events e ON e.seq = d.event
    WHERE w.id = ${id} ORDER BY d.event`);
}

/** Returns the statuses of the deliveries of an endpoint, in the order of their events. */
export async function statusesOf(test: Pick<TestApp, "opened">, endpoint: TestEndpoint): Promise<string[]> {
  return (await deliveriesOf(test, endpoint)).map(({ status }) => status);
}

/** Returns how an endpoint fares. */
export async function stateOf({ opened }: Pick<TestApp, "opened">, { id }: TestEndpoint) {
  const row = await opened.database.readFirst<{
    reason: string | null;
    failures: number;
    failingSince: number | null;
    waiting: number;
  }>(
    sql`SELECT disabled_reason AS reason, failures, failing_since AS failingSince, waiting FROM webhooks WHERE id = ${id}`,
  );
  assert.ok(row);
  return row;
}

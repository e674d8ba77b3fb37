// Concurrent clients that send usage until they are stopped and record every response in a ledger.
import assert from "node:assert/strict";
import { usageBatchRecordsMax } from "../../../domain/limits.ts";
import { cookieOf, testPassword } from "../app/app.ts";
import { sendJson } from "../process/journey.ts";
import type { Ledger, SentRequest } from "./ledger.ts";
import { poll } from "../runner/poll.ts";
import type { Random } from "../runner/random.ts";

/** How much load to send. */
export interface LoadOptions {
  readonly ledger: Ledger;
  readonly random: Random;
  /** Number of clients that send single records, one after the other. */
  readonly singleClients?: number;
  /** Probability that a single record has an idempotency key. */
  readonly singleKeyChance?: number;
  readonly batchClients?: number;
  readonly batchRecordsMax?: number;
  /** Whether clients also void records. */
  readonly voids?: boolean;
}

/** A running load. */
export interface Load {
  /** Base URLs that get the requests in turn. Tests may change the list; while it is empty, clients wait. */
  readonly targets: string[];
  /** Stops the clients after their current requests. */
  stop(): Promise<void>;
}

/** Timeout of a request, in milliseconds. */
const answerTimeoutMs = 30_000;

/** A new organization with two API keys. */
interface LoadCustomer {
  readonly organizationId: string;
  readonly apiKeys: string[];
  readonly keyIds: string[];
  /** Of its owner. */
  readonly cookie: string;
}

/** Creates an organization that usage is recorded for. */
export async function signUpForLoad(baseUrl: string): Promise<LoadCustomer> {
  const signUp = await sendJson(baseUrl, "/api/auth/sign-up", {
    json: { name: "Ada", email: "ada@example.com", password: testPassword },
  });
  const text = await signUp.text();
  assert.equal(signUp.status, 201, text);
  const { organizationId } = JSON.parse(text);
  const cookie = cookieOf(signUp);
  const apiKeys: string[] = [];
  const keyIds: string[] = [];
  for (const name of ["First", "Second"]) {
    const created = await sendJson(baseUrl, "/api/portal/api-keys", { cookie, json: { name } });
    const { apiKey, fullKey } = await created.json();
    apiKeys.push(fullKey);
    keyIds.push(apiKey.id);
  }
  return { organizationId, apiKeys, keyIds, cookie };
}

/** Starts the clients. */
export function startLoad(options: LoadOptions & { targets: string[] }): Load {
  const { ledger, random, targets } = options;
  let isRunning = true;

  async function client(next: () => SentRequest): Promise<void> {
    while (isRunning) {
      if (targets.length === 0) await poll(() => targets.length > 0 || !isRunning);
      if (!isRunning) return;
      const target = random.pick(targets);
      if (options.voids === true && ledger.singles.length > 0 && random.chance(0.05)) {
        await sendVoid(target, { ledger, random });
      }
      const again = random.chance(0.2) ? ledger.takeUnanswered() : undefined;
      const request = again ?? next();
      const isAnswered = await sendRequest(target, { request, ledger });
      // A client that lost a response repeats the request, so repeat some successful ones too.
      if (isAnswered && request.isRepeatable && random.chance(0.1)) {
        await sendRequest(target, { request, ledger });
      }
    }
  }

  const clients = [
    ...Array.from(
      { length: options.singleClients ?? 8 },
      () => client(() => ledger.newSingle(options.singleKeyChance)),
    ),
    ...Array.from(
      { length: options.batchClients ?? 2 },
      () => client(() => ledger.newBatch(options.batchRecordsMax ?? 40)),
    ),
  ];
  return {
    targets,
    async stop() {
      isRunning = false;
      await Promise.all(clients);
    },
  };
}

/**
 * Sends one request and records its outcome.
 *
 * @returns Whether it succeeded. A 503 and a lost connection are expected failures; anything else is a surprise.
 */
export async function sendRequest(
  baseUrl: string,
  { request, ledger }: { request: SentRequest; ledger: Ledger },
): Promise<boolean> {
  const { operator } = request;
  const response = await post(baseUrl, {
    path: operator !== undefined
      ? "/api/operator/usage"
      : request.isBatch
      ? "/api/v1/usage/batch"
      : "/api/v1/usage",
    apiKey: operator?.fullToken ?? request.apiKey,
    json: request.isBatch
      ? { records: request.records.map(({ json }) => ({ ...operator?.target, ...json })) }
      : (request.records[0] as SentRequest["records"][number]).json,
  });
  const surprise = (what: string) => ledger.surprises.push(`${what}: ${response?.status} ${response?.text}`);
  if (response === null || response.status === 503) {
    if (response !== null && response.retryAfter === null) surprise("503 without Retry-After");
    if (request.isRepeatable) ledger.unanswered.push(request);
    return false;
  }
  if (response.status !== 201 && response.status !== 200) {
    surprise("unexpected response");
    return false;
  }
  const body = JSON.parse(response.text);
  if (request.isBatch) {
    if (body.accepted + body.duplicates !== request.records.length) surprise("incomplete batch");
    if (request.isAcknowledged && body.accepted !== 0) surprise("a batch was recorded twice");
  } else {
    const [record] = request.records as [SentRequest["records"][number]];
    if (record.id === undefined) ledger.singles.push(record);
    else if (record.id !== body.usageRecord.id) surprise(`a repeat of ${record.id} has another id`);
    if (record.isAcknowledged && body.duplicate !== true) surprise(`${record.id} was recorded twice`);
    record.id = body.usageRecord.id;
  }
  ledger.answered++;
  request.isAcknowledged = true;
  for (const record of request.records) record.isAcknowledged = true;
  return true;
}

/** Resends every acknowledged record with an idempotency key, and asserts that none is recorded again. */
export async function repeatAll(baseUrl: string, ledger: Ledger): Promise<void> {
  for (const apiKey of new Set(ledger.requests.map((request) => request.apiKey))) {
    const records = [...ledger.records.values()].filter((record) =>
      record.hasKey && record.isAcknowledged && record.apiKey === apiKey
    );
    for (let start = 0; start < records.length; start += usageBatchRecordsMax) {
      const batch = records.slice(start, start + usageBatchRecordsMax).map(({ json }) => json);
      const response = await post(baseUrl, { path: "/api/v1/usage/batch", apiKey, json: { records: batch } });
      assert.deepEqual(JSON.parse(response?.text ?? "null"), { accepted: 0, duplicates: batch.length });
    }
  }
}

/** Voids a random record, and records the outcome as {@linkcode sendRequest} does. */
export async function sendVoid(
  baseUrl: string,
  { ledger, random }: { ledger: Ledger; random: Random },
): Promise<boolean> {
  const record = random.pick(ledger.singles);
  if (record.voided === "no") record.voided = "asked";
  const answer = await post(baseUrl, {
    path: `/api/v1/usage/records/${record.id}/void`,
    apiKey: record.apiKey,
    json: { reason: "sent by mistake" },
  });
  if (answer?.status === 200) record.voided = "yes";
  else if (answer !== null && answer.status !== 503) {
    ledger.surprises.push(`unexpected response to a void: ${answer.status} ${answer.text}`);
  }
  return answer?.status === 200;
}

/** A response. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly retryAfter: string | null;
}

/**
 * Sends JSON exactly once. The body is a stream, because `fetch` resends any other body when the connection closes
 * before a response (denoland/deno#35610), and the ledger would miss that.
 */
export async function post(
  baseUrl: string,
  options: { path: string; apiKey: string; json: unknown; headers?: Readonly<Record<string, string>> },
): Promise<Answer | null> {
  try {
    const answer = await fetch(`${baseUrl}${options.path}`, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Authorization: `Bearer ${options.apiKey}`,
        ...options.headers,
      },
      body: new Blob([JSON.stringify(options.json)]).stream(),
      signal: AbortSignal.timeout(answerTimeoutMs),
    });
    return {
      status: answer.status,
      text: await answer.text(),
      retryAfter: answer.headers.get("Retry-After"),
    };
  } catch (error) {
    if (error instanceof DOMException && error.name === "TimeoutError") {
      throw new Error(`no response after ${answerTimeoutMs} ms`, { cause: error });
    }
    return null;
  }
}

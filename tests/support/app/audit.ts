// Reads the audit log over the API, and waits for entries that are written in the background.
import assert from "node:assert/strict";
import type { AuditEvent } from "../../../domain/access/audit.ts";
import type { TestApp } from "./app.ts";
import { poll } from "../runner/poll.ts";

export const auditPath = "/api/portal/audit";

/** Reads one page of the audit log. */
export async function listAudit(
  test: TestApp,
  cookie: string,
  query = "",
): Promise<{ events: AuditEvent[]; nextCursor: string }> {
  const response = await test.send(`${auditPath}${query}`, { cookie });
  assert.equal(response.status, 200, await response.clone().text());
  return await response.json();
}

/** Waits for entries that are written in the background. */
export async function waitForAudit(
  test: TestApp,
  cookie: string,
  query: string,
  count = 1,
): Promise<AuditEvent[]> {
  await poll(async () => (await listAudit(test, cookie, query)).events.length >= count);
  const { events } = await listAudit(test, cookie, query);
  assert.equal(events.length, count);
  return events;
}

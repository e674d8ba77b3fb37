// The results of requests after a commit: never more than what the database reported.
import assert from "node:assert/strict";
import type { RecordOutcome } from "../../../db/meter/recorder.ts";
import { createUsageRecordIds } from "../../../domain/meter/usage_record_id.ts";
import { buildGroup, type PendingRequest } from "../../../services/meter/commit_group.ts";
import { completeRequests } from "../../../services/meter/commit_results.ts";

const ids = createUsageRecordIds("0123456789abcdef01234567");
const outcome: RecordOutcome = {
  isComplete: true,
  hasDeletedSeries: false,
  targets: [{
    position: 0,
    id: "key_test",
    denial: null,
    environment: "live",
    requestsPerSecond: null,
    ownRequestsPerSecond: null,
    addresses: null,
  }],
  existing: [],
  limited: [],
  unlisted: [],
  inserted: 3,
  hasLimits: false,
  hasValueLimits: false,
  hasDimensions: false,
  hasHolds: false,
  limits: [],
  firstSeq: 1,
};

Deno.test("completeRequests() throws and acknowledges nothing when the database inserted more or fewer records", () => {
  const input = { productSlug: "tiles", metric: "requests", quantity: { whole: 1, micro: 0 } };
  const waiting: PendingRequest[] = Array.from({ length: 3 }, (_, n) => ({
    ...{ keyHash: "a".repeat(64), target: "a".repeat(64), organizationId: "org_test", bytes: 100 },
    inputs: [{ ...input, timestamp: null, idempotencyKey: `key ${n}`, properties: null }],
    ...{ repeats: null, queuedAt: 0 },
    resolve: () => assert.fail("resolved"),
    reject: () => assert.fail("rejected"),
  }));
  for (const inserted of [0, 2, 4]) {
    const committed = { ...buildGroup(waiting, { now: 0 }), ids, outcome: { ...outcome, inserted } };
    assert.throws(
      () => completeRequests(waiting, committed),
      new Error(`${inserted} records were inserted where 3 were expected`),
    );
  }
});

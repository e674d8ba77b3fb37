// What keys use: the recorder, limits and alerts, grants, products, and reading usage. An acknowledged record is on disk and counted
// once.
export { changeAlert, createAlert, deleteAlert, getAlert, listAlerts } from "./alerts.ts";
export { meterWork } from "./background.ts";
export { collectEvents, type EventRejection, type InvalidEvent } from "./collecting.ts";
export {
  assignEventSubject,
  changeMapping,
  countLostEvents,
  createMapping,
  deleteEventSubject,
  deleteMapping,
  getMapping,
  getSubject,
  listEventFaults,
  listMappings,
  listSubjects,
  type ShownFault,
  type ShownMapping,
  type ShownSubject,
  type TriedMapping,
  tryMapping,
} from "./event_mappings.ts";
export { findRepeats, type RecordedUsage } from "./commit_group.ts";
export { admitApiKey, admitSession, type KeyConditions, type Meter } from "./forward_auth.ts";
export { type UsageQuestion, verifyApiKey } from "./key_verification.ts";
export { type CountedRequest, countRequest } from "./known_keys.ts";
export {
  createHold,
  extendHoldOf,
  getHold,
  type HoldActor,
  listHolds,
  releaseHoldOf,
  settleHold,
} from "./holds.ts";
export { LastRequests, readLastRequest, wasAccepted } from "./last_requests.ts";
export { readLimitMailReach } from "./limit_mails.ts";
export { readLimits } from "./limits.ts";
export type { OutcomeQuery } from "./jobs/request_outcomes.ts";
export { listRejections } from "./outcomes.ts";
export {
  changeProduct,
  createProduct,
  deleteProduct,
  getProduct,
  listProducts,
  type MetricLocks,
  readMetricLocks,
} from "./products.ts";
export {
  type GivenUsageQuery,
  groupsOf,
  readExampleUsage,
  readProductNames,
  readUsage,
  sumUsage,
} from "./usage.ts";
export { findKeyError, type KeyAccess, keyAccess, requireApiKey, type UsageAccess } from "./usage_access.ts";
export {
  createGrant,
  getGrant,
  listGrants,
  metricOfLimit,
  requireFutureEnd,
  voidGrant,
} from "./usage_grants.ts";
export { getRefill, listRefills, voidRefill } from "./usage_refills.ts";
export { listUsageRecords, readUsageRecord, viewUsageRecords, withoutNames } from "./usage_records.ts";
export { voidUsageRecord } from "./usage_voids.ts";

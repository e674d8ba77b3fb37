// What keys use: recording with its rollups, values of dimensions, distinct and latest values, limits with their counters, and
// grants. A record is stored once, every sum is that of its records, and what a hard limit rejects changes nothing.
// Tables: api_key_outcomes, api_key_rejections, event_faults, event_mappings, event_subjects, kept_event_count, kept_events, limit_notices, limit_rechecks, product_metrics, products, record_id_key, statement_changes, timezone_offsets,
// usage_added, usage_aggregations, usage_cursor, usage_dimension_added, usage_dimension_series, usage_dimension_values,
// usage_dimensions, usage_grant_accounts, usage_grants,
// usage_hold_counts, usage_hold_requests, usage_holds, usage_holds_ending, usage_keys_middle, usage_keys_recent, usage_keys_settled, usage_latest,
// usage_hold_values, usage_limit_added, usage_limit_counters, usage_limit_exceptions, usage_limit_refused, usage_limits,
// usage_limits_removed, usage_priced_values, usage_records, usage_refills, usage_rollups, usage_rollups_hourly, usage_rollups_monthly,
// usage_series, usage_unique_added, usage_unique_limits, usage_unique_months, usage_unique_quarters, usage_unique_values,
// usage_value_added, usage_value_counters, usage_value_spans, usage_value_windows, usage_voids, value_prices.
export { type AggregationRow, areFilledBefore, findAggregations } from "./aggregation_list.ts";
export { deleteAlerts } from "./alerts.ts";
export { findProductsByAge, listUsedProducts } from "./catalogue.ts";
export { deleteCountedSeries, deleteCountedValues, isUncounted } from "./counting.ts";
export { findDefaultBudget, insertBudgets, parseBudget, storedBudget } from "./default_budgets.ts";
export { deleteValueSeries, type DimensionRow, findDimensions } from "./dimension_list.ts";
export { countValueSeries } from "./dimension_sums.ts";
export { environmentOf, isUsageOf, ofAnyKey, usageNumbers } from "./environments.ts";
export { deleteIdempotencyKeys } from "./idempotency_keys.ts";
export { findLineagesUsedSince, lineagesUsedSince } from "./last_usage.ts";
export { limitsJson, lineageOf, parseLimits, recheckLimits, replaceLimits } from "./limit_rows.ts";
export { findOrganizationLimits } from "./limit_standings.ts";
export { deleteWindowTakes } from "./grant_windows.ts";
export { endAssignments } from "./event_subjects.ts";
export { deleteHolds } from "./holds.ts";
export { deleteCounts } from "./limit_sweep.ts";
export { countsOfOutcomes, deleteOutcomesOf } from "./request_outcomes.ts";
export {
  type CounterPosition,
  countOrganizations,
  findFastLimits,
  findLastOrganizationNumber,
  findPressed,
  findReachedLimits,
  isKnownMetric,
  type NumberRange,
  rankMonth,
  rankPartOfMonth,
  type ReachedLimit,
} from "./organization_ranking.ts";
export {
  type ActiveOrganizations,
  countActiveOrganizations,
  findBusiestTotals,
  findSuspended,
  findTopCustomers,
  type SuspendedOrganizations,
} from "./organization_totals.ts";
export { compareCounters, compareRecords, compareRollups, type OnCompared } from "./own_sums.ts";
export {
  backdatedRecords,
  findRecordTargets,
  type RecordTarget,
  recordTargetKinds,
} from "./record_targets.ts";
export { selectAdded } from "./usage_grants.ts";
export { restartLimits, timezoneRows } from "./usage_limits.ts";
export { deleteRefills } from "./usage_refill_rows.ts";
export { findUsageMetric, updateUsageMetric } from "./usage_preferences.ts";
export {
  findLastUsageRecord,
  findRecordIdKey,
  findUsageRecord,
  findUsageRecordAfter,
  findUsageRecordsAfter,
  type RecordOfOrganization,
} from "./usage_records.ts";
export {
  allMonths,
  countSeries,
  listUsageKeys,
  type MeteredOrganization,
  numberOf,
  operatorUsageGroups,
  usageGroups,
} from "./usage_sums.ts";
export { findMetricPrices, hasValuePrices, type MetricPriceRow, PriceLists } from "./value_prices.ts";
export {
  sumWindowByValue,
  sumWindows,
  windowSums,
  type WindowTotalRow,
  type WindowValueRow,
} from "./window_totals.ts";

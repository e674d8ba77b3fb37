// Pages of usage, records, grants and alerts.
export { ActiveHolds } from "./active_holds.tsx";
export { KeyRejections, type OutcomeSummary, RejectedRequests } from "./outcomes.tsx";
export { GrantsCard } from "./grants.tsx";
export { Explorer, type ExplorerProps, type UsageReport } from "./explorer.tsx";
export { CsvLink } from "./usage.tsx";
export { environmentHref } from "./usage_address.ts";
export { timezoneChoices } from "./usage_filters.tsx";
export { Breakdown, type BreakdownProps } from "./usage_tables.tsx";

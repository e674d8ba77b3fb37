// Pages of usage, records, grants and alerts.
export { ActiveHolds } from "./active_holds.tsx";
export { KeyRequests, type OutcomeSummary, RejectedRequests } from "./outcomes.tsx";
export { GrantsCard } from "./grants.tsx";
export { CsvLink, NothingToShow, ReportChart, type UsagePageProps, type UsageReport } from "./usage.tsx";
export { environmentHref } from "./usage_address.ts";
export { timezoneChoices, UsageFilterBar, type UsageFilterProps } from "./usage_filters.tsx";
export { Breakdown } from "./usage_tables.tsx";

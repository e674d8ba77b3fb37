// Jobs of the reports thread on all organizations. They only read.
export type { OperatorOverview } from "./operator_overview.ts";
export type { OperatorUsagePage } from "./operator_usage_page.ts";
export type { OverviewQuery, PortalOverview } from "./portal_overview.ts";

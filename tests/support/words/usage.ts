// What the usage page says, for tests that look for it.
import { periodFaults } from "../../../domain/meter/usage_period.ts";

export const usageWords = {
  apply: "Apply",
  groupBy: "Group by",
  customRange: "Custom range",
  startDate: "Start date",
  endDate: "End date",
  endBeforeStart: periodFaults.dayOrder,
  chartTitle: (unit: string) => `Usage by ${unit}`,
  showAsTable: "Show as table",
  latestRecords: "Latest records",
  activeKeys: "Most active keys",
  showAllKeys: "Show all keys",
  clearFilters: "Clear filters",
  nothingToShow: "Nothing to show",
  keyNotFound: "Key not found. Showing all keys.",
  noData: (metric: string) => `No data for “${metric}”.`,
  tooMany: (unit: string, shown: string) => `Too many ${unit}s for one page. Showing ${shown}s.`,
  more: (percent: string, period: string) => `${percent} more than ${period}`,
  less: (percent: string, period: string) => `${percent} less than ${period}`,
  same: (period: string) => `Same as ${period}`,
  none: (period: string) => `No usage during ${period}`,
};

// What the usage page says, for tests that look for it.
import { periodFaults } from "../../../../domain/meter/usage_period.ts";

export const usageWords = {
  apply: "Apply",
  firstDay: "First day",
  lastDay: "Last day",
  endBeforeStart: periodFaults.dayOrder,
  chartTitle: (unit: string, metric = "Requests") => `${metric} per ${unit}`,
  showAsTable: "Show as table",
  latestRecords: "Latest records",
  clearFilters: "Clear filters",
  nothingToShow: "Nothing to show",
  keyNotFound: "Key not found. Showing all keys.",
  noData: (metric: string) => `No data for “${metric}”.`,
  tooMany: (unit: string, shown: string) => `Too many ${unit}s for one page. Showing ${shown}s.`,
};

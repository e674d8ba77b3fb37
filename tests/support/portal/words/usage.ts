// What the usage page says, for tests that look for it.
import { periodFaults } from "../../../../domain/meter/usage_period.ts";

export const usageWords = {
  endBeforeStart: periodFaults.dayOrder,
  chartTitle: (unit: string, metric = "Requests") => `${metric} per ${unit}`,
  keyNotFound: "Key not found. Showing all keys.",
  noData: (metric: string) => `No data for “${metric}”.`,
};

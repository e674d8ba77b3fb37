// Outcomes of requests with API keys as one more tab of a report. Of keys, because requests may be for several products.
import type { OutcomeFilter } from "../../../db/meter/request_outcomes.ts";
import {
  type ChosenOutcome,
  isRejection,
  type Outcome,
  outcomes,
  outcomesKeptMs,
} from "../../../domain/meter/outcome.ts";
import { reportLines, stackOf } from "../../../domain/meter/usage_report.ts";
import type { UsageWindow } from "../../../domain/meter/usage_window.ts";
import type { JobContext, JobScope } from "../../reports/job_context.ts";
import { readOutcomes } from "./request_outcomes.ts";
import type { ReportGroup, ReportNumbers, UsageReportQuery } from "./usage_report.ts";

export type ExplorerGroup = ReportGroup | "outcome";
type Report = NonNullable<ReportNumbers["report"]>;
type ExplorerTable = Omit<Report["tables"][number], "group"> & { readonly group: ExplorerGroup };
type ExplorerReport = Omit<Report, "stacked" | "tables"> & {
  readonly stacked: ExplorerGroup;
  readonly tables: readonly ExplorerTable[];
  /** Undefined if requests aren't counted, such as for a product. */
  readonly rejected?: number;
};

/** The numbers of an explorer. */
export type ExplorerNumbers = Pick<ReportNumbers, "catalogue" | "metrics" | "metric"> & {
  readonly report: ExplorerReport | null;
};

interface OutcomeInput extends JobScope, OutcomeFilter {
  readonly period: NonNullable<UsageReportQuery["period"]>;
  /** True to chart outcomes in place of usage. */
  readonly isShown: boolean;
  /** Null for all. */
  readonly outcome: ChosenOutcome | null;
}

/** Outcomes with a series of their own. */
const seriesMax = 5;
const microsPerRequest = 1_000_000n;

/** Adds the table of outcomes to a report and, if it is shown, their chart. */
export async function addOutcomes(
  context: JobContext,
  report: Report,
  { period, isShown, outcome, ...scope }: OutcomeInput,
): Promise<ExplorerReport> {
  const count = async (windows: readonly UsageWindow[], { start, end }: UsageWindow) => {
    const counts = [];
    for await (const row of readOutcomes(context, { ...scope, from: start, to: end, windows })) {
      const id = outcomes[row.outcome] ?? "invalid";
      counts.push({
        id,
        position: row.position,
        micros: BigInt(row.count) * microsPerRequest,
        count: row.count,
      });
    }
    return counts;
  };
  const isChosen = ({ id }: { id: Outcome }) =>
    !isShown || outcome === null || (outcome === "rejected" ? isRejection(id) : id === outcome);
  const windows = isShown ? report.windows : [period];
  const all = await count(windows, period);
  const shown = all.filter(isChosen);
  const { compared } = period;
  const isComparable = isShown && compared.start >= scope.now - outcomesKeptMs;
  const before = isComparable ? (await count([compared], compared)).filter(isChosen) : [];
  const lines = reportLines(shown, before).map((line) => ({ ...line, name: line.id }));
  const table = { group: "outcome" as const, lines, all: lines.length, page: 1, pages: 1 };
  const rejected = all.filter(({ id }) => isRejection(id)).reduce((sum, { count }) => sum + count, 0);
  const hasTable = isShown || lines.length > 0;
  const more = { tables: hasTable ? [...report.tables, table] : report.tables, rejected };
  if (!isShown) return { ...report, ...more };
  const totals = windows.map(() => 0n);
  for (const { position, micros } of shown) totals[position] = (totals[position] ?? 0n) + micros;
  const named = lines.slice(0, seriesMax).flatMap(({ id }) => id ?? []);
  const stack = stackOf(shown, { named, others: lines.slice(seriesMax), totals });
  return { ...report, ...more, stack, before: null, stacked: "outcome" };
}

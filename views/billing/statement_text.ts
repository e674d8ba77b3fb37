// The addresses of statements, and their months in words.
import type { Statement } from "../../domain/billing/statement.ts";
import type { UsageWindow } from "../../domain/meter/usage_window.ts";
import type { PortalFrame } from "../layout.tsx";
import { monthWords } from "../text/time.ts";
import { shortDaysWords } from "../text/zone.ts";
import { listHref } from "../components/list_filters.tsx";
import { statementsHref } from "../components/links.ts";

export function statementHref(id: string, organizationId?: string): string {
  return listHref(`${statementsHref}/${encodeURIComponent(id)}`, { organizationId });
}

export function statementCsvHref(id: string, organizationId?: string): string {
  return listHref(`/api${statementsHref}/${encodeURIComponent(id)}.csv`, { organizationId });
}

/** The address of an organization's billing page, or of one month of it: its statement's id, or a month. */
export function billingHref({ base }: Pick<PortalFrame, "base">, id?: string): string {
  return id === undefined ? `${base}/billing` : `${base}/billing/${encodeURIComponent(id)}`;
}

/** The address of the lines that a billing page shows, as CSV. Operators read it as operators, also where they view as customer. */
export function billingCsvHref(
  { viewed, isReadOnly, session }: Pick<PortalFrame, "viewed" | "isReadOnly" | "session">,
  { id, period }: Pick<Statement, "id" | "period">,
): string {
  const viewedId = isReadOnly ? session.organization?.organizationId : viewed?.id;
  return viewedId === undefined ? `/api/portal/statements/${period}.csv` : statementCsvHref(id, viewedId);
}

/** Returns the address of the CSV of values from that of the lines. */
export function valuesCsvHref(csvHref: string): string {
  return csvHref.replace(".csv", "-values.csv");
}

/** Returns a month such as “October 2026”. */
export function periodWords(period: string): string {
  return monthWords(Date.parse(`${period}-01`));
}

/** Returns the month in a heading of changes: “October”. */
export function shortPeriod(period: string): string {
  return periodWords(period).replace(/ \d+$/, "");
}

/** True if usage of the month still comes in. */
export function isRunning({ status, end }: Pick<Statement, "status" | "end">, now: number): boolean {
  return status === "open" && Date.parse(end) > now;
}

/** The month before or, for a month that goes on, as many of its days. */
export interface Before {
  readonly period: string;
  readonly days: UsageWindow | null;
}

/** Returns the heading of changes: “vs October”, “vs Oct 1–22” of a month that goes on. */
export function versus({ period, days }: Before, timezone: string): string {
  return `vs ${days === null ? shortPeriod(period) : shortDaysWords(days, timezone, days.end)}`;
}

/** Returns the title of a statement's page: “November 2026 so far”, “October 2026”. */
export function statementTitle(statement: Statement, now: number): string {
  const month = periodWords(statement.period);
  return isRunning(statement, now) ? `${month} so far` : month;
}

// The addresses of statements, and their months in words.
import { monthWords } from "../text/time.ts";
import { listHref } from "./list_filters.tsx";
import { statementsHref } from "./links.ts";

export function statementHref(id: string, organizationId?: string): string {
  return listHref(`${statementsHref}/${encodeURIComponent(id)}`, { organizationId });
}

export function statementCsvHref(id: string, organizationId?: string): string {
  return listHref(`/api${statementsHref}/${encodeURIComponent(id)}.csv`, { organizationId });
}

/** Returns a month such as “October 2026”. */
export function periodWords(period: string): string {
  return monthWords(Date.parse(`${period}-01`));
}

// Organizations of statements and statements of organizations, read by the reports thread.
import type { StatementRow } from "../../../db/operator/statements.ts";
import type {
  OrganizationStatement,
  StatementOrganization,
  StatementOrganizationSort,
} from "../../../domain/operator/statement.ts";
import type { PageInput } from "../../pages.ts";
import type { JobContext, JobScope, JobTime } from "../job_context.ts";
import type { StatementMonth } from "./statement_charges.ts";

export function readStatementOrganizations(
  _context: JobContext,
  _input: JobTime & PageInput & {
    month: StatementMonth;
    search?: string | undefined;
    isAdjusted?: boolean | undefined;
    metric?: string | undefined;
    sort?: StatementOrganizationSort | undefined;
  },
): Promise<{
  previous: StatementRow | null;
  metric: string | null;
  counts: { all: number; adjusted: number };
  amount: string | null;
  organizations: StatementOrganization[];
  nextCursor: string | null;
}> {
  return Promise.resolve({
    previous: null,
    metric: null,
    counts: { all: 0, adjusted: 0 },
    amount: null,
    organizations: [],
    nextCursor: null,
  });
}

export function readOrganizationStatements(
  _context: JobContext,
  _input: JobScope & { metric: string | null; limit: number; before: number | undefined },
): Promise<{
  rows: (Omit<OrganizationStatement, "statement"> & { statement: StatementRow })[];
  nextCursor: string | null;
}> {
  return Promise.resolve({ rows: [], nextCursor: null });
}

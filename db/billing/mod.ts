// What is charged: plans with their numbers, an organization's plan, and statements. A closed statement never changes.
// Tables: statement_line_values, statement_lines, statements.
export {
  findLimitedOrganizations,
  type LimitedOrganizationRow,
  type LimitedOrganizations,
  sumUse,
} from "./limit_use.ts";
export { compareStatements } from "./own_sums.ts";
export { givenPlan } from "./organization_plan.ts";
export { findOrganizationPlan, findPlanReference, findPlanReferences, planNumber } from "./plans.ts";
export {
  findStatement,
  findStatementLines,
  type StatementLinePosition,
  type StatementRow,
} from "./statements.ts";

// What is charged: plans, the plan and time zone of an organization, and statements, each closed once.
export { type OrganizationPlanChange, planChangesOf, requirePlan } from "./organization_plan.ts";
export { changePlan, createPlan, deletePlan, getPlan, listPlans, type PlanChange } from "./plans.ts";
export { billingWork } from "./background.ts";
export { closeStatement } from "./statement_closing.ts";
export {
  getStatement,
  listOrganizationStatements,
  listStatementOrganizations,
  listStatements,
  readStatement,
  readStatementCsv,
  readUsageOfDays,
  type StatementScope,
  statementsFor,
} from "./statements.ts";

// The API of statements, for operators and for members.
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { statementWaitMs } from "../../domain/limits.ts";
import { activeAccess, organizationIdOf } from "../../services/access/mod.ts";
import {
  closeStatement,
  listOrganizationStatements,
  listStatementOrganizations,
  listStatements,
  readStatement,
  readStatementCsv,
  type StatementScope,
  statementsFor,
} from "../../services/billing/mod.ts";
import type { AppContext, AppEnv, AppParts } from "../env.ts";
import { check } from "../schemas/check.ts";
import { pageQuerySchema } from "../schemas/common.ts";
import * as schemas from "./schemas/statements.ts";
import { documentRoute, sessionRoutes, withAccess } from "../api/endpoint.ts";
import { csvResponse, sendCsv } from "../api/job_bytes.ts";
import { forOperators, operatorRoutes } from "../api/operator_routes.ts";

const operatorPath = "/api/operator/statements";
const memberPath = "/api/portal/statements";
const csvEnding = /(-values)?\.csv$/;
const closed = { description: "The statement.", schema: schemas.statementResponseSchema };
/** While closing an open month begins. */
const errors = ["statement_not_closed"] as const;
const onlyItsCursors = "A cursor is invalid after its open month was closed.";
const csvDescription = "`adjustmentOf` is the earlier month that a line corrects, or empty. " +
  "`amount` is the exact product of `quantity` and `unitPrice`; without a price, both and `currency` are empty.";

const valuesDescription =
  "A row for each value of each dimension of each line, however many there are: `properties` has the values " +
  "as JSON. The rows of a dimension add up to the line.";

/** Returns what both files of a statement have in the document. The router has one route for them, because it doesn't tell paths apart within a segment. */
function csvFiles(
  path: `/${string}`,
  { operationId, summary, lines }: Readonly<Record<"operationId" | "summary" | "lines", string>>,
) {
  const responses = { 200: csvResponse };
  return [{
    route: `GET ${path}.csv`,
    operationId,
    summary: `${summary} as CSV`,
    description: `${lines} ${csvDescription}`,
    responses,
  }, {
    route: `GET ${path}-values.csv`,
    operationId: `${operationId}Values`,
    summary: `${summary} by dimensions as CSV`,
    description: valuesDescription,
    responses,
  }] as const;
}

export function operatorStatementRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts, { read: "statements:read", write: "statements:write" });
  const scopeOf = async (actor: OperatorActor, idText: string | undefined) =>
    statementsFor(actor, idText && await organizationIdOf(services, idText));

  route({
    route: `GET ${operatorPath}`,
    operationId: "listStatements",
    summary: "List statements",
    description: "Newest first, with the months that are still open, and the one that can be closed next.",
    query: pageQuerySchema,
    responses: { 200: { description: "A page of statements.", schema: schemas.statementsSchema } },
  }, (_c, { query }) => listStatements(services, query));

  route({
    route: `POST ${operatorPath}`,
    operationId: "closeStatement",
    summary: "Close a month",
    description:
      "Closes a month for all organizations. This can't be undone: what is recorded or voided for the month later becomes " +
      "an adjustment in the next statement. Months are closed in order, without gaps; the first can be any month that has ended, and earlier " +
      "ones are never billed. " +
      "If closing takes longer than 10 seconds, the response is 202, and closing continues in the background.",
    body: schemas.closeStatementSchema,
    responses: {
      201: { ...closed, description: "The month is closed." },
      200: { ...closed, description: "The month was closed before." },
      202: { ...closed, description: "The month is being closed." },
    },
    errors: ["month_not_ended", "statement_out_of_order", "statement_not_closed"],
  }, async (c, { body: { period } }, actor) => {
    const { statement, isNew } = await closeStatement(services, actor, { period, waitMs: statementWaitMs });
    return c.json({ statement }, statement.status === "closing" ? 202 : isNew ? 201 : 200);
  });

  const files = { summary: "Download a statement", lines: "All lines, or those of one organization." };
  for (const file of csvFiles(`${operatorPath}/{id}`, { operationId: "downloadStatement", ...files })) {
    const params = schemas.statementParamsSchema;
    const query = schemas.statementCsvQuerySchema;
    documentRoute(app, forOperators({ ...file, errors, params, query }, "statements:read"));
  }
  route({
    route: `GET ${operatorPath}/{id}`,
    operationId: "getStatement",
    summary: "Get a statement",
    description:
      "With its totals and a page of its lines. The id `open` previews the next month to close, with the lines that closing it now " +
      "would give it; nothing is written. " + onlyItsCursors,
    params: schemas.statementParamsSchema,
    query: schemas.statementQuerySchema,
    errors,
    responses: { 200: { description: "The statement.", schema: schemas.statementLinesSchema } },
  }, async (c, { params: { id }, query: { organizationId, ...page } }, actor) => {
    if (csvEnding.test(id)) {
      const { organizationId } = check(schemas.statementCsvQuerySchema, c.req.query(), "query");
      const scope = await scopeOf(actor, organizationId);
      return await sendStatementCsv(c, parts, { scope, id, organizationId: scope.organizationId });
    }
    const input = { id, ...page, signal: c.req.raw.signal };
    return withoutParts(await readStatement(services, await scopeOf(actor, organizationId), input));
  });

  route({
    route: `GET ${operatorPath}/{id}/organizations`,
    operationId: "listStatementOrganizations",
    summary: "List the organizations of a statement",
    description:
      "Each with the sums of its lines and those of the statement before. A statement with more than 1,000 organizations is added up " +
      "at most every 30 seconds. " + onlyItsCursors,
    params: schemas.statementParamsSchema,
    query: schemas.statementOrganizationsQuerySchema,
    errors,
    responses: {
      200: { description: "A page of organizations.", schema: schemas.statementOrganizationsSchema },
    },
  }, async (c, { params: { id }, query: { hasAdjustments, ...query } }, actor) => {
    const input = { id, ...query, isAdjusted: hasAdjustments === "true", signal: c.req.raw.signal };
    return withoutParts(await listStatementOrganizations(services, actor, input));
  });
}

/** Mounts the routes by which members of any role read statements of their active organization. */
export function statementRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const common = { tag: "Usage", errors: ["forbidden"] } as const;
  const route = withAccess(sessionRoutes(app, parts, common), activeAccess);

  route({
    route: `GET ${memberPath}`,
    operationId: "listOrganizationStatements",
    summary: "List statements of the active organization",
    description: "Newest first, with the months that are still open.",
    query: pageQuerySchema,
    responses: { 200: { description: "A page of statements.", schema: schemas.ownStatementsSchema } },
  }, async (c, { query }, access) => {
    const input = { ...query, signal: c.req.raw.signal };
    const { statements, ...page } = await listOrganizationStatements(services, access, input);
    const flat = statements.map(({ statement, lines, adjustments, amount }) => (
      { ...statement, lines, adjustments, amount }
    ));
    return { ...page, statements: flat };
  });

  const files = { summary: "Download a statement of the active organization", lines: "All lines." };
  for (
    const file of csvFiles(`${memberPath}/{period}`, {
      operationId: "downloadOrganizationStatement",
      ...files,
    })
  ) {
    const own = { ...common, errors: [...common.errors, ...errors], params: schemas.periodParamsSchema };
    documentRoute(app, { ...file, ...own, security: "session" });
  }
  route({
    route: `GET ${memberPath}/{period}`,
    operationId: "getOrganizationStatement",
    summary: "Get a statement of the active organization",
    description:
      "With its totals, voided records and a page of its lines. `open` is the next month to be closed, so far. " +
      onlyItsCursors,
    params: schemas.periodParamsSchema,
    query: pageQuerySchema,
    errors,
    responses: { 200: { description: "The statement.", schema: schemas.statementLinesSchema } },
  }, async (c, { params: { period: id }, query }, access) => {
    if (csvEnding.test(id)) {
      check(schemas.noQuerySchema, c.req.query(), "query");
      return await sendStatementCsv(c, parts, { scope: access, id });
    }
    return withoutParts(
      await readStatement(services, access, { id, ...query, signal: c.req.raw.signal }),
    );
  });
}

/** Leaves out what only pages compare and forecast with. */
function withoutParts<T extends { readonly parts: unknown }>({ parts: _, ...rest }: T) {
  return rest;
}

async function sendStatementCsv(
  c: AppContext,
  { services }: AppParts,
  { scope, id, organizationId = "" }: {
    scope: StatementScope;
    id: string;
    organizationId?: string | undefined;
  },
): Promise<Response> {
  const isByValue = id.endsWith("-values.csv");
  const input = { id: id.replace(csvEnding, ""), isByValue, signal: c.req.raw.signal };
  const { period, status, report } = await readStatementCsv(services, scope, input);
  const name = [
    "statement",
    period,
    status === "open" ? "so-far" : "",
    organizationId,
    isByValue ? "values" : "",
  ].filter(Boolean).join(
    "-",
  );
  return sendCsv(c, report, `${name}.csv`);
}

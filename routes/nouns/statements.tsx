// The API of statements. Their pages are in statement_pages.tsx.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { statementWaitMs } from "../../domain/limits.ts";
import { closeStatement } from "../../services/operator/statement_closing.ts";
import {
  listStatements,
  readStatement,
  readStatementCsv,
  statementsFor,
} from "../../services/operator/statements.ts";
import { documentRoute } from "../api/endpoint.ts";
import { csvResponse, sendCsv } from "../api/job_bytes.ts";
import { forOperators, operatorRoutes } from "../api/operator/operator_routes.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { check } from "../schemas/check.ts";
import { pageQuerySchema } from "../schemas/common.ts";
import * as schemas from "../schemas/statements.ts";

const apiPath = "/api/operator/statements";
const csvEnding = /\.csv$/;
const closed = { description: "The statement.", schema: schemas.statementResponseSchema };

export function statementRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts, { read: "statements:read", write: "statements:write" });

  route({
    route: `GET ${apiPath}`,
    operationId: "listStatements",
    summary: "List statements",
    description: "Newest first, with the month that can be closed next.",
    query: pageQuerySchema,
    responses: { 200: { description: "A page of statements.", schema: schemas.statementsSchema } },
  }, (_c, { query }) => listStatements(services, query));

  route({
    route: `POST ${apiPath}`,
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

  // The router has one route for both, because it doesn't tell paths apart within a segment.
  documentRoute(
    app,
    forOperators({
      route: `GET ${apiPath}/{id}.csv`,
      operationId: "downloadStatement",
      summary: "Download a statement as CSV",
      description:
        "All lines, or those of one organization. `adjustmentOf` is the earlier month that a line corrects, or empty.",
      params: schemas.statementParamsSchema,
      query: schemas.statementCsvQuerySchema,
      responses: { 200: csvResponse },
      errors: ["statement_not_closed"],
    }, "statements:read"),
  );
  route({
    route: `GET ${apiPath}/{id}`,
    operationId: "getStatement",
    summary: "Get a statement",
    description: "With its totals and a page of its lines.",
    params: schemas.statementParamsSchema,
    query: schemas.statementQuerySchema,
    responses: { 200: { description: "The statement.", schema: schemas.statementLinesSchema } },
  }, async (c, { params: { id }, query }, actor) => {
    const { signal } = c.req.raw;
    if (!csvEnding.test(id)) {
      const { organizationId, ...page } = query;
      return await readStatement(services, statementsFor(actor, organizationId), { id, ...page, signal });
    }
    const { organizationId } = check(schemas.statementCsvQuerySchema, c.req.query(), "query");
    const csv = await readStatementCsv(services, statementsFor(actor, organizationId), {
      id: id.replace(csvEnding, ""),
      signal,
    });
    return sendCsv(c, csv.report, `statement-${csv.period}.csv`);
  });
}

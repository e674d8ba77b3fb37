// The shapes of statements.
import { z } from "@hono/zod-openapi";
import { statementTotalsMax } from "../../domain/limits.ts";
import { idOut, idParam, nextCursorSchema, pageQuerySchema, stringSchema, timeOut } from "./common.ts";

const period = stringSchema("The calendar month.", "2026-10");

const month = {
  period,
  start: timeOut("The first moment of the month: where the month before ended."),
  end: timeOut("The first moment after the month."),
};

const statementSchema = z.object({
  id: idOut("stm", "The statement's id."),
  ...month,
  timezone: stringSchema("The `BILLING_TIMEZONE` that decided where the month ends.", "UTC"),
  status: z.enum(["closing", "closed"]).openapi({
    description: "A statement that is `closing` gets its lines soon. A `closed` one never changes.",
    example: "closed",
  }),
  createdAt: timeOut("When closing began."),
  closedAt: timeOut("When the statement was complete.").nullable(),
}).openapi("Statement");

const productNames = {
  productSlug: stringSchema("The product in usage records.", "tiles"),
  productName: stringSchema("Its name in the catalogue on the day of closing.", "Map tiles").nullable(),
  metric: stringSchema("The metric in usage records.", "requests"),
  metricName: stringSchema("Its name in the catalogue on the day of closing.", "Requests").nullable(),
  unit: stringSchema("Its unit in the catalogue on the day of closing.", "GB").nullable(),
};
const amount = {
  quantity: stringSchema("The exact sum as a decimal. An adjustment can be negative.", "1204.25"),
  records: z.int().openapi({
    description: "How many records were added. An adjustment can be negative.",
    example: 1200,
  }),
};

const lineSchema = z.object({
  organizationId: idOut("org", "The organization's id."),
  organizationName: stringSchema("Its name on the day of closing.", "Northwind Maps"),
  externalId: stringSchema("Its external id on the day of closing.", "crm-1042").nullable(),
  ...productNames,
  ...amount,
  adjustmentOf: stringSchema(
    "The earlier month in which usage was recorded or voided after it was closed; null for usage of the statement's own month.",
    "2026-09",
  ).nullable(),
}).openapi("StatementLine");

const totalSchema = z.object({
  ...productNames,
  ...amount,
  lines: z.int().openapi({ description: "The number of lines.", example: 31 }),
}).openapi("StatementTotal");

export const statementsSchema = z.object({
  statements: z.array(statementSchema),
  next: z.object({
    ...month,
    isEnded: z.boolean().openapi({ description: "Whether it has ended, so that it can be closed." }),
  }).openapi({
    description:
      "The month to close next. Before the first statement: the last month; any other one that has ended is possible too.",
  }),
  nextCursor: nextCursorSchema,
});

export const statementResponseSchema = z.object({ statement: statementSchema });

export const statementLinesSchema = z.object({
  statement: statementSchema,
  totals: z.array(totalSchema).nullable().openapi({
    description:
      `Sums of all lines by product and metric, at most ${statementTotalsMax}, the ones with most lines first. Only on the first page of a closed statement.`,
  }),
  lines: z.array(lineSchema).openapi({
    description:
      "By organization, month (the statement's own first), product and metric. Empty until the statement is closed.",
  }),
  nextCursor: nextCursorSchema,
});

export const closeStatementSchema = z.strictObject({
  period: z.string().max(10).openapi({
    description: "The month, such as `2026-10`.",
    pattern: "^20\\d\\d-(0[1-9]|1[0-2])$",
    example: "2026-10",
  }),
});

export const statementCsvQuerySchema = z.strictObject({
  organizationId: idParam("org", "Only lines of this organization, which may have been deleted.").optional(),
});

export const statementQuerySchema = pageQuerySchema.extend(statementCsvQuerySchema.shape);

export const statementParamsSchema = z.object({ id: idParam("stm", "The statement's id.") });

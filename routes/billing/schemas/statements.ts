// The shapes of statements.
import { aggregations } from "../../../domain/meter/aggregation.ts";
import { lineValuesShownMax } from "../../../domain/meter/dimension.ts";
import { z } from "@hono/zod-openapi";
import { statementTotalsMax } from "../../../domain/limits.ts";
import { statementOrganizationSorts } from "../../../domain/billing/statement.ts";
import {
  idOut,
  idParam,
  nextCursorSchema,
  pageQuerySchema,
  stringSchema,
  timeOut,
} from "../../schemas/common.ts";
import { organizationFilter, searchSchema } from "../../schemas/organization_reference.ts";
import { slugSchema } from "../../meter/schemas/usage.ts";

const period = stringSchema("The calendar month.", "2026-10");

const month = {
  period,
  start: timeOut("The first moment of the month: where the month before ended."),
  end: timeOut("The first moment after the month."),
};

const statementSchema = z.object({
  id: idOut(
    "stm",
    "The statement's id; `open` for the next month to close, and the month for a later one that is open too.",
  ),
  ...month,
  timezone: stringSchema("The `BILLING_TIMEZONE` that decided where the month ends.", "UTC"),
  status: z.enum(["open", "closing", "closed"]).openapi({
    description:
      "Lines of an `open` month change until it is closed. A statement that is `closing` gets its lines soon. A `closed` one never changes.",
    example: "closed",
  }),
  currency: stringSchema("The currency of all amounts: the setting `CURRENCY` when closing began.", "EUR")
    .nullable(),
  createdAt: timeOut("When closing began.").nullable(),
  closedAt: timeOut("When the statement was complete.").nullable(),
}).openapi("Statement");
const amountSchema = (description: string) => stringSchema(description, "12.0425").nullable();
const amountOfLines = amountSchema("The exact sum of the amounts of the lines; null if no line has a price.");

const productNames = {
  productSlug: stringSchema("The product in usage records.", "tiles"),
  productName: stringSchema("Its name in the catalogue on the day of closing.", "Map tiles").nullable(),
  metric: stringSchema("The metric in usage records.", "requests"),
  metricName: stringSchema("Its name in the catalogue on the day of closing.", "Requests").nullable(),
  unit: stringSchema("Its unit in the catalogue on the day of closing.", "GB").nullable(),
};
const sums = {
  quantity: stringSchema(
    "The quantity as an exact decimal, counted by `aggregation`. An adjustment can be negative.",
    "1204.25",
  ),
  records: z.int().openapi({
    description: "How many records were added. An adjustment can be negative.",
    example: 1200,
  }),
};

const aggregation = z.enum(aggregations).openapi({
  description:
    "How the quantity is counted: the sum, the number of records (`count`), the largest (`max`) or latest (`last`) quantity of each API key, " +
    "added up, or the number of distinct values (`unique`). An adjustment is the difference from the earlier charge.",
  example: "sum",
});

const partAmount = amountSchema(
  "Quantity × unit price, exact; null without a price, and if the values of another dimension have prices.",
);
const dimensionSchema = z.object({
  properties: z.array(stringSchema("The name of a property.", "region")),
  values: z.array(z.object({
    properties: z.record(z.string(), z.string()).openapi({
      description:
        "The values by the names of the properties. `(none)` stands for records without the property, `(other)` for further values of a month.",
      example: { region: "eu" },
    }),
    ...sums,
    unitPrice: stringSchema("The price of one unit with these values, or that of the line.", "0.000012")
      .nullable(),
    amount: partAmount,
  })).openapi({ description: `The largest ${lineValuesShownMax}, the largest first.` }),
  others: z.object({
    values: z.int().openapi({ description: "How many values.", example: 12 }),
    ...sums,
    amount: partAmount,
  }).nullable().openapi({ description: "All further values together; null if there are none." }),
}).openapi("StatementLineDimension");

const lineSchema = z.object({
  id: stringSchema(
    "Always the same for this line: send it as the idempotency key to a billing system.",
    "stl_3f2a9c0de4b18a7765f0c1d2e3a4b5c6",
  ),
  organizationId: idOut("org", "The organization's id."),
  organizationName: stringSchema("Its name on the day of closing.", "Northwind Maps"),
  externalId: stringSchema("Its external id on the day of closing.", "crm-1042").nullable(),
  ...productNames,
  aggregation,
  ...sums,
  adjustmentOf: stringSchema(
    "The earlier month in which usage was recorded or voided after it was closed; null for usage of the statement's own month.",
    "2026-09",
  ).nullable(),
  unitPrice: stringSchema(
    "The price of one unit on the day of closing. An adjustment has the price at which the month was charged before. Null without a price, " +
      "and if the values of a dimension have prices.",
    "0.01",
  ).nullable(),
  amount: amountSchema(
    "Quantity × unit price, or the amounts of its values, added up; exact. Null without a price.",
  ),
  dimensions: z.array(dimensionSchema).openapi({
    description:
      "The line by the values of each dimension of its metric. They add up to the line exactly and don't change once the month is closed. Without " +
      "dimensions that had all usage of the line, and those of metrics that are the largest or latest quantities or distinct values.",
  }),
}).openapi("StatementLine");

const totalSchema = z.object({
  ...productNames,
  aggregation,
  ...sums,
  lines: z.int().openapi({ description: "The number of lines.", example: 31 }),
  amount: amountOfLines,
}).openapi("StatementTotal");

const voidSchema = z.object({
  ...productNames,
  ...sums,
  quantity: stringSchema("The exact sum of their quantities as a decimal.", "3"),
}).openapi("StatementVoid");

const openMonths = z.array(statementSchema).openapi({
  description: "The months that are not closed: the running one, and the next to close if it has ended.",
});

export const statementsSchema = z.object({
  statements: z.array(statementSchema),
  open: openMonths,
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
      `Sums of all lines by product and metric, at most ${statementTotalsMax}, those with most lines, in the order of the catalogue. Only on the first page; null while the month is being closed. Those of more than 1,000 organizations are added up at most every 30 seconds.`,
  }),
  amount: amountSchema("The exact sum of all amounts. Only on the first page; null if no line has a price."),
  voided: z.array(voidSchema).nullable().openapi({
    description:
      "Only on the first page of one organization: its voided records of the month that are still stored, by product and metric. Records that were " +
      "voided after the month was closed are in its lines; the adjustment is in a later statement.",
  }),
  lines: z.array(lineSchema).openapi({
    description:
      "By organization, month (the statement's own first), product and metric; for one organization in the order of the catalogue. " +
      "Empty while the month is being closed.",
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
  organizationId: organizationFilter("By default, lines of all; it may have been deleted."),
});

export const statementQuerySchema = pageQuerySchema.extend(statementCsvQuerySchema.shape);

export const statementParamsSchema = z.object({
  id: idParam("stm", "The statement's id, `open` for the next month to close, or a month such as `2026-10`."),
});

export const periodParamsSchema = z.object({
  period: z.string().max(100).openapi({
    description: "A month, closed or open, or `open` for the next one to be closed.",
    example: "2026-10",
  }),
});

export const noQuerySchema = z.strictObject({});

export const ownStatementsSchema = z.object({
  statements: z.array(
    statementSchema.extend({
      lines: z.int().openapi({ description: "The number of its lines, adjustments included.", example: 12 }),
      adjustments: z.int().openapi({ description: "The number of its adjustments.", example: 1 }),
      amount: amountOfLines,
    }).openapi("OrganizationStatement"),
  ),
  open: openMonths,
  nextCursor: nextCursorSchema,
});

export const statementOrganizationsQuerySchema = pageQuerySchema.extend({
  search: searchSchema("A part of the name or external id, in upper or lower case, or an organization's id."),
  hasAdjustments: z.enum(["true", "false"]).optional().openapi({
    description: "`true`: only organizations with adjustments.",
  }),
  metric: slugSchema.optional().openapi({
    description: "The metric of the quantities. Defaults to one that most organizations use.",
  }),
  sort: z.enum(statementOrganizationSorts).default("name").openapi({
    description: "`amount` and `quantity` begin with the largest.",
  }),
});

export const statementOrganizationsSchema = z.object({
  statement: statementSchema,
  previous: z.object(statementSchema.shape).nullable().openapi({
    description: "The closed statement of the month before, if there is one.",
  }),
  metric: stringSchema("The metric of the quantities.", "requests").nullable(),
  quantity: stringSchema("The exact sum of the metric in the whole statement.", "56120.75"),
  counts: z.object({
    all: z.int().openapi({ description: "Organizations with lines.", example: 57 }),
    adjusted: z.int().openapi({ description: "Organizations with adjustments.", example: 3 }),
  }).openapi({ description: "Of all organizations that the search finds." }),
  totals: z.array(totalSchema).openapi({ description: "Of the whole statement." }),
  amount: amountSchema("The exact sum of all amounts of the statement; null if no line has a price."),
  organizations: z.array(
    z.object({
      id: idOut("org", "The organization's id."),
      name: stringSchema("Its name on the day of closing.", "Northwind Maps"),
      externalId: stringSchema("Its external id on the day of closing.", "crm-1042").nullable(),
      lines: z.int().openapi({ description: "The number of its lines, adjustments included.", example: 12 }),
      adjustments: z.int().openapi({ description: "The number of its adjustments.", example: 1 }),
      amount: amountOfLines,
      quantity: stringSchema("The exact sum of the metric, adjustments included.", "1204.25"),
      previousAmount: amountSchema(
        "The amount in the statement before; null if that isn't closed or has another currency.",
      ),
      previousQuantity: stringSchema(
        "The quantity in the statement before; null if that isn't closed.",
        "1180.5",
      )
        .nullable(),
    }).openapi("StatementOrganization"),
  ),
  nextCursor: nextCursorSchema,
});

// The shapes of organizations for operators.
import { z } from "@hono/zod-openapi";
import * as limits from "../../../domain/limits.ts";
import {
  externalIdForm,
  limitFilters,
  organizationSorts,
  organizationStatuses,
} from "../../../domain/console/organization.ts";
import { eachNumber } from "../../../domain/billing/plan.ts";
import { timezoneFault, timezoneName } from "../../../domain/time.ts";
import {
  exampleId,
  idOut,
  nameSchema,
  pageQuerySchema,
  parsed,
  stringSchema,
  timeOut,
} from "../../schemas/common.ts";
import { metadataChangeSchema, metadataExample, metadataSchema } from "../../schemas/metadata.ts";
import { overrideLimitSchema, overrideLimitsInSchema } from "../../meter/schemas/plan_limits.ts";
import { planNumberRanges, planNumberSchema } from "../../billing/schemas/plans.ts";
import { searchSchema } from "../../schemas/organization_reference.ts";
import { invitedPerson } from "../../people/schemas/people.ts";

const externalIdExample = "customer-4711";
const externalIdWords =
  `1 to ${limits.externalIdCharactersMax} printable ASCII characters, without spaces at the ends`;

const externalIdSchema = z.string().regex(externalIdForm, `must be ${externalIdWords}.`).openapi({
  description: `Your own id for the organization, unique among all organizations: ${externalIdWords}.`,
  example: externalIdExample,
});

const name = nameSchema("The organization's name", { example: "Analytical Engines" });
const planId = stringSchema("The id of its plan. New organizations get the default plan.", exampleId("plan"));
const timezone = parsed(z.string().max(64), timezoneName, () => timezoneFault).openapi({
  type: "string",
  maxLength: 64,
  description: "The IANA name of the time zone in which the windows of its limits begin and end.",
  example: "Europe/Berlin",
});
const overrides = z.strictObject({
  ...eachNumber((number) => planNumberSchema(number).nullable().optional()),
  limits: overrideLimitsInSchema(limits.planLimitsMax).optional(),
}).openapi({
  description: "Overrides of the plan's values. Null removes an override; `limits` replaces the whole list.",
});

export const createOrganizationSchema = z.strictObject({
  name,
  externalId: externalIdSchema.nullish(),
  metadata: metadataSchema.optional(),
  planId: planId.optional(),
  timezone: timezone.optional(),
  owner: z.strictObject(invitedPerson).optional().openapi({
    description: "Who is invited by email to be the owner.",
  }),
}).openapi("CreateOperatorOrganization");

export const changeOrganizationSchema = z.strictObject({
  name: name.optional(),
  externalId: externalIdSchema.nullable().optional().openapi({
    type: ["string", "null"],
    description: "Your own id for the organization; null removes it.",
  }),
  status: z.enum(organizationStatuses).optional().openapi({
    description: "`suspended` takes effect on the next request of its API keys and members.",
  }),
  planId: planId.optional(),
  overrides: overrides.optional(),
  timezone: timezone.optional(),
  metadata: metadataChangeSchema.optional(),
}).openapi("ChangeOperatorOrganization");

export const operatedOrganizationSchema = z.object({
  id: idOut("org", "The organization's id."),
  name: stringSchema("The organization's name.", "Analytical Engines"),
  externalId: stringSchema("Your own id for the organization.", externalIdExample).nullable(),
  status: z.enum(organizationStatuses).openapi({
    description: "The API keys of suspended organizations are rejected; members can only read.",
  }),
  suspendedAt: timeOut("Since when the organization is suspended.").nullable(),
  planId: idOut("plan", "The id of its plan."),
  overrides: z.object({
    ...eachNumber((number) =>
      z.number().int().nullable().openapi({
        description: `${planNumberRanges[number].description} Null: that of the plan.`,
      })
    ),
    limits: z.array(overrideLimitSchema),
  }).openapi({ description: "Overrides of the plan's values." }),
  timezone: stringSchema("The time zone of its limits.", "Europe/Berlin"),
  metadata: z.record(z.string(), z.string()).openapi({
    description: "Your own data.",
    example: metadataExample,
  }),
  memberCount: z.number().int().openapi({ description: "The number of members." }),
  activeApiKeyCount: z.number().int().openapi({ description: "The number of active API keys." }),
  createdAt: timeOut("When the organization was created."),
  lastUsedAt: timeOut("When one of its API keys was last used. It can be a minute and some seconds behind.")
    .nullable(),
  lastUsageAt: timeOut(
    "The start of the last quarter of an hour with usage, also if operators recorded it. Voids don't move it back.",
  ).nullable(),
}).openapi("OperatorOrganization");

export const listedOrganizationSchema = operatedOrganizationSchema.extend({
  usage: z.object({
    metric: stringSchema("The metric.", "requests"),
    sum: stringSchema("The sum of this month so far, an exact decimal.", "9672878"),
    previousSum: stringSchema(
      "The sum of the same part of the month before, until the last full quarter of an hour, an exact decimal.",
      "8267416",
    ),
  }).nullable().openapi({
    description: "The usage of a metric in months of UTC. Null before anything was recorded.",
  }),
}).openapi("OperatorListedOrganization");

export const organizationFilters = {
  search: searchSchema(
    "A part of the name or external id, in upper or lower case, an organization's id, or the beginning of an owner's email " +
      "address, with its @.",
  ),
  status: z.enum(organizationStatuses).optional().openapi({
    description: "Only organizations with this status.",
  }),
  limits: z.enum(limitFilters).optional().openapi({
    description:
      "Only organizations that have reached a limit (`over`): a hard or cutoff one (`rejected`), or only soft ones (`above`); or " +
      "used 80% or more of one without reaching any (`near`), in its current window. Budgets of API keys don't count. Usage from before a limit was set or changed " +
      "counts from the organization's next request on.",
  }),
  externalId: externalIdSchema.optional().openapi({
    description: "Only the organization with this external id.",
  }),
  plan: z.string().max(100).optional().openapi({
    description: "Only organizations with the plan that has this id.",
    example: exampleId("plan"),
  }),
  metric: z.string().max(64).optional().openapi({
    description:
      "The metric of `usage`, and of sorting by it. By default, the one with the most records this month and last.",
    example: "requests",
  }),
  sort: z.enum(organizationSorts).default("createdAt").openapi({
    description:
      "`createdAt`: the newest first. `name`: by name, regardless of case. `usage`: by usage this month, the most first. " +
      "`growth`: by how many times as much was used as in the same part of the month before; those without any usage then " +
      "come first. With many organizations, the last two and `limits` can be 30 seconds behind.",
  }),
};

export const organizationQuerySchema = pageQuerySchema.extend({
  ...organizationFilters,
  cursor: z.string().max(600).optional().openapi({ description: "The `nextCursor` of the previous page." }),
});

// The pages of usage records. Any address of the list shows a page.
import { environments } from "../../../domain/environment.ts";
import { isId } from "../../../domain/id.ts";
import { pageItemsDefault } from "../../../domain/limits.ts";
import { catalogueOf } from "../../../domain/meter/catalogue.ts";
import { dimensionPropertyForm } from "../../../domain/meter/dimension.ts";
import { idempotencyKeyForm, slugForm } from "../../../domain/meter/usage_record.ts";
import { presentation } from "../../../domain/presentation.ts";
import { timezoneName } from "../../../domain/time.ts";
import type { Access } from "../../../services/access/mod.ts";
import {
  readUsage,
  readUsageRecord,
  viewUsageRecords,
  voidUsageRecord,
} from "../../../services/meter/mod.ts";
import { organizationsHref, recordHref } from "../../../views/components/links.ts";
import {
  recordPage,
  type RecordsAddress,
  recordsPage,
  voidRecordPage,
} from "../../../views/meter/records.tsx";
import type { PortalFrame } from "../../../views/layout.tsx";
import type { App, AppContext } from "../../env.ts";
import { check } from "../../schemas/check.ts";
import { voidUsageSchema } from "../../schemas/usage.ts";
import { dayRange } from "../day_range.ts";
import { inTime } from "../in_time.ts";
import { flashOf } from "../form.ts";
import { mountFormPage } from "../noun_pages.ts";
import { type ConsoleActor, operatorForms } from "../operator/page.ts";
import { filteredRoutes, type PortalParts, sendPage } from "../page.ts";
import { nounPagesOf, type OperatorViewer, operatorViewer, organizationPages } from "../viewer.ts";

const path = "/usage/records";

/** Mounts `/portal/usage/records`, the same for operators, and the page where operators void a record. */
export function recordPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const { get } = organizationPages(app, parts);
  const catalogueOr = async (access: Access) =>
    await inTime((signal) => readUsage(services, access, { job: "findCatalogue", query: {}, signal })) ??
      catalogueOf({ products: [], used: [] });
  const recordOf = (c: AppContext, access: Access) =>
    readUsageRecord(services, access, c.req.param("recordId") ?? "");

  get(path, async (c, { access, frame }) => {
    const address = addressOf(c);
    const timezone = address.timezone ?? presentation().timezone;
    const { errors: dayErrors, ...days } = dayRange(address, timezone);
    const property = propertyOf(address.property);
    const errors = { ...dayErrors, ...typeof property === "string" && { property } };
    const hasErrors = Object.keys(errors).length > 0;
    const { choices, catalogue, environment, usageRecords, ...pages } = await viewUsageRecords(
      services,
      access,
      {
        query: {
          productSlug: onlyOf(address.productSlug),
          metric: onlyOf(address.metric),
          apiKey: onlyOf(address.apiKey),
          environment: address.environment ?? undefined,
          status: address.status ?? undefined,
          idempotencyKey: address.search ?? undefined,
          properties: typeof property === "string" ? undefined : property,
          ...days,
          cursor: c.req.query("cursor") || undefined,
          newerThan: c.req.query("newerThan") || undefined,
          limit: pageItemsDefault,
        },
        signal: c.req.raw.signal,
      },
    );
    return await sendPage(
      c,
      recordsPage({
        frame,
        address,
        environment,
        timezone,
        choices,
        catalogue,
        errors,
        records: hasErrors ? null : usageRecords,
        ...(hasErrors ? { nextCursor: null, previousCursor: null } : pages),
      }),
    );
  });

  get(`${path}/:recordId`, async (c, { access, frame }) => {
    const page = recordPage({
      frame,
      record: await recordOf(c, access),
      catalogue: await catalogueOr(access),
      timezone: presentation().timezone,
      flash: flashOf(c, { voided: "Record voided." }),
    });
    return await sendPage(c, page);
  });

  const forms = filteredRoutes<ConsoleActor, OperatorViewer>(
    operatorForms(app, parts),
    (handler) => async (c, actor) => await handler(c, await operatorViewer(c, parts, actor)),
    `${organizationsHref}/:id`,
  );
  const backOf = ({ base }: PortalFrame) => ({ href: base + path, label: "Records" });
  mountFormPage(nounPagesOf(forms, { place: "usage", backOf }), {
    path: `${path}/:recordId/void`,
    show: async (c, form, { access }) =>
      voidRecordPage(form, { record: await recordOf(c, access), catalogue: await catalogueOr(access) }),
    async submit(c, { access, frame }, { reason = "" }) {
      const { id } = await recordOf(c, access);
      const input = check(voidUsageSchema, { reason }, "body");
      await voidUsageRecord(services, access, { id, ...input, signal: c.req.raw.signal });
      return `${recordHref(frame.base, id)}?done=voided`;
    },
  });
}

function onlyOf(value: string | null): [string] | undefined {
  return value === null ? undefined : [value];
}

/** Parses a filter such as `region=eu`. Returns an error message for an invalid one. */
function propertyOf(text: string | null): Record<string, [string]> | string | undefined {
  if (text === null) return undefined;
  const [, name, value] = /^([^=]*)=(.*)$/su.exec(text) ?? [];
  return name === undefined || value === undefined || !dimensionPropertyForm.test(name)
    ? "Enter a name and a value, such as region=eu."
    : { [name]: [value] };
}

/** Returns the choices of the address; null for those without a valid form. */
function addressOf(c: AppContext): RecordsAddress {
  const given = (name: string) => c.req.query(name)?.trim() || null;
  const valid = (name: string, isValid: (text: string) => boolean) => {
    const text = given(name);
    return text !== null && isValid(text) ? text : null;
  };
  const timezone = given("timezone");
  const environment = environments.find((one) => one === given("environment")) ?? null;
  const status = given("status");
  return {
    status: status === "counted" || status === "voided" ? status : null,
    productSlug: valid("productSlug", (text) => slugForm.test(text)),
    metric: valid("metric", (text) => slugForm.test(text)),
    apiKey: valid("apiKey", (text) => isId("key", text)),
    environment,
    search: valid("search", (text) => idempotencyKeyForm.test(text)),
    property: given("property"),
    from: given("from"),
    to: given("to"),
    timezone: timezone === null ? null : timezoneName(timezone),
  };
}

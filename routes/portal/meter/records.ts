// The pages of usage records. Any address of the list shows a page.
import { isId } from "../../../domain/id.ts";
import { pageItemsDefault } from "../../../domain/limits.ts";
import { catalogueOf } from "../../../domain/meter/catalogue.ts";
import { idempotencyKeyForm, slugForm } from "../../../domain/meter/usage_record.ts";
import { timezoneName } from "../../../domain/time.ts";
import { readUsagePreferences } from "../../../services/meter/usage_preferences.ts";
import { readNamedUsageRecord, viewUsageRecords } from "../../../services/meter/usage_records.ts";
import { membersOf } from "../../../services/reports/report_reader.ts";
import { recordPage, type RecordsAddress, recordsPage } from "../../../views/meter/records.tsx";
import type { App, AppContext } from "../../env.ts";
import { dayRange } from "../day_range.ts";
import { inTime } from "../in_time.ts";
import { type MemberActor, memberRoutes, portalFrame, type PortalParts, sendPage } from "../page.ts";

const path = "/portal/usage/records";

/** Mounts `/portal/usage/records`. */
export function portalRecordRoutes(app: App, parts: PortalParts): void {
  const { get } = memberRoutes(app, parts);
  const { services } = parts;
  const ownTimezone = async (session: MemberActor) =>
    (await readUsagePreferences(services, session)).timezone ?? "UTC";

  get(path, async (c, session) => {
    const address = addressOf(c);
    const timezone = address.timezone ?? await ownTimezone(session);
    const { errors, ...days } = dayRange(address, timezone);
    const hasErrors = Object.keys(errors).length > 0;
    const { choices, catalogue, usageRecords, ...pages } = await viewUsageRecords(services, session, {
      query: {
        productSlug: onlyOf(address.productSlug),
        metric: onlyOf(address.metric),
        apiKey: onlyOf(address.apiKey),
        status: address.status ?? undefined,
        idempotencyKey: address.search ?? undefined,
        ...days,
        cursor: c.req.query("cursor") || undefined,
        newerThan: c.req.query("newerThan") || undefined,
        limit: pageItemsDefault,
      },
      signal: c.req.raw.signal,
    });
    return await sendPage(
      c,
      recordsPage({
        frame: portalFrame(parts, session),
        address,
        timezone,
        choices,
        catalogue,
        errors,
        records: hasErrors ? null : usageRecords,
        ...(hasErrors ? { nextCursor: null, previousCursor: null } : pages),
      }),
    );
  });

  get(`${path}/:id`, async (c, session) => {
    const record = await readNamedUsageRecord(services, session, c.req.param("id") ?? "");
    const { organizationId } = session.organization;
    const page = recordPage({
      frame: portalFrame(parts, session),
      record,
      catalogue: await inTime((signal) =>
        services.reports.read("readCatalogue", { organizationId }, {
          reader: membersOf(organizationId),
          signal,
        })
      ) ??
        catalogueOf({ products: [], used: [] }),
      timezone: await ownTimezone(session),
    });
    return await sendPage(c, page);
  });
}

function onlyOf(value: string | null): [string] | undefined {
  return value === null ? undefined : [value];
}

/** @returns The choices of the address; null for those without a valid form. */
function addressOf(c: AppContext): RecordsAddress {
  const given = (name: string) => c.req.query(name)?.trim() || null;
  const valid = (name: string, isValid: (text: string) => boolean) => {
    const text = given(name);
    return text !== null && isValid(text) ? text : null;
  };
  const timezone = given("timezone");
  const status = given("status");
  return {
    status: status === "counted" || status === "voided" ? status : null,
    productSlug: valid("productSlug", (text) => slugForm.test(text)),
    metric: valid("metric", (text) => slugForm.test(text)),
    apiKey: valid("apiKey", (text) => isId("key", text)),
    search: valid("search", (text) => idempotencyKeyForm.test(text)),
    from: given("from"),
    to: given("to"),
    timezone: timezone === null ? null : timezoneName(timezone),
  };
}

// The console's page of one organization: its usage, members, notes and metadata.
import { parsePeriodQuery } from "../../../domain/meter/usage_period.ts";
import { listApiKeys } from "../../../services/operator/api_keys.ts";
import { readLimitMailReach } from "../../../services/mail/limit_mails.ts";
import { readLimits } from "../../../services/meter/limits.ts";
import { listOperatorAudit } from "../../../services/operator/audit.ts";
import { listMembers } from "../../../services/operator/organization_members.ts";
import { listNotes } from "../../../services/operator/organization_notes.ts";
import { getOrganization } from "../../../services/operator/organizations.ts";
import { getPlan } from "../../../services/operator/plans.ts";
import { listOrganizationStatements, listStatements } from "../../../services/operator/statements.ts";
import { operatorReader, type ReportReader } from "../../../services/reports/report_reader.ts";
import { organizationHref, organizationsHref } from "../../../views/operator/links.ts";
import { organizationPage } from "../../../views/operator/organization.tsx";
import type { App, AppContext } from "../../env.ts";
import { flashOf } from "../form.ts";
import { pageOf } from "../meter/usage.ts";
import { reportOf } from "../meter/usage_report.ts";
import { type PortalParts, sendPage } from "../page.ts";
import { operatorFrame, operatorPages } from "./page.ts";

const membersShownMax = 5;
const keysShownMax = 5;
const notesShownMax = 5;
const eventsShownMax = 5;
const statementsShownMax = 3;
const flashes = {
  created: "Organization created.",
  saved: "Changes saved.",
  suspended: "Organization suspended. Requests with its keys fail.",
  resumed: "Organization resumed. Its keys work again.",
  invited: "Invitation sent.",
  noted: "Note added.",
  "note-deleted": "Note deleted.",
};

/** Mounts `/operator/organizations/:id`. */
export function operatorOrganizationPage(app: App, parts: PortalParts): void {
  const { services } = parts;
  const { get } = operatorPages(app, parts);
  get(`${organizationsHref}/:id`, async (c, actor) => {
    const organization = await getOrganization(services, idOf(c));
    const idText = organization.id;
    const reader = operatorReader(actor);
    const { signal } = c.req.raw;
    const [
      plan,
      limits,
      mailReach,
      usage,
      { next },
      { apiKeys },
      { members },
      { notes, nextCursor },
      { events },
    ] = await Promise.all([
      getPlan(services, organization.planId),
      readLimits(services, { organizationId: idText }, { reader, signal }),
      readLimitMailReach(services, idText),
      usageOf(c, parts, { id: idText, reader }),
      listStatements(services, { limit: 1 }),
      listApiKeys(services, { idText, limit: keysShownMax }),
      listMembers(services, actor, { idText, limit: membersShownMax }),
      listNotes(services, { idText, limit: notesShownMax, cursor: c.req.query("notes") }),
      listOperatorAudit(services, { organization: idText, limit: eventsShownMax }),
    ]);
    const statements = await listOrganizationStatements(services, actor, {
      organizationId: idText,
      metric: usage.metric,
      limit: statementsShownMax,
      signal,
    });
    const page = organizationPage({
      frame: operatorFrame(parts, actor),
      organization,
      plan,
      limits,
      mailReach,
      ...usage,
      statements,
      openMonth: next.period,
      apiKeys,
      members,
      notes,
      olderNotesHref: nextCursor && `${organizationHref(idText)}?notes=${nextCursor}`,
      events,
      flash: flashOf(c, flashes),
    });
    return await sendPage(c, page);
  });
}

/** @returns The usage of the current month, of the metric in the address or the one with the most records. */
async function usageOf(
  c: AppContext,
  { services }: PortalParts,
  { id, reader }: { id: string; reader: ReportReader },
) {
  const now = services.clock();
  const { period, unit, timezone, range, days } = parsePeriodQuery({}, now);
  const wanted = c.req.query("metric") || null;
  const pages = { products: pageOf(c, "productPage"), keys: pageOf(c, "keyPage") };
  const numbers = await services.reports.read("readUsageOverview", {
    period,
    unit,
    timezone,
    filters: { productSlug: null, metric: wanted, apiKey: null },
    usualMetric: null,
    stack: "productSlug",
    pages: { products: pages.products ?? 1, groups: pages.keys ?? 1 },
    organizationId: id,
    now,
  }, { reader, signal: c.req.raw.signal });
  const { metric } = numbers.filters;
  const { report } = numbers;
  if (period === null || report === null) return { metric, usage: null };
  const address = {
    path: organizationHref(id),
    range,
    days,
    window: null,
    timezone: null,
    filters: { productSlug: null, metric, apiKey: null },
    stack: null,
    pages,
  };
  const groups = { title: "API keys", column: "Key", hrefOf: () => null };
  const { trends } = numbers;
  const options = { period, address, timezone, now, groups, trends, csv: null };
  return { metric, usage: reportOf({ ...numbers, report }, options) };
}

/** @returns The organization that the path names: its id, or `external:` and its external id. */
export function idOf(c: AppContext): string {
  return c.req.param("id") ?? "";
}

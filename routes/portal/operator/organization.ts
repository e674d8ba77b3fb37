// The console's page of one organization: its usage, members, notes and metadata.
import { parsePeriodQuery } from "../../../domain/meter/usage_period.ts";
import { readLimitMailReach } from "../../../services/mail/limit_mails.ts";
import { readLimits } from "../../../services/meter/limits.ts";
import { listOperatorAudit } from "../../../services/operator/audit.ts";
import { listMembers } from "../../../services/organization/members.ts";
import { listNotes } from "../../../services/operator/organization_notes.ts";
import { getOrganization } from "../../../services/operator/organizations.ts";
import { getPlan } from "../../../services/operator/plans.ts";
import { listOrganizationStatements, listStatements } from "../../../services/operator/statements.ts";
import { operatorReader } from "../../../services/reports/report_reader.ts";
import type { ReportOptions } from "../../../services/reports/reports.ts";
import { organizationHref, organizationsHref } from "../../../views/operator/links.ts";
import { organizationPage } from "../../../views/operator/organization.tsx";
import type { App, AppContext } from "../../env.ts";
import { newestKeyRows } from "../api_keys.ts";
import { flashOf } from "../form.ts";
import { pageOf } from "../meter/usage.ts";
import { reportOf } from "../meter/usage_report.ts";
import { type PortalParts, sendPage } from "../page.ts";
import { inTime } from "../in_time.ts";
import { operatorViewer } from "../viewer.ts";
import { type ConsoleActor, operatorPages } from "./page.ts";

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
  noted: "Note added.",
  "note-deleted": "Note deleted.",
};

/** Mounts `/operator/organizations/:id`. */
export function operatorOrganizationPage(app: App, parts: PortalParts): void {
  const { services } = parts;
  const { get } = operatorPages(app, parts);
  get(`${organizationsHref}/:id`, async (c, actor) => {
    const organization = await getOrganization(services, idOf(c));
    const { access, frame } = await operatorViewer(c, parts, actor);
    const idText = organization.id;
    const [
      plan,
      mailReach,
      numbers,
      { next },
      apiKeys,
      { members },
      { notes, nextCursor },
      { events },
    ] = await Promise.all([
      getPlan(services, organization.planId),
      readLimitMailReach(services, idText),
      inTime((signal) => numbersOf(c, parts, { actor, id: idText, signal })),
      listStatements(services, { limit: 1 }),
      newestKeyRows(parts, access, keysShownMax),
      listMembers(services, access, { limit: membersShownMax }),
      listNotes(services, { idText, limit: notesShownMax, cursor: c.req.query("notes") }),
      listOperatorAudit(services, { organization: idText, limit: eventsShownMax }),
    ]);
    const page = organizationPage({
      frame,
      organization,
      plan,
      mailReach,
      ...(numbers ?? { limits: [], metric: null, usage: null, statements: [] }),
      isBusy: numbers === null,
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

/** Reads what the reports thread adds up. The page must work without it. */
async function numbersOf(
  c: AppContext,
  parts: PortalParts,
  { actor, id, signal }: { actor: ConsoleActor; id: string; signal: AbortSignal },
) {
  const options = { reader: operatorReader(actor), signal };
  const [limits, usage] = await Promise.all([
    readLimits(parts.services, { organizationId: id }, options),
    usageOf(c, parts, { id, options }),
  ]);
  const statements = await listOrganizationStatements(parts.services, actor, {
    organizationId: id,
    metric: usage.metric,
    limit: statementsShownMax,
    signal,
  });
  return { limits, ...usage, statements };
}

/** Reads the usage of the current month, of the metric in the address or the one with the most records. */
async function usageOf(
  c: AppContext,
  { services }: PortalParts,
  { id, options: reportOptions }: { id: string; options: ReportOptions },
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
  }, reportOptions);
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

/** Returns the text that names the organization in the path: its id, or `external:` and its external id. */
export function idOf(c: AppContext): string {
  return c.req.param("id") ?? "";
}

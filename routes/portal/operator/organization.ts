// The console's page of one organization: its usage, members, notes and metadata.
import { parsePeriodQuery } from "../../../domain/meter/usage_period.ts";
import type { OperatorAccess } from "../../../services/access.ts";
import { listAuditEvents } from "../../../services/audit.ts";
import { readLimitMailReach } from "../../../services/mail/limit_mails.ts";
import { readLimits } from "../../../services/meter/limits.ts";
import { readUsagePage } from "../../../services/meter/usage.ts";
import { listMembers } from "../../../services/organization/members.ts";
import { listNotes } from "../../../services/operator/organization_notes.ts";
import { getOrganization } from "../../../services/operator/organizations.ts";
import { getPlan } from "../../../services/operator/plans.ts";
import { listOrganizationStatements, listStatements } from "../../../services/operator/statements.ts";
import { organizationHref, organizationsHref } from "../../../views/operator/links.ts";
import { organizationPage } from "../../../views/operator/organization.tsx";
import type { App, AppContext } from "../../env.ts";
import { newestKeyRows } from "../api_keys.ts";
import { flashOf } from "../form.ts";
import { monthReport } from "../meter/usage_report.ts";
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
      readLimitMailReach(services, access),
      inTime((signal) => numbersOf(parts, { actor, access, metric: c.req.query("metric") || null, signal })),
      listStatements(services, { limit: 1 }),
      newestKeyRows(parts, access, keysShownMax),
      listMembers(services, access, { limit: membersShownMax }),
      listNotes(services, { idText, limit: notesShownMax, cursor: c.req.query("notes") }),
      listAuditEvents(services, access, { limit: eventsShownMax }),
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

interface Wanted {
  readonly access: OperatorAccess;
  /** The metric in the address; null for the one with the most records. */
  readonly metric: string | null;
  readonly signal: AbortSignal;
}

/** Reads what the reports thread adds up. The page must work without it. */
async function numbersOf(parts: PortalParts, { actor, ...wanted }: Wanted & { actor: ConsoleActor }) {
  const { services } = parts;
  const { access, signal } = wanted;
  const [limits, usage] = await Promise.all([
    readLimits(services, access, { signal }),
    usageOf(parts, wanted),
  ]);
  const { statements } = await listOrganizationStatements(services, access, {
    metric: usage.metric,
    limit: statementsShownMax,
    signal,
  });
  return { limits, ...usage, statements };
}

async function usageOf({ services }: PortalParts, { access, metric: wanted, signal }: Wanted) {
  const now = services.clock();
  const { period, unit, timezone, days } = parsePeriodQuery({}, now);
  const numbers = await readUsagePage(services, access, {
    query: {
      period,
      unit,
      timezone,
      filters: { productSlug: null, metric: wanted, apiKey: null },
      usualMetric: null,
      stack: "productSlug",
      pages: { products: 1, groups: 1 },
    },
    signal,
  });
  const { report, trends, filters: { metric } } = numbers;
  if (period === null || report === null) return { metric, usage: null };
  const base = organizationHref(access.organizationId);
  const usage = monthReport({ ...numbers, report }, {
    base,
    now,
    period,
    days,
    timezone,
    trends,
    metricHref: (slug) => `${base}?${new URLSearchParams({ metric: slug })}`,
    groups: { title: "API keys", column: "Key" },
    keyHref: () => null,
  });
  return { metric, usage };
}

/** Returns the text that names the organization in the path: its id, or `external:` and its external id. */
export function idOf(c: AppContext): string {
  return c.req.param("id") ?? "";
}

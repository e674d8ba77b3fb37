// The pages of the audit log, of an organization and of operators. Any address shows a page.
import { auditActionsOf, type AuditEvent } from "../../domain/access/audit.ts";
import { isId } from "../../domain/id.ts";
import { auditRetentionMs, consolePageItemsMax } from "../../domain/limits.ts";
import type { Catalogue } from "../../domain/meter/catalogue.ts";
import { presentation } from "../../domain/presentation.ts";
import { isoTime } from "../../domain/time.ts";
import {
  type AuditFilter,
  listAuditActors,
  listAuditEvents,
  operatorAccess,
  parseAuditCursor,
  requirePermission,
} from "../../services/access/mod.ts";
import { getApiKeyLineage } from "../../services/keys/mod.ts";
import { readProductNames } from "../../services/meter/mod.ts";
import {
  type AuditAddress,
  type AuditErrors,
  type AuditFilterProps,
  AuditFilters,
  auditHref,
  ChosenAuditFilters,
  wholeAuditLog,
} from "../../views/access/audit_filters.tsx";
import { type AuditRow, AuditTable } from "../../views/access/audit_table.tsx";
import { ButtonLink } from "../../views/components/button.tsx";
import { NothingListed } from "../../views/components/filter_menu.tsx";
import { apiKeyHref } from "../../views/components/key_name.tsx";
import { ListCard } from "../../views/components/list_card.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { PageLinks } from "../../views/components/page_links.tsx";
import { type PortalFrame, PortalPage } from "../../views/layout.tsx";
import type { App, AppContext } from "../env.ts";
import { dayRange } from "../portal/day_range.ts";
import { operatorFrame, operatorPages } from "../portal/operator_page.ts";
import { type PortalParts, sendPage } from "../portal/page.ts";
import { ifFound } from "../portal/in_time.ts";
import { deviceNames } from "../portal/device_name.ts";
import { organizationPages } from "../portal/viewer.ts";

const path = "/audit";
const consoleHref = "/operator/audit";
const auditPageEntries = 25;

/** The page is also the tab of an organization's log in the console. */
export function portalAuditRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  organizationPages(app, parts).get(path, async (c, { access, frame }) => {
    requirePermission(access, "audit.read");
    const { address: chosen, filter: given, errors } = auditChoice(c);
    const keyId = c.req.query("targetId");
    const lineage = keyId === undefined
      ? null
      : await ifFound(() => getApiKeyLineage(services, access, keyId));
    // Entries about a key are read by another index than those of a person.
    const address = { ...chosen, ...lineage && { targetId: lineage.current.id, actorId: null } };
    const filter = given && { ...given, targetIds: lineage?.generations.map(({ id }) => id) };
    const people = lineage === null ? await listAuditActors(services, access) : [];
    const { events, nextCursor } = filter === null ? nothing : await listAuditEvents(services, access, {
      ...filter,
      limit: auditPageEntries,
      cursor: address.cursor ?? undefined,
    });
    return sendPage(
      c,
      auditPage({
        frame,
        path: frame.base + path,
        address,
        people,
        errors,
        events: await withDevices(events),
        catalogue: await readProductNames(services),
        nextCursor,
        about: lineage === null
          ? undefined
          : { name: lineage.current.name, href: apiKeyHref(frame.base, lineage.current.id) },
        csvHref: filter === null || lineage !== null ? null : csvOf(frame, address, filter),
      }),
    );
  });
}

/** Mounts the console's page: what operators did, or everything in one organization. */
export function operatorAuditPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const { get } = operatorPages(app, parts);
  get(consoleHref, async (c, actor) => {
    const { filter, errors, ...choice } = auditChoice(c);
    const organizationId = c.req.query("organizationId")?.trim() || null;
    const address = { ...choice.address, organizationId };
    const log = organizationId === null
      ? actor
      : await ifFound(() => operatorAccess(services, actor, organizationId));
    const found = filter === null ? nothing : log && await listAuditEvents(services, log, {
      ...filter,
      limit: consolePageItemsMax,
      cursor: address.cursor ?? undefined,
    });
    const page = auditPage({
      frame: operatorFrame(parts, actor),
      path: consoleHref,
      address,
      people: null,
      errors: found === null ? { ...errors, organizationId: "Organization not found." } : errors,
      events: await withDevices(found?.events ?? []),
      catalogue: await readProductNames(services),
      nextCursor: found?.nextCursor ?? null,
      csvHref: filter === null || found === null
        ? null
        : auditCsvHref("/api/operator/audit.csv", address, filter),
    });
    return await sendPage(c, page);
  });
}

/** Operators' files name operators, so there is none as customer. */
function csvOf({ viewed, isReadOnly }: PortalFrame, address: AuditAddress, filter: AuditFilter) {
  if (isReadOnly) return null;
  return viewed === null
    ? auditCsvHref("/api/portal/audit.csv", address, filter)
    : auditCsvHref("/api/operator/audit.csv", { ...address, organizationId: viewed.id }, filter);
}

const nothing = { events: [], nextCursor: null };

/** Reads the choices in the address. Without a filter, nothing can be shown. */
function auditChoice(
  c: AppContext,
): { address: AuditAddress; filter: AuditFilter | null; errors: AuditErrors } {
  const given = (name: string) => c.req.query(name)?.trim() || null;
  const action = given("action");
  const actions = action === null ? undefined : auditActionsOf(action);
  const isAction = actions === undefined || actions.length > 0;
  const actorId = given("actorId");
  const isActor = actorId === null || isId("usr", actorId) || isId("key", actorId) || isId("opt", actorId);
  const days = dayRange({ from: given("from"), to: given("to") }, presentation().timezone);
  const errors: AuditErrors = {
    ...(isAction ? {} : { action: "Unknown action. All actions are shown." }),
    ...(isActor ? {} : { actorId: "Unknown actor. All actors are shown." }),
    ...days.errors,
  };
  const cursor = given("cursor");
  return {
    address: {
      organizationId: null,
      action: isAction ? action : null,
      actorId: isActor ? actorId : null,
      from: given("from"),
      to: given("to"),
      cursor: cursor !== null && parseAuditCursor(cursor) !== null ? cursor : null,
    },
    filter: Object.keys(days.errors).length > 0 ? null : {
      actions: isAction ? actions : undefined,
      actorId: isActor ? actorId ?? undefined : undefined,
      from: days.from,
      to: days.to,
    },
    errors,
  };
}

function auditCsvHref(
  path: string,
  { action, organizationId }: AuditAddress,
  { actorId, from, to }: AuditFilter,
): string {
  const query = new URLSearchParams();
  if (action !== null) query.set("action", action);
  if (organizationId !== null) query.set("organizationId", organizationId);
  if (actorId !== undefined) query.set("actorId", actorId);
  if (from !== undefined) query.set("from", isoTime(from));
  if (to !== undefined) query.set("to", isoTime(to));
  return query.size === 0 ? path : `${path}?${query}`;
}

/** Adds the names of browsers and programs to entries. */
async function withDevices<T extends AuditEvent>(events: readonly T[]): Promise<(T & AuditRow)[]> {
  const distinct = [...new Set(events.map(({ userAgent }) => userAgent))].filter((one) => one.trim() !== "");
  const words = await deviceNames(distinct);
  const devices = new Map(distinct.map((userAgent, index) => [userAgent, words[index] ?? ""]));
  return events.map((event) => ({ ...event, device: devices.get(event.userAgent) ?? null }));
}

interface AuditPageProps extends AuditFilterProps {
  readonly frame: PortalFrame;
  /** A page of entries, newest first. None if a field has an error. */
  readonly events: readonly AuditRow[];
  /** The names of products and metrics. */
  readonly catalogue: Catalogue;
  readonly nextCursor: string | null;
  /** The address of the file with all matching entries. Null if a field has an error. */
  readonly csvHref: string | null;
  readonly about?: { readonly name: string; readonly href: string } | undefined;
}

const retentionDays = auditRetentionMs / (24 * 3_600_000);

function auditPage(props: AuditPageProps) {
  const { frame, path, address, events, nextCursor, csvHref, about } = props;
  return (
    <PortalPage title="Audit log" frame={frame} place={frame.isConsole ? "operator/audit" : "audit"}>
      <PageHead
        title="Audit log"
        text={`${aboutLog(props)} Entries are kept for ${retentionDays} days.`}
        keepsActions
      >
        {csvHref && <ButtonLink href={csvHref} isFile>Download CSV</ButtonLink>}
      </PageHead>
      {about && (
        <p class="small">
          {"About the key "}
          <a href={about.href}>
            <bdi>{about.name}</bdi>
          </a>
          {" · "}
          <a href={auditHref({ ...address, targetId: null, cursor: null }, path)}>Show all entries</a>
        </p>
      )}
      <ListCard
        label="Entries"
        tabs={<h2>{address.cursor === null ? "Newest first" : "Older entries"}</h2>}
        tools={<AuditFilters {...props} />}
      >
        <ChosenAuditFilters {...props} />
        {events.length === 0 ? <Nothing {...props} /> : <AuditTable {...props} />}
      </ListCard>
      <PageLinks
        links={[
          { href: address.cursor && auditHref({ ...address, cursor: null }, path), label: "Newest entries" },
          { href: nextCursor && auditHref({ ...address, cursor: nextCursor }, path), label: "Older entries" },
        ]}
      />
    </PortalPage>
  );
}

function aboutLog({ frame, address }: AuditPageProps): string {
  if (!frame.isConsole || frame.viewed !== null) {
    return "Who did what in this organization, and which requests were denied.";
  }
  return address.organizationId === null
    ? "What operators and their tokens did, in all organizations."
    : "Who did what in this organization, members and operators.";
}

function Nothing({ path, address, errors }: AuditPageProps) {
  const clearHref = auditHref(wholeAuditLog, path);
  return (
    <NothingListed
      what="entries"
      hasErrors={Object.keys(errors).length > 0}
      isFiltered={auditHref({ ...address, cursor: null }, path) !== clearHref}
      text="No older entries."
      clearHref={clearHref}
    />
  );
}

// An organization's billing page, and the page of one month.
import { openStatement } from "../../domain/billing/statement.ts";
import type { Access } from "../../services/access/mod.ts";
import { listGrants, readLimits, readUsage } from "../../services/meter/mod.ts";
import { getStatement, listOrganizationStatements, listStatements } from "../../services/billing/mod.ts";
import { readPlan } from "../../services/people/mod.ts";
import { billingPage } from "../../views/billing/billing.tsx";
import { organizationStatementPage } from "../../views/billing/statement.tsx";
import { grantsShownMax } from "../../views/meter/grants.tsx";
import { listHref } from "../../views/components/list_filters.tsx";
import { billingCsvHref, billingHref } from "../../views/billing/statement_text.ts";
import type { App } from "../env.ts";
import { inTime } from "./in_time.ts";
import { nearestFirst } from "./meter/usage.ts";
import { type PortalParts, sendPage } from "./page.ts";
import { cursorOf, readShownLines } from "./statement_lines.ts";
import { organizationPages } from "./viewer.ts";

const statementsShownMax = 12;
const openLinesShownMax = 12;

export function billingPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const { get } = organizationPages(app, parts);

  get("/billing", async (c, { access, frame }) => {
    // The running month, and before it one that has ended but isn't closed.
    const { open: [open = await getStatement(services, openStatement), ...ended] } = await listStatements(
      services,
      { limit: 1 },
    );
    const [plan, limits, catalogue, lines, list, { grants }] = await Promise.all([
      readPlan(services, access),
      inTime((signal) => readLimits(services, access, { signal })),
      inTime((signal) => readUsage(services, access, { job: "findCatalogue", query: {}, signal })),
      readShownLines(parts, access, { statement: open, limit: openLinesShownMax }),
      readStatements(parts, access, cursorOf(c)),
      listGrants(services, access, { limit: grantsShownMax }),
    ]);
    return await sendPage(
      c,
      billingPage({
        frame,
        ...plan,
        limits: limits && nearestFirst(limits),
        grants,
        catalogue: catalogue ?? undefined,
        open,
        ended: c.req.query("cursor") ? [] : ended,
        ...lines,
        statements: list && list.statements,
        olderHref: list?.nextCursor ? listHref(billingHref(frame), { cursor: list.nextCursor }) : null,
      }),
    );
  });

  get("/billing/:period", async (c, { access, frame }) => {
    const id = c.req.param("period") ?? "";
    const statement = await getStatement(services, id);
    const { nextCursor, ...lines } = await readShownLines(parts, access, { statement, cursor: cursorOf(c) });
    return await sendPage(
      c,
      organizationStatementPage({
        frame,
        place: "billing",
        back: { href: billingHref(frame), label: frame.viewed === null ? "Billing" : "Statements" },
        statement,
        organization: null,
        ...lines,
        csvHref: billingCsvHref(frame, statement),
        nextHref: nextCursor && listHref(billingHref(frame, id), { cursor: nextCursor }),
      }),
    );
  });
}

async function readStatements({ services }: PortalParts, access: Access, cursor: string | undefined) {
  const query = { limit: statementsShownMax, cursor };
  return await inTime((signal) => listOrganizationStatements(services, access, { ...query, signal }));
}

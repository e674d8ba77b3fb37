// The console's pages of statements.
import { pageItemsDefault, statementWaitMs } from "../../../domain/limits.ts";
import { resolveOrganization } from "../../../services/access.ts";
import { closeStatement, listStatements, readStatement } from "../../../services/operator/statements.ts";
import { listHref } from "../../../views/operator/list_filters.tsx";
import { closeStatementPage, statementPage, statementsPage } from "../../../views/operator/statements.tsx";
import type { App } from "../../env.ts";
import { mountForm } from "../form.ts";
import { type PortalParts, redirect, sendPage } from "../page.ts";
import { operatorForms, operatorFrame, operatorPages } from "./page.ts";

const path = "/operator/statements";

/** Mounts `/operator/statements`. */
export function operatorStatementPages(app: App, parts: PortalParts): void {
  const { services, config } = parts;
  const { get } = operatorPages(app, parts);
  const hrefOf = (page: string, cursor: string | null) =>
    cursor && `${page}?cursor=${encodeURIComponent(cursor)}`;

  get(path, async (c, actor) => {
    const query = { limit: pageItemsDefault, cursor: c.req.query("cursor") };
    const { nextCursor, ...found } = await listStatements(services, query);
    const frame = operatorFrame(parts, actor);
    return await sendPage(c, statementsPage({ frame, ...found, nextHref: hrefOf(path, nextCursor) }));
  });

  mountForm(operatorForms(app, parts), {
    path: `${path}/close`,
    async show(c, actor, { input = {}, ...state }) {
      const { statements, next } = await listStatements(services, { limit: 1 });
      const page = closeStatementPage({
        frame: operatorFrame(parts, actor),
        next,
        timezone: config.billingTimezone,
        isFirst: statements.length === 0,
        period: input["period"] ?? next.period,
        ...state,
      });
      return await sendPage(c, page, state.status);
    },
    async submit(c, actor, { period = "" }) {
      const { statement } = await closeStatement(services, actor, { period, waitMs: statementWaitMs });
      return redirect(c, `${path}/${statement.id}`);
    },
  });

  get(`${path}/:id`, async (c, actor) => {
    const id = c.req.param("id") ?? "";
    const { signal } = c.req.raw;
    const organizationId = c.req.query("organizationId") || undefined;
    const organization = organizationId === undefined
      ? null
      : await resolveOrganization(services, organizationId);
    const query = {
      id,
      limit: pageItemsDefault,
      cursor: c.req.query("cursor"),
      organizationId: organization?.id,
      signal,
    };
    const { nextCursor, ...found } = await readStatement(services, actor, query);
    const frame = operatorFrame(parts, actor);
    return await sendPage(
      c,
      statementPage({
        frame,
        ...found,
        organization,
        nextHref: nextCursor &&
          listHref(`${path}/${id}`, { organizationId: organization?.id, cursor: nextCursor }),
      }),
    );
  });
}

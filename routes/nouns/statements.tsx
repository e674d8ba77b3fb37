// Statements: their API and their pages in the console.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { pageItemsDefault, statementWaitMs } from "../../domain/limits.ts";
import { groupDigits } from "../../domain/number_text.ts";
import type {
  NextStatement,
  Statement,
  StatementLine,
  StatementTotal,
} from "../../domain/operator/statement.ts";
import { resolveOrganization } from "../../services/access.ts";
import { closeStatement } from "../../services/operator/statement_closing.ts";
import {
  listStatements,
  readStatement,
  readStatementCsv,
  statementsFor,
} from "../../services/operator/statements.ts";
import { Badge } from "../../views/components/badge.tsx";
import { ButtonLink } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { EmptyState } from "../../views/components/empty_state.tsx";
import { Facts } from "../../views/components/facts.tsx";
import { TextField } from "../../views/components/field.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { ListPage } from "../../views/components/list_page.tsx";
import { Notice } from "../../views/components/notice.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { PageLinks } from "../../views/components/page_links.tsx";
import { DayTime, MomentTime } from "../../views/components/relative_time.tsx";
import { Name } from "../../views/components/table.tsx";
import { type Place, type PortalFrame, PortalPage } from "../../views/layout.tsx";
import { organizationHref, statementsHref } from "../../views/operator/links.ts";
import { listHref } from "../../views/operator/list_filters.tsx";
import { periodWords, statementCsvHref, statementHref } from "../../views/operator/statement_text.ts";
import { documentRoute } from "../api/endpoint.ts";
import { csvResponse, sendCsv } from "../api/job_bytes.ts";
import { forOperators, operatorRoutes } from "../api/operator/operator_routes.ts";
import type { App, AppEnv, AppParts } from "../env.ts";
import { mountFormPage, mountPage, paramOf, type ShownForm, withInput } from "../portal/noun_pages.ts";
import { consolePages } from "../portal/operator/page.ts";
import type { PortalParts } from "../portal/page.ts";
import { check } from "../schemas/check.ts";
import { pageQuerySchema } from "../schemas/common.ts";
import * as schemas from "../schemas/statements.ts";

const apiPath = "/api/operator/statements";
const csvEnding = /\.csv$/;
const closed = { description: "The statement.", schema: schemas.statementResponseSchema };

export function statementRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts, { read: "statements:read", write: "statements:write" });

  route({
    route: `GET ${apiPath}`,
    operationId: "listStatements",
    summary: "List statements",
    description: "Newest first, with the month that can be closed next.",
    query: pageQuerySchema,
    responses: { 200: { description: "A page of statements.", schema: schemas.statementsSchema } },
  }, (_c, { query }) => listStatements(services, query));

  route({
    route: `POST ${apiPath}`,
    operationId: "closeStatement",
    summary: "Close a month",
    description:
      "Closes a month for all organizations. This can't be undone: what is recorded or voided for the month later becomes " +
      "an adjustment in the next statement. Months are closed in order, without gaps; the first can be any month that has ended, and earlier " +
      "ones are never billed. " +
      "If closing takes longer than 10 seconds, the response is 202, and closing continues in the background.",
    body: schemas.closeStatementSchema,
    responses: {
      201: { ...closed, description: "The month is closed." },
      200: { ...closed, description: "The month was closed before." },
      202: { ...closed, description: "The month is being closed." },
    },
    errors: ["month_not_ended", "statement_out_of_order", "statement_not_closed"],
  }, async (c, { body: { period } }, actor) => {
    const { statement, isNew } = await closeStatement(services, actor, { period, waitMs: statementWaitMs });
    return c.json({ statement }, statement.status === "closing" ? 202 : isNew ? 201 : 200);
  });

  // The router has one route for both, because it doesn't tell paths apart within a segment.
  documentRoute(
    app,
    forOperators({
      route: `GET ${apiPath}/{id}.csv`,
      operationId: "downloadStatement",
      summary: "Download a statement as CSV",
      description:
        "All lines, or those of one organization. `adjustmentOf` is the earlier month that a line corrects, or empty.",
      params: schemas.statementParamsSchema,
      query: schemas.statementCsvQuerySchema,
      responses: { 200: csvResponse },
      errors: ["statement_not_closed"],
    }, "statements:read"),
  );
  route({
    route: `GET ${apiPath}/{id}`,
    operationId: "getStatement",
    summary: "Get a statement",
    description: "With its totals and a page of its lines.",
    params: schemas.statementParamsSchema,
    query: schemas.statementQuerySchema,
    responses: { 200: { description: "The statement.", schema: schemas.statementLinesSchema } },
  }, async (c, { params: { id }, query }, actor) => {
    const { signal } = c.req.raw;
    if (!csvEnding.test(id)) {
      const { organizationId, ...page } = query;
      return await readStatement(services, statementsFor(actor, organizationId), { id, ...page, signal });
    }
    const { organizationId } = check(schemas.statementCsvQuerySchema, c.req.query(), "query");
    const csv = await readStatementCsv(services, statementsFor(actor, organizationId), {
      id: id.replace(csvEnding, ""),
      signal,
    });
    return sendCsv(c, csv.report, `statement-${csv.period}.csv`);
  });
}

export function statementPages(app: App, parts: PortalParts): void {
  const { services, config } = parts;
  const pages = consolePages(app, parts, "operator/statements");

  mountPage(pages, statementsHref, async (c, page) => {
    const query = { limit: pageItemsDefault, cursor: c.req.query("cursor") };
    const { statements, next, nextCursor } = await listStatements(services, query);
    const month = periodWords(next.period);
    const none = { title: "No statements yet", text: `Close ${month} to get the first one.` };
    const nextHref = nextCursor && listHref(statementsHref, { cursor: nextCursor });
    return (
      <ListPage
        {...page}
        title="Statements"
        text="A statement closes a month for all organizations. It never changes, so you can bill by it."
        add={next.isEnded ? { href: `${statementsHref}/close`, label: <>Close {month}</> } : null}
        card="Newest first"
        empty={statements.length === 0 ? none : null}
        links={[{ href: nextHref, label: "Older statements" }]}
      >
        <StatementTable statements={statements} now={page.frame.now} />
      </ListPage>
    );
  });

  mountFormPage(pages, {
    path: `${statementsHref}/close`,
    async show(_c, form) {
      const { statements, next } = await listStatements(services, { limit: 1 });
      const isFirst = statements.length === 0;
      const period = form.input?.["period"] ?? next.period;
      return closeForm(withInput(form, { period }), { next, timezone: config.billingTimezone, isFirst });
    },
    async submit(_c, actor, { period = "" }) {
      const { statement } = await closeStatement(services, actor, { period, waitMs: statementWaitMs });
      return statementHref(statement.id);
    },
  });

  mountPage(pages, `${statementsHref}/:id`, async (c, { actor, ...page }) => {
    const id = paramOf(c, "id");
    const idText = c.req.query("organizationId");
    const organization = idText ? await resolveOrganization(services, idText) : null;
    const { nextCursor, ...found } = await readStatement(services, statementsFor(actor, organization?.id), {
      id,
      limit: pageItemsDefault,
      cursor: c.req.query("cursor"),
      signal: c.req.raw.signal,
    });
    const nextHref = nextCursor &&
      listHref(statementHref(id), { organizationId: organization?.id, cursor: nextCursor });
    return statementPage({ ...page, ...found, organization, nextHref });
  });
}

function StatementTable({ statements, now }: { statements: readonly Statement[]; now: number }) {
  return (
    <ItemTable
      label="Statements"
      items={statements}
      columns={[
        {
          title: "Month",
          in: "title",
          cell: ({ id, period }) => (
            <a href={statementHref(id)}>
              <Name text={periodWords(period)} />
            </a>
          ),
        },
        { title: "Status", in: "state", cell: ({ status }) => <StatusBadge status={status} /> },
        { title: "Time zone", cell: ({ timezone }) => <span>{timezone}</span> },
        {
          title: "Closed",
          cell: ({ closedAt }) => closedAt === null ? "Not yet" : <DayTime at={closedAt} now={now} />,
        },
      ]}
    />
  );
}

function StatusBadge({ status }: Pick<Statement, "status">) {
  if (status === "open") return <Badge tone="soon">Open</Badge>;
  return status === "closed" ? <Badge tone="on">Closed</Badge> : <Badge tone="soon">Closing</Badge>;
}

/** The page of a statement. @param props `organization`: the one whose lines are shown; null for those of all. */
function statementPage(props: {
  frame: PortalFrame;
  place: Place;
  statement: Statement;
  totals: readonly StatementTotal[] | null;
  lines: readonly StatementLine[];
  organization: { readonly id: string; readonly name: string } | null;
  nextHref: string | null;
}) {
  const { frame, place, statement, totals, lines, organization, nextHref } = props;
  const { id, period, start, end, timezone, status } = statement;
  const isClosed = status === "closed";
  const moment = (at: string) => <MomentTime at={at} now={frame.now} timezone={timezone} />;
  return (
    <PortalPage title={`Statement of ${periodWords(period)}`} frame={frame} place={place}>
      <PageHead
        back={{ href: statementsHref, label: "Statements" }}
        title={`Statement of ${periodWords(period)}`}
      >
        {isClosed && (
          <ButtonLink href={statementCsvHref(id, organization?.id)} isFile>Download CSV</ButtonLink>
        )}
      </PageHead>
      {!isClosed && (
        <Notice tone="done" text="This month is being closed. Reload the page to see its lines." />
      )}
      <Card title="Details">
        <Facts
          facts={[
            { label: "Status", value: <StatusBadge status={status} /> },
            { label: "From", value: moment(start) },
            { label: "To", value: moment(end) },
            { label: "Time zone", value: timezone },
            ...(organization === null ? [] : [{
              label: "Organization",
              value: (
                <span>
                  <a href={organizationHref(organization.id)}>
                    <bdi>{organization.name}</bdi>
                  </a>
                  {" · "}
                  <a href={statementHref(id)}>Show all</a>
                </span>
              ),
            }]),
          ]}
        />
      </Card>
      {totals !== null && totals.length > 0 && (
        <Card title="By product" flush>
          <TotalTable totals={totals} />
        </Card>
      )}
      {isClosed && (
        <Card title="Lines" flush>
          {lines.length === 0
            ? <EmptyState title="No lines" text="Nothing was recorded for this month." />
            : <LineTable lines={lines} />}
        </Card>
      )}
      <PageLinks links={[{ href: nextHref, label: "More lines" }]} />
    </PortalPage>
  );
}

type Named = Pick<StatementTotal, "productSlug" | "productName" | "metric" | "metricName">;

function whatOf({ productSlug, productName, metric, metricName }: Named): string {
  return `${productName ?? productSlug} · ${metricName ?? metric}`;
}

function quantityOf({ quantity, unit }: Pick<StatementTotal, "quantity" | "unit">): string {
  return unit === null ? groupDigits(quantity) : `${groupDigits(quantity)} ${unit}`;
}

function TotalTable({ totals }: { totals: readonly StatementTotal[] }) {
  return (
    <ItemTable
      label="Totals"
      items={totals}
      columns={[
        { title: "Product", in: "title", cell: (total) => <Name text={whatOf(total)} /> },
        { title: "Quantity", isNumber: true, cell: quantityOf },
        { title: "Records", isNumber: true, cell: ({ records }) => groupDigits(records) },
        { title: "Lines", isNumber: true, cell: ({ lines }) => groupDigits(lines) },
      ]}
    />
  );
}

function LineTable({ lines }: { lines: readonly StatementLine[] }) {
  return (
    <ItemTable
      label="Lines"
      items={lines}
      columns={[
        { title: "Organization", in: "title", cell: (line) => <Name text={line.organizationName} /> },
        { title: "Product", cell: (line) => <span>{whatOf(line)}</span> },
        {
          title: "Adjustment of",
          cell: ({ adjustmentOf }) => adjustmentOf === null ? "–" : periodWords(adjustmentOf),
        },
        { title: "Quantity", isNumber: true, cell: quantityOf },
        { title: "Records", isNumber: true, cell: ({ records }) => groupDigits(records) },
      ]}
    />
  );
}

/** The page that asks whether to close a month. @param options `isFirst`: no month was closed yet, so that any can be the first. */
function closeForm(
  form: ShownForm,
  { next, timezone, isFirst }: { next: NextStatement; timezone: string; isFirst: boolean },
) {
  const month = periodWords(next.period);
  const moment = (at: string) => <MomentTime at={at} now={form.frame.now} timezone={timezone} />;
  return (
    <ConfirmPage
      {...form}
      title="Close month"
      heading={isFirst ? "Close the first month" : `Close ${month}?`}
      text={`This closes the month for all organizations. It can't be undone: what is recorded or voided for it later becomes an adjustment in the next statement.${
        isFirst ? " Months before the first one are never billed." : ""
      }`}
      facts={isFirst ? [{ label: "Time zone", value: timezone }] : [
        { label: "From", value: moment(next.start) },
        { label: "To", value: moment(next.end) },
        { label: "Time zone", value: timezone },
      ]}
      hidden={isFirst ? undefined : { period: next.period }}
      submit={isFirst ? "Close month" : `Close ${month}`}
    >
      {isFirst && (
        <TextField
          label="Month"
          {...form.field("period")}
          hint="Year and month, such as 2026-10."
          required
          maxlength={7}
        />
      )}
    </ConfirmPage>
  );
}

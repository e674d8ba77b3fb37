// Organizations: their API, and the console's list and the form that creates one. Their page is in organization_page.tsx.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { externalIdCharactersMax, plansMax } from "../../domain/limits.ts";
import { summedMetricOf } from "../../domain/meter/catalogue.ts";
import { limitFilters, organizationSorts, organizationStatuses } from "../../domain/console/organization.ts";
import type { Plan } from "../../domain/billing/plan.ts";
import { requireEmail } from "../../domain/outbox/email.ts";
import { isoTime } from "../../domain/time.ts";
import {
  changeOrganization,
  createOrganization,
  deleteOrganization,
  getOrganization,
  listOrganizations,
  readForOperator,
  readOrganizationCsv,
} from "../../services/console/mod.ts";
import { listPlans } from "../../services/billing/mod.ts";
import { EmailField, NameField, SelectField, TextField } from "../../views/components/field.tsx";
import { FormPage, type PageForm } from "../../views/components/form_page.tsx";
import { organizationHref, organizationsHref } from "../../views/components/links.ts";
import {
  type OrganizationListAddress,
  organizationListPage,
  usualSort,
} from "../../views/console/organization_list.tsx";
import { csvResponse, sendCsv } from "../api/job_bytes.ts";
import { nounRoutes } from "../api/noun_routes.ts";
import { operatorRoutes } from "../api/operator_routes.ts";
import type { App, AppContext, AppEnv, AppParts } from "../env.ts";
import { flashOf } from "../portal/form.ts";
import { mountFormPage, mountPage } from "../portal/noun_pages.ts";
import { consolePages, listChoice, searchOf, unknownChoice } from "../portal/operator_page.ts";
import type { PortalParts } from "../portal/page.ts";
import { check, checkTogether } from "../schemas/check.ts";
import { organizationParamsSchema } from "../schemas/organization_reference.ts";
import * as schemas from "./schemas/operator_organizations.ts";

export function operatorOrganizationRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts, { read: "organizations:read", write: "organizations:write" });
  const routes = nounRoutes(route, {
    path: "/api/operator/organizations",
    one: "organization",
    many: "organizations",
    schema: schemas.operatedOrganizationSchema,
    listed: schemas.listedOrganizationSchema,
    id: "{id}",
    params: organizationParamsSchema,
  });
  routes.list(
    {
      operationId: "operatorListOrganizations",
      summary: "List and search organizations",
      description: "With their usage of a metric this month, in UTC.",
      query: schemas.organizationQuerySchema,
    },
    ({ query: { plan, ...query } }, actor) => listOrganizations(services, actor, { ...query, planId: plan }),
  );
  route({
    route: "GET /api/operator/organizations.csv",
    operationId: "operatorDownloadOrganizations",
    summary: "Download organizations with their usage this month as CSV",
    description: "All organizations that match, in the order of the list.",
    query: z.strictObject(schemas.organizationFilters),
    responses: { 200: csvResponse },
  }, async (c, { query: { plan, ...query } }, actor) => {
    const csv = await readOrganizationCsv(services, actor, {
      filter: { ...query, planId: plan },
      signal: c.req.raw.signal,
    });
    return sendCsv(c, csv, `organizations-${isoTime(services.clock()).slice(0, 10)}.csv`);
  });
  routes.create({
    operationId: "operatorCreateOrganization",
    summary: "Create an organization for a customer",
    description:
      "With `owner`, an invitation is mailed in the same transaction. If a response is lost, repeat the request with the " +
      "same `externalId`: `external_id_taken` means that the organization exists.",
    body: schemas.createOrganizationSchema,
    errors: ["external_id_taken", "rate_limited", "mail_unavailable"],
  }, ({ body }, actor) => createOrganization(services, actor, body));
  routes.get(
    { operationId: "operatorGetOrganization", summary: "Get an organization" },
    ({ params: { id } }) => getOrganization(services, id),
  );
  routes.change({
    operationId: "operatorChangeOrganization",
    summary: "Change, suspend or resume an organization",
    description:
      "All changes are made, or none. A suspended organization's keys get `organization_suspended` from the next request on; its " +
      "members can still sign in, read and export. A plan, overrides and a time zone take effect on the next request, too.",
    body: schemas.changeOrganizationSchema,
    errors: ["external_id_taken"],
  }, ({ params, body }, actor) => changeOrganization(services, actor, { idText: params.id, ...body }));
  routes.delete({
    operationId: "operatorDeleteOrganization",
    summary: "Delete an organization",
    description:
      "Its keys, memberships and invitations end immediately; usage data is deleted in the background. Its external id can be " +
      "used again.",
  }, ({ params: { id } }, actor) => deleteOrganization(services, actor, id));
}

export function operatorOrganizationPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const pages = consolePages(app, parts, "operator/organizations");

  mountPage(pages, organizationsHref, async (c, { actor, frame }) => {
    const { plans } = await listPlans(services, { limit: plansMax });
    const { address, page, problems } = listAddress(c, plans);
    const { plan, search, sort, ...filter } = address;
    const list = await readForOperator(services, actor, {
      job: "readOrganizationList",
      search: search || undefined,
      status: filter.status ?? undefined,
      limits: filter.limits ?? undefined,
      planId: plan ?? undefined,
      metric: filter.metric ?? undefined,
      sort: sort ?? usualSort,
      page,
      signal: c.req.raw.signal,
    });
    const { metric: given } = address;
    if (given !== null && given !== list.metric) {
      const { name } = summedMetricOf(list.catalogue, list.metric ?? "");
      const shown = list.metric === null ? "nothing was recorded" : `showing ${name}`;
      problems.push(unknownChoice("metric", { given, shown }));
    }
    return organizationListPage({
      frame,
      list,
      address: { ...address, metric: given === list.metric ? given : null },
      plans,
      problems,
      flash: flashOf(c, { deleted: "Organization deleted. Its keys no longer work." }),
    });
  });

  mountFormPage(pages, {
    path: `${organizationsHref}/new`,
    async show(_c, form) {
      const { plans } = await listPlans(services, { limit: plansMax });
      return newOrganizationForm(form, plans);
    },
    async submit(_c, actor, { name = "", externalId = "", email = "", planId }) {
      const owner = email.trim() === "" ? undefined : { email };
      const typed = { name, externalId: externalId.trim() || null, planId, owner };
      const input = await checkTogether(
        () => check(schemas.createOrganizationSchema, typed, "body"),
        () => owner && requireEmail(email),
      );
      const { id } = await createOrganization(services, actor, input);
      return `${organizationHref(id)}?done=created`;
    },
  });
}

/** Reads the choices in the address of the list. Unknown ones are ignored, and named. */
function listAddress(c: AppContext, plans: readonly Plan[]) {
  const problems: string[] = [];
  const choice = <T extends string>(name: string, choices: readonly T[], shown = "showing all") =>
    listChoice(c, name, { choices, shown, problems });
  const address: OrganizationListAddress = {
    search: searchOf(c),
    status: choice("status", organizationStatuses),
    limits: choice("limits", limitFilters),
    plan: choice("plan", plans.map(({ id }) => id)),
    metric: c.req.query("metric") || null,
    sort: choice("sort", organizationSorts, "sorted by usage"),
  };
  const given = c.req.query("page") || "1";
  const isPage = /^[1-9]\d{0,5}$/.test(given);
  if (!isPage) problems.push(unknownChoice("page", { given, shown: "showing the first" }));
  return { address, page: isPage ? Number(given) : 1, problems };
}

function newOrganizationForm(form: PageForm, plans: readonly Plan[]) {
  const { field, fields, input } = form;
  return (
    <FormPage {...form} title="Create organization" submit="Create organization" isNarrow>
      <NameField label="Name" {...field("name")} autofocus />
      <TextField
        label="External ID (optional)"
        {...field("externalId")}
        hint="Your own ID for this organization, for example from your billing system."
        maxlength={externalIdCharactersMax}
      />
      <SelectField
        label="Plan"
        name="planId"
        value={input?.["planId"] ?? plans.find(({ isDefault }) => isDefault)?.id ?? ""}
        choices={plans.map(({ id, name }) => ({ value: id, label: name }))}
        error={fields["planId"]}
      />
      {form.frame.sendsMail
        ? (
          <EmailField
            label="Owner's email (optional)"
            {...field("email")}
            hint="We'll email an invitation to become the owner."
            error={fields["owner.email"] ?? fields["email"]}
            required={false}
          />
        )
        : <p class="muted small">To invite an owner, set SMTP_URL: invitations are sent by email.</p>}
    </FormPage>
  );
}

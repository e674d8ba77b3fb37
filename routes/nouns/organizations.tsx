// Organizations: their API, and the console's list and the form that creates one. Their page is in portal/operator/organization.ts.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { consolePageItemsMax, externalIdCharactersMax, plansMax } from "../../domain/limits.ts";
import {
  type OrganizationSort,
  organizationSorts,
  type OrganizationStatus,
  organizationStatuses,
} from "../../domain/operator/organization.ts";
import type { Plan } from "../../domain/operator/plan.ts";
import {
  changeOrganization,
  createOrganization,
  deleteOrganization,
  getOrganization,
  listOrganizations,
} from "../../services/operator/organizations.ts";
import { listPlans } from "../../services/operator/plans.ts";
import { ButtonLink } from "../../views/components/button.tsx";
import { EmailField, NameField, SelectField, TextField } from "../../views/components/field.tsx";
import { FormPage } from "../../views/components/form_page.tsx";
import { ListPage } from "../../views/components/list_page.tsx";
import { organizationHref, organizationsHref } from "../../views/operator/links.ts";
import { ListFilters, listHref } from "../../views/operator/list_filters.tsx";
import { OrganizationTable } from "../../views/operator/organization_table.tsx";
import { nounRoutes } from "../api/noun_routes.ts";
import { operatorRoutes } from "../api/operator/operator_routes.ts";
import type { App, AppEnv, AppParts } from "../env.ts";
import { flashOf } from "../portal/form.ts";
import { mountFormPage, mountPage, type ShownForm } from "../portal/noun_pages.ts";
import { choiceOf, consolePages, searchOf } from "../portal/operator/page.ts";
import type { PortalParts } from "../portal/page.ts";
import { check } from "../schemas/check.ts";
import * as schemas from "../schemas/operator_organizations.ts";

export function operatorOrganizationRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts, { read: "organizations:read", write: "organizations:write" });
  const routes = nounRoutes(route, {
    path: "/api/operator/organizations",
    one: "organization",
    many: "organizations",
    schema: schemas.operatedOrganizationSchema,
    id: "{id}",
    params: schemas.organizationParamsSchema,
  });
  routes.list(
    {
      operationId: "operatorListOrganizations",
      summary: "List and search organizations",
      query: schemas.organizationQuerySchema,
    },
    ({ query: { plan, ...query } }, actor) => listOrganizations(services, actor, { ...query, planId: plan }),
  );
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

  mountPage(pages, organizationsHref, async (c, { actor, ...page }) => {
    const address: Address = {
      search: searchOf(c),
      status: choiceOf(c, "status", organizationStatuses) ?? "",
      plan: c.req.query("plan") ?? "",
      sort: choiceOf(c, "sort", organizationSorts) ?? "",
    };
    const cursor = c.req.query("cursor") || undefined;
    const { plans } = await listPlans(services, { limit: plansMax });
    const { organizations, nextCursor } = await listOrganizations(services, actor, {
      search: address.search || undefined,
      status: address.status || undefined,
      planId: address.plan || undefined,
      sort: address.sort || "createdAt",
      limit: consolePageItemsMax,
      cursor,
    });
    const isFiltered = address.search !== "" || address.status !== "" || address.plan !== "";
    const nextHref = nextCursor && listHref(organizationsHref, { ...address, cursor: nextCursor });
    return (
      <ListPage
        {...page}
        title="Organizations"
        text="All organizations, with their members and active API keys."
        flash={flashOf(c, { deleted: "Organization deleted. Its keys no longer work." })}
        actions={
          <ButtonLink tone="primary" href={`${organizationsHref}/new`}>Create organization</ButtonLink>
        }
        filters={<Filters address={address} plans={plans} />}
        card={address.sort === "name" ? "By name" : "Newest first"}
        empty={organizations.length > 0 ? null : isFiltered ? noMatches : noOrganizations}
        links={[
          { href: cursor === undefined ? null : listHref(organizationsHref, address), label: "First page" },
          { href: nextHref, label: "Next page" },
        ]}
      >
        <OrganizationTable organizations={organizations} plans={plans} now={page.frame.now} />
      </ListPage>
    );
  });

  mountFormPage(pages, {
    path: `${organizationsHref}/new`,
    async show(_c, form) {
      const { plans } = await listPlans(services, { limit: plansMax });
      return newOrganizationForm(form, plans);
    },
    async submit(_c, actor, { name = "", externalId = "", email = "", planId }) {
      const input = check(schemas.createOrganizationSchema, {
        name,
        externalId: externalId.trim() || null,
        planId,
        ...(email.trim() === "" ? {} : { owner: { email } }),
      }, "body");
      const { id } = await createOrganization(services, actor, input);
      return `${organizationHref(id)}?done=created`;
    },
  });
}

/** The choices in the address of the list. Empty: all. */
type Address = {
  readonly search: string;
  readonly status: OrganizationStatus | "";
  /** The id of a plan. */
  readonly plan: string;
  readonly sort: OrganizationSort | "";
};

const noOrganizations = {
  title: "No organizations yet",
  text: "They appear here when people sign up, or when you create one.",
};
const noMatches = {
  title: "No matching organizations",
  text: "Try another search.",
  children: <ButtonLink href={organizationsHref}>Show all</ButtonLink>,
};

function Filters({ address, plans }: { address: Address; plans: readonly Plan[] }) {
  const { search, status, plan, sort } = address;
  const all = { value: "", label: "All" };
  const statuses = [
    all,
    { value: "active", label: "Active" },
    { value: "suspended", label: "Suspended" },
  ];
  const planChoices = [all, ...plans.map(({ id, name }) => ({ value: id, label: name }))];
  const sorts = [{ value: "", label: "Newest" }, { value: "name", label: "Name" }];
  return (
    <ListFilters
      action={organizationsHref}
      search={search}
      searches="Name, ID or external ID"
      menus={[
        { label: "Status", name: "status", value: status, choices: statuses },
        { label: "Plan", name: "plan", value: plan, choices: planChoices },
        { label: "Sort by", name: "sort", value: sort, choices: sorts },
      ]}
    />
  );
}

function newOrganizationForm(form: ShownForm, plans: readonly Plan[]) {
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

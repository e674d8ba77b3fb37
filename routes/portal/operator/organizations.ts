// The console's list of organizations, and the form that creates one.
import { consolePageItemsMax, plansMax } from "../../../domain/limits.ts";
import { organizationSorts, organizationStatuses } from "../../../domain/operator/organization.ts";
import { createOrganization, listOrganizations } from "../../../services/operator/organizations.ts";
import { listPlans } from "../../../services/operator/plans.ts";
import { organizationHref } from "../../../views/operator/links.ts";
import { newOrganizationPage, organizationListPage } from "../../../views/operator/organizations.tsx";
import type { App } from "../../env.ts";
import { check } from "../../schemas/check.ts";
import { createOrganizationSchema } from "../../schemas/operator_organizations.ts";
import { flashOf, mountForm } from "../form.ts";
import { type PortalParts, redirect, sendPage } from "../page.ts";
import { choiceOf, operatorForms, operatorFrame, operatorPages, searchOf } from "./page.ts";

const path = "/operator/organizations";

/** Mounts `/operator/organizations` and the form that creates one. */
export function operatorOrganizationListPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const { get } = operatorPages(app, parts);

  get(path, async (c, actor) => {
    const address = {
      search: searchOf(c),
      status: choiceOf(c, "status", organizationStatuses) ?? "",
      plan: c.req.query("plan") ?? "",
      sort: choiceOf(c, "sort", organizationSorts) ?? "",
      cursor: c.req.query("cursor") ?? "",
    } as const;
    const { plans } = await listPlans(services, { limit: plansMax });
    const { organizations, nextCursor } = await listOrganizations(services, actor, {
      search: address.search || undefined,
      status: address.status || undefined,
      planId: address.plan || undefined,
      sort: address.sort || "createdAt",
      limit: consolePageItemsMax,
      cursor: address.cursor || undefined,
    });
    const page = organizationListPage({
      frame: operatorFrame(parts, actor),
      address,
      organizations,
      plans,
      nextCursor,
      flash: flashOf(c, { deleted: "Organization deleted. Its keys no longer work." }),
    });
    return await sendPage(c, page);
  });

  mountForm(operatorForms(app, parts), {
    path: `${path}/new`,
    async show(c, actor, { input = {}, ...state }) {
      const { plans } = await listPlans(services, { limit: plansMax });
      const page = newOrganizationPage({ frame: operatorFrame(parts, actor), plans, input, ...state });
      return await sendPage(c, page, state.status);
    },
    async submit(c, actor, { name = "", externalId = "", email = "", planId }) {
      const input = check(createOrganizationSchema, {
        name,
        externalId: externalId.trim() || null,
        planId,
        ...(email.trim() === "" ? {} : { owner: { email } }),
      }, "body");
      const { id } = await createOrganization(services, actor, input);
      return redirect(c, `${organizationHref(id)}?done=created`);
    },
  });
}

// The console's pages of an organization's usage records: the list, and the page that voids one.
import { notFoundError } from "../../../domain/errors.ts";
import { pageItemsDefault } from "../../../domain/limits.ts";
import { resolveOrganization } from "../../../services/access.ts";
import {
  listOperatorUsageRecords,
  readOperatorUsageRecord,
  voidOperatorUsageRecord,
} from "../../../services/operator/usage_records.ts";
import { organizationsHref } from "../../../views/operator/links.ts";
import { listHref } from "../../../views/operator/list_filters.tsx";
import { organizationActionHref } from "../../../views/operator/organization.tsx";
import { organizationRecordsPage, voidRecordPage } from "../../../views/operator/organization_records.tsx";
import type { App, AppContext } from "../../env.ts";
import { check } from "../../schemas/check.ts";
import { voidUsageSchema } from "../../schemas/usage.ts";
import { flashOf, mountForm } from "../form.ts";
import { type PortalParts, redirect, sendPage } from "../page.ts";
import { idOf } from "./organization.ts";
import { operatorForms, operatorFrame, operatorPages } from "./page.ts";

const path = `${organizationsHref}/:id/records`;

/** Mounts `/operator/organizations/:id/records`. */
export function operatorOrganizationRecordPages(app: App, parts: PortalParts): void {
  const { services } = parts;

  operatorPages(app, parts).get(path, async (c, actor) => {
    const organization = await resolveOrganization(services, idOf(c));
    const idempotencyKey = c.req.query("idempotencyKey") ?? "";
    const { usageRecords, nextCursor } = await listOperatorUsageRecords(services, actor, {
      query: {
        organizationIds: [organization.id],
        idempotencyKey: idempotencyKey || undefined,
        cursor: c.req.query("cursor"),
        limit: pageItemsDefault,
      },
      signal: c.req.raw.signal,
    });
    const page = organizationRecordsPage({
      frame: operatorFrame(parts, actor),
      organization,
      records: usageRecords.map((one) => ({ ...one, apiKey: one.apiKeyId, voidedByName: one.voidedBy })),
      idempotencyKey,
      nextHref: nextCursor &&
        listHref(organizationActionHref(organization.id, "records"), { cursor: nextCursor }),
      flash: flashOf(c, { voided: "Record voided." }),
    });
    return await sendPage(c, page);
  });

  mountForm(operatorForms(app, parts), {
    path: `${path}/:recordId/void`,
    async show(c, actor, { input = {}, ...state }) {
      const page = voidRecordPage({
        frame: operatorFrame(parts, actor),
        ...await requireRecord(c, parts),
        reason: input["reason"] ?? "",
        ...state,
      });
      return await sendPage(c, page, state.status);
    },
    async submit(c, actor, { reason = "" }) {
      const { organization, record } = await requireRecord(c, parts);
      const input = check(voidUsageSchema, { reason }, "body");
      await voidOperatorUsageRecord(services, actor, { id: record.id, ...input, signal: c.req.raw.signal });
      return redirect(c, `${organizationActionHref(organization.id, "records")}?done=voided`);
    },
  });
}

/** @throws {AppError} `not_found`, also for a record of another organization. */
async function requireRecord(c: AppContext, { services }: PortalParts) {
  const organization = await resolveOrganization(services, idOf(c));
  const record = await readOperatorUsageRecord(services, c.req.param("recordId") ?? "");
  if (record.organizationId !== organization.id) throw notFoundError();
  return { organization, record };
}

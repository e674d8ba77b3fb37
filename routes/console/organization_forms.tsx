// The console's forms about one organization: edit, suspend, resume, delete.
import { externalIdCharactersMax } from "../../domain/limits.ts";
import { groupDigits } from "../../domain/number_text.ts";
import type { OperatedOrganization } from "../../domain/console/organization.ts";
import { operatorAccess } from "../../services/access/mod.ts";
import {
  changeOrganization,
  deleteOrganization,
  getOrganization,
  startViewing,
} from "../../services/console/mod.ts";
import { changeStatus } from "../../services/people/mod.ts";
import { ConfirmPage, type ConfirmPageProps } from "../../views/components/confirm_page.tsx";
import { NameField, TextField } from "../../views/components/field.tsx";
import { type FormInput, FormPage, type PageForm } from "../../views/components/form_page.tsx";
import {
  backTo,
  customerViewHref,
  organizationHref,
  organizationsHref,
} from "../../views/components/links.ts";
import type { App } from "../env.ts";
import { mountFormPage, type Pages, paramOf, rowFields, withInput } from "../portal/noun_pages.ts";
import { type ConsoleActor, consolePages } from "../portal/operator_page.ts";
import type { PortalParts } from "../portal/page.ts";
import {
  metadataChange,
  MetadataFields,
  metadataRows,
  requireDistinctKeys,
  typedMetadata,
} from "../portal/metadata_form.tsx";
import { check, checkTogether } from "../schemas/check.ts";
import { changeOrganizationSchema } from "./schemas/operator_organizations.ts";

const path = `${organizationsHref}/:id`;

export function operatorOrganizationForms(app: App, parts: PortalParts): void {
  const { services } = parts;
  const pages = consolePages(app, parts, "operator/organizations");
  editPage(pages, parts);
  confirmation(pages, parts, {
    action: "view-as-customer",
    title: "View as customer",
    heading: "View “{name}” as customer?",
    text:
      "You'll see its pages as its owners do, but can't change anything. Your audit log and the organization's record this. You can view it for an hour, then start again.",
    submit: "View as customer",
    tone: "primary",
    async act(actor, idText) {
      const access = await operatorAccess(services, actor, idText);
      await startViewing(services, access);
      return customerViewHref(access.organizationId);
    },
  });
  confirmation(pages, parts, {
    action: "suspend",
    title: "Suspend organization",
    heading: "Suspend “{name}”?",
    text:
      "Requests with its keys will fail immediately. Its members can still sign in, read and export, but change nothing except their own accounts. You can resume it at any time.",
    submit: "Suspend",
    async act(actor, idText) {
      await changeStatus(services, await operatorAccess(services, actor, idText), "suspended");
      return `${organizationHref(idText)}?done=suspended`;
    },
  });
  confirmation(pages, parts, {
    action: "resume",
    title: "Resume organization",
    heading: "Resume “{name}”?",
    text: "Its keys work again immediately, and its members can change things again.",
    submit: "Resume",
    tone: "primary",
    async act(actor, idText) {
      await changeStatus(services, await operatorAccess(services, actor, idText), "active");
      return `${organizationHref(idText)}?done=resumed`;
    },
  });
  confirmation(pages, parts, {
    action: "delete",
    title: "Delete organization",
    heading: "Delete “{name}”?",
    text:
      "Requests with its keys will fail immediately, and all members lose access. Its usage data is deleted in the background; closed statements are kept. This can't be undone.",
    submit: "Delete organization",
    async act(actor, idText) {
      await deleteOrganization(services, actor, idText);
      return `${organizationsHref}?done=deleted`;
    },
  });
}

/** @param options `act` returns the address to continue at. */
function confirmation(
  pages: Pages<ConsoleActor>,
  { services }: PortalParts,
  { action, act, ...words }: Pick<ConfirmPageProps, "title" | "heading" | "text" | "submit" | "tone"> & {
    action: string;
    act: (actor: ConsoleActor, idText: string) => Promise<string>;
  },
): void {
  mountFormPage(pages, {
    path: `${path}/${action}`,
    async show(c, form) {
      const organization = await getOrganization(services, paramOf(c, "id"));
      const { name, externalId, memberCount, activeApiKeyCount } = organization;
      const facts = [
        { label: "External ID", value: externalId ?? "Not set" },
        { label: "Members", value: groupDigits(memberCount) },
        { label: "Active keys", value: groupDigits(activeApiKeyCount) },
      ];
      return <ConfirmPage {...form} {...words} name={name} facts={facts} back={backTo(organization)} />;
    },
    submit: (c, actor) => act(actor, paramOf(c, "id")),
  });
}

function editPage(pages: Pages<ConsoleActor>, { services }: PortalParts): void {
  mountFormPage(pages, {
    path: `${path}/edit`,
    show: async (c, form) => editForm(form, await getOrganization(services, paramOf(c, "id"))),
    async submit(c, actor, input) {
      const { name, externalId, metadata } = organizationInput(input);
      const before = await getOrganization(services, paramOf(c, "id"));
      const change = () =>
        check(changeOrganizationSchema, {
          name,
          externalId: externalId.trim() || null,
          metadata: metadataChange(before.metadata, metadata),
        }, "body");
      await checkTogether(() => requireDistinctKeys(metadata), change);
      await changeOrganization(services, actor, { idText: before.id, ...change() });
      return `${organizationHref(before.id)}?done=saved`;
    },
  });
}

/** Returns an organization as typed, without metadata that has no key. */
function organizationInput(input: FormInput) {
  const metadata = typedMetadata(input);
  return { name: input["name"] ?? "", externalId: input["externalId"] ?? "", metadata };
}

function typed({ name, externalId, metadata }: OperatedOrganization) {
  return { name, externalId: externalId ?? "", metadata: metadataRows(metadata) };
}

function editForm(form: PageForm, organization: OperatedOrganization) {
  const { input, fields } = form;
  const { metadata, ...texts } = input === undefined ? typed(organization) : organizationInput(input);
  const { field } = withInput(form, { ...texts, ...rowFields("metadata", metadata) });
  return (
    <FormPage
      {...form}
      title="Edit organization"
      heading="Edit “{name}”"
      name={organization.name}
      error={form.error ?? fields["metadata"]}
      submit="Save"
      back={backTo(organization)}
      more={[
        <MetadataFields rows={metadata} field={field} fields={fields} />,
      ]}
    >
      <div class="row half">
        <NameField label="Name" {...field("name")} autofocus />
        <TextField
          label="External ID"
          {...field("externalId")}
          hint="Your own ID for this organization."
          maxlength={externalIdCharactersMax}
        />
      </div>
    </FormPage>
  );
}

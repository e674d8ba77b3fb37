// The console's forms about one organization, and the pages that ask before something is done to it.
import {
  externalIdCharactersMax,
  metadataKeyCharactersMax,
  metadataKeysMax,
  metadataValueCharactersMax,
  organizationNoteCharactersMax,
} from "../../domain/limits.ts";
import { groupDigits } from "../../domain/number_text.ts";
import type { OperatedOrganization } from "../../domain/operator/organization.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { NameField, TextField } from "../components/field.tsx";
import { Form, type FormErrors } from "../components/form.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { organizationHref } from "./links.ts";
import {
  deleteNoteHref,
  type OrganizationAction,
  organizationActionHref,
  organizationPlace as place,
  resumeText,
  suspendText,
} from "./organization.tsx";

interface FormProps extends FormErrors {
  readonly frame: PortalFrame;
  readonly organization: Pick<OperatedOrganization, "id" | "name">;
}

/** An organization as typed. */
export interface OrganizationInput {
  readonly name: string;
  readonly externalId: string;
  readonly metadata: readonly { readonly key: string; readonly value: string }[];
}

/** Rows for further metadata. */
const emptyRows = 3;

/** @returns The page that edits an organization. */
export function editOrganizationPage(
  { frame, organization, input, fields, message }: FormProps & { input: OrganizationInput },
): Page {
  const { metadata } = input;
  const rows = Math.min(metadata.length + emptyRows, metadataKeysMax);
  const metadataError = Object.entries(fields).find(([path]) => path.startsWith("metadata"))?.[1];
  return (
    <PortalPage title="Edit organization" frame={frame} place={place}>
      <PageHead back={backTo(organization)} title="Edit “{name}”" name={organization.name} />
      <Form class="card" action={organizationActionHref(organization.id, "edit")}>
        <div class="body">
          <Notice tone="refused" text={message ?? metadataError} />
          <div class="row half">
            <NameField label="Name" value={input.name} error={fields["name"]} autocomplete="off" autofocus />
            <TextField
              label="External ID"
              name="externalId"
              value={input.externalId}
              hint="Your own ID for this customer."
              error={fields["externalId"]}
              autocomplete="off"
              maxlength={externalIdCharactersMax}
            />
          </div>
        </div>
        <div class="body ruled">
          <h2>Metadata</h2>
          <p class="muted small">Your own data. Customers don't see it. Rows without a key are removed.</p>
          {Array.from({ length: rows }, (_, index) => (
            <div class="row half">
              <TextField
                label="Key"
                name={`metadata[${index}].key`}
                value={metadata[index]?.key ?? ""}
                autocomplete="off"
                maxlength={metadataKeyCharactersMax}
              />
              <TextField
                label="Value"
                name={`metadata[${index}].value`}
                value={metadata[index]?.value ?? ""}
                autocomplete="off"
                maxlength={metadataValueCharactersMax}
              />
            </div>
          ))}
        </div>
        <footer>
          <SubmitButton>Save</SubmitButton>
          <ButtonLink href={organizationHref(organization.id)}>Cancel</ButtonLink>
        </footer>
      </Form>
    </PortalPage>
  );
}

/** @returns The page that adds a note. */
export function newNotePage(
  { frame, organization, text, fields, message }: FormProps & { text: string },
): Page {
  return (
    <PortalPage title="Add note" frame={frame} place={place}>
      <PageHead
        back={backTo(organization)}
        title="Add a note about “{name}”"
        name={organization.name}
        text="Only operators see notes."
      />
      <Form class="card" action={organizationActionHref(organization.id, "notes/new")}>
        <div class="body">
          <Notice tone="refused" text={message} />
          <TextField
            label="Note"
            name="text"
            value={text}
            error={fields["text"]}
            autocomplete="off"
            required
            maxlength={organizationNoteCharactersMax}
            autofocus
          />
        </div>
        <footer>
          <SubmitButton>Add note</SubmitButton>
          <ButtonLink href={organizationHref(organization.id)}>Cancel</ButtonLink>
        </footer>
      </Form>
    </PortalPage>
  );
}

/** @returns The page that asks whether to delete a note. */
export function deleteNotePage(
  { frame, organization, noteId, message }: Omit<FormProps, "fields"> & { noteId: string },
): Page {
  return (
    <ConfirmPage
      frame={frame}
      place={place}
      title="Delete note"
      heading="Delete the note about “{name}”?"
      name={organization.name}
      text="This can't be undone."
      facts={[{ label: "Organization", value: organization.name }]}
      action={deleteNoteHref(organization.id, noteId)}
      submit="Delete note"
      back={backTo(organization)}
      error={message}
    />
  );
}

const confirmations = {
  suspend: {
    title: "Suspend organization",
    heading: "Suspend “{name}”?",
    text: suspendText,
    submit: "Suspend",
  },
  resume: { title: "Resume organization", heading: "Resume “{name}”?", text: resumeText, submit: "Resume" },
  delete: {
    title: "Delete organization",
    heading: "Delete “{name}”?",
    text:
      "Requests with its keys will fail immediately, and all members lose access. Its usage data is deleted in the background; closed statements are kept. This can't be undone.",
    submit: "Delete organization",
  },
} as const satisfies Partial<Record<OrganizationAction, unknown>>;

/** What is done to an organization after a confirmation. */
export type ConfirmedAction = keyof typeof confirmations;

/** @returns The page that asks whether to do something to an organization. */
export function confirmOrganizationPage(
  { frame, organization, action, message }: {
    frame: PortalFrame;
    organization: OperatedOrganization;
    action: ConfirmedAction;
    message: string | null;
  },
): Page {
  const { id, name, externalId, memberCount, activeApiKeyCount } = organization;
  return (
    <ConfirmPage
      frame={frame}
      place={place}
      {...confirmations[action]}
      name={name}
      facts={[
        { label: "External ID", value: externalId ?? "Not set" },
        { label: "Members", value: groupDigits(memberCount) },
        { label: "Active keys", value: groupDigits(activeApiKeyCount) },
      ]}
      action={organizationActionHref(id, action)}
      tone={action === "resume" ? "primary" : "destroy"}
      back={backTo(organization)}
      error={message}
    />
  );
}

/** The link back to the organization's page. */
export function backTo({ id, name }: Pick<OperatedOrganization, "id" | "name">) {
  return { href: organizationHref(id), label: name };
}

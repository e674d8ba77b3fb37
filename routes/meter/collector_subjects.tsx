// The console's pages about subjects of events.
import { isId } from "../../domain/id.ts";
import { eventSubjectCharactersMax } from "../../domain/meter/event_mapping.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { assignEventSubject, deleteEventSubject, getSubject } from "../../services/meter/mod.ts";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { TextField } from "../../views/components/field.tsx";
import { FormPage, type PageForm } from "../../views/components/form_page.tsx";
import { mountFormPage, type Pages, paramOf } from "../portal/noun_pages.ts";
import type { ConsoleActor } from "../portal/operator_page.ts";
import type { PortalParts } from "../portal/page.ts";
import { check } from "../schemas/check.ts";
import * as schemas from "./schemas/event_mappings.ts";

const path = "/operator/collectors";
const subjectsPath = `${path}/subjects`;

export function subjectPages(pages: Pages<ConsoleActor>, { services }: PortalParts): void {
  mountFormPage(pages, {
    path: `${subjectsPath}/assign`,
    show: (c, form) => assignForm(form, c.req.query("subject") ?? ""),
    async submit(_c, actor, input) {
      const id = (input["target"] ?? "").trim();
      const kind = isId("org", id) ? "organizationId" : isId("key", id) ? "apiKeyId" : "externalId";
      const { subject } = check(
        schemas.assignSubjectSchema,
        { subject: input["subject"], [kind]: id },
        "body",
      );
      await assignEventSubject(services, actor, { subject, target: { kind, id } });
      return `${path}?done=assigned`;
    },
  });
  mountFormPage(pages, {
    path: `${subjectsPath}/:id/delete`,
    async show(c, form) {
      const { subject, organizationId, kept } = await getSubject(services, paramOf(c, "id"));
      const isAssigned = organizationId !== null;
      return (
        <ConfirmPage
          {...form}
          title={isAssigned ? "End assignment" : "Discard events"}
          heading={isAssigned ? "End the assignment of “{name}”?" : "Discard events of “{name}”?"}
          name={subject}
          text={isAssigned
            ? "Later events of this subject are kept until it is assigned again. Recorded usage doesn't change."
            : "They will never be recorded. This can't be undone."}
          facts={[
            { label: "Kept events", value: groupDigits(kept) },
            { label: "Assigned to", value: organizationId ?? "No one" },
          ]}
        />
      );
    },
    async submit(c, actor) {
      const { organizationId } = await getSubject(services, paramOf(c, "id"));
      await deleteEventSubject(services, actor, paramOf(c, "id"));
      return `${path}?done=${organizationId === null ? "discarded" : "ended"}`;
    },
  });
}

function assignForm(form: PageForm, subject: string) {
  const faults = ["organizationId", "externalId", "apiKeyId"].map((name) => form.fields[name]);
  const target = form.field("target");
  return (
    <FormPage
      {...form}
      title="Assign subject"
      text="Records its kept events and all later ones for this customer. If the subject was another organization's before, events that were recorded there count again if the gateway sends them again."
      submit="Assign subject"
      isNarrow
    >
      <TextField
        label="Subject"
        {...form.field("subject", subject)}
        required
        maxlength={eventSubjectCharactersMax}
        autofocus={subject === ""}
      />
      <TextField
        label="Organization or API key"
        {...target}
        error={target.error ?? faults.find((fault) => fault !== undefined)}
        hint="The id of an organization or of an API key, or an organization's external id."
        required
        maxlength={eventSubjectCharactersMax}
        autofocus={subject !== ""}
      />
    </FormPage>
  );
}

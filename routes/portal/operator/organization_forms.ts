// The console's forms about one organization: edit, note, suspend, resume, delete.
import { validationError } from "../../../domain/errors.ts";
import { metadataKeysMax } from "../../../domain/limits.ts";
import type { OperatedOrganization } from "../../../domain/operator/organization.ts";
import { addNote, deleteNote } from "../../../services/operator/organization_notes.ts";
import { operatorAccess, resolveOrganization } from "../../../services/access.ts";
import {
  changeOrganization,
  deleteOrganization,
  getOrganization,
} from "../../../services/operator/organizations.ts";
import { resumeOrganization, suspendOrganization } from "../../../services/organization/suspension.ts";
import { organizationHref, organizationsHref } from "../../../views/operator/links.ts";
import {
  type ConfirmedAction,
  confirmOrganizationPage,
  deleteNotePage,
  editOrganizationPage,
  newNotePage,
} from "../../../views/operator/organization_forms.tsx";
import type { App, AppContext } from "../../env.ts";
import { check } from "../../schemas/check.ts";
import { changeOrganizationSchema, createNoteSchema } from "../../schemas/operator_organizations.ts";
import { mountForm } from "../form.ts";
import { type PortalParts, redirect, sendPage } from "../page.ts";
import { idOf } from "./organization.ts";
import { type ConsoleActor, mountConfirmation, operatorForms, operatorFrame } from "./page.ts";

const path = `${organizationsHref}/:id`;

/** Mounts the forms below `/operator/organizations/:id`. */
export function operatorOrganizationForms(app: App, parts: PortalParts): void {
  const { services } = parts;
  editRoutes(app, parts);
  noteRoutes(app, parts);
  confirmRoutes(app, parts, {
    action: "suspend",
    async act(actor, idText) {
      await suspendOrganization(services, await operatorAccess(services, actor, idText));
      return `${organizationHref(idText)}?done=suspended`;
    },
  });
  confirmRoutes(app, parts, {
    action: "resume",
    async act(actor, idText) {
      await resumeOrganization(services, await operatorAccess(services, actor, idText));
      return `${organizationHref(idText)}?done=resumed`;
    },
  });
  confirmRoutes(app, parts, {
    action: "delete",
    async act(actor, idText) {
      await deleteOrganization(services, actor, idText);
      return `${organizationsHref}?done=deleted`;
    },
  });
}

function editRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(operatorForms(app, parts), {
    path: `${path}/edit`,
    async show(c, actor, { input, ...state }) {
      const organization = await getOrganization(services, idOf(c));
      const page = editOrganizationPage({
        frame: operatorFrame(parts, actor),
        organization,
        input: input === undefined ? typed(organization) : organizationInput(input),
        ...state,
      });
      return await sendPage(c, page, state.status);
    },
    async submit(c, actor, form) {
      const { name, externalId, metadata } = organizationInput(form);
      const before = await getOrganization(services, idOf(c));
      const keys = metadata.map(({ key }) => key);
      if (new Set(keys).size < keys.length) {
        throw validationError([{ path: "metadata", message: "Each metadata key can be used only once." }]);
      }
      const change = check(changeOrganizationSchema, {
        name,
        externalId: externalId.trim() || null,
        metadata: {
          ...Object.fromEntries(Object.keys(before.metadata).map((key) => [key, null])),
          ...Object.fromEntries(metadata.map(({ key, value }) => [key, value])),
        },
      }, "body");
      await changeOrganization(services, actor, { idText: before.id, ...change });
      return redirect(c, `${organizationHref(before.id)}?done=saved`);
    },
  });
}

function noteRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(operatorForms(app, parts), {
    path: `${path}/notes/new`,
    async show(c, actor, { input, ...state }) {
      const organization = await resolveOrganization(services, idOf(c));
      const frame = operatorFrame(parts, actor);
      const page = newNotePage({ frame, organization, text: input?.["text"] ?? "", ...state });
      return await sendPage(c, page, state.status);
    },
    async submit(c, actor, { text = "" }) {
      await addNote(services, actor, { idText: idOf(c), ...check(createNoteSchema, { text }, "body") });
      return redirect(c, `${organizationHref(idOf(c))}?done=noted`);
    },
  });
  mountConfirmation(app, parts, {
    path: `${path}/notes/:noteId/delete`,
    async show(c, asked) {
      const organization = await resolveOrganization(services, idOf(c));
      return deleteNotePage({ ...asked, organization, noteId: noteIdOf(c) });
    },
    async act(c, actor) {
      await deleteNote(services, actor, { idText: idOf(c), noteId: noteIdOf(c) });
      return `${organizationHref(idOf(c))}?done=note-deleted`;
    },
  });
}

/** @param options `act` returns the address to continue at. */
function confirmRoutes(
  app: App,
  parts: PortalParts,
  { action, act }: {
    action: ConfirmedAction;
    act: (actor: ConsoleActor, idText: string) => Promise<string>;
  },
): void {
  mountConfirmation(app, parts, {
    path: `${path}/${action}`,
    async show(c, asked) {
      const organization = await getOrganization(parts.services, idOf(c));
      return confirmOrganizationPage({ ...asked, organization, action });
    },
    act: (c, actor) => act(actor, idOf(c)),
  });
}

function noteIdOf(c: AppContext): string {
  return c.req.param("noteId") ?? "";
}

/** @returns The organization as typed, without rows that have no key. */
function organizationInput(form: Readonly<Record<string, string>>) {
  const rows = Array.from({ length: metadataKeysMax }, (_, index) => ({
    key: (form[`metadata[${index}].key`] ?? "").trim(),
    value: form[`metadata[${index}].value`] ?? "",
  }));
  return {
    name: form["name"] ?? "",
    externalId: form["externalId"] ?? "",
    metadata: rows.filter(({ key }) => key !== ""),
  };
}

function typed({ name, externalId, metadata }: OperatedOrganization) {
  return {
    name,
    externalId: externalId ?? "",
    metadata: Object.entries(metadata).map(([key, value]) => ({ key, value })),
  };
}

// The name of an API key wherever it is mentioned.
import { hasPermission } from "../../domain/permissions.ts";
import type { PortalFrame } from "../layout.tsx";

/** What can be done with a key. Owners and admins set the budget; everyone who sees a key can do the rest. */
export type ApiKeyAction = "edit" | "rotate" | "revoke" | "budget" | "first-request";

/** @returns The address of a key's page, or of a page about one action. */
export function apiKeyHref(id: string, action?: ApiKeyAction): string {
  const href = `/portal/api-keys/${encodeURIComponent(id)}`;
  return action === undefined ? href : `${href}/${action}`;
}

/** Returns the address of a key's page among those of a frame. */
export function keyHref({ base }: PortalFrame, id: string): string {
  return `${base}/api-keys/${encodeURIComponent(id)}`;
}

/** True for operators, and for members whose role manages all keys of the organization. */
export function managesAllKeys({ session: { organization }, viewed }: PortalFrame): boolean {
  return viewed !== null || (organization !== null && hasPermission(organization.role, "apiKeys.manageAll"));
}

/** True for those who may open the page of a key. @param createdBy The id of the key's creator, if known. */
export function mayOpenKey(frame: PortalFrame, createdBy: string | null): boolean {
  return managesAllKeys(frame) ||
    (frame.session.organization !== null && createdBy === frame.session.user.id);
}

/** A key's name, as a link to its page for those who may open it. `createdBy`: the id of the user who created it. */
export function KeyName(
  { id, name, createdBy, frame }: {
    id: string;
    name: string;
    createdBy: string | null;
    frame: PortalFrame;
  },
) {
  if (!mayOpenKey(frame, createdBy)) return <bdi>{name}</bdi>;
  return (
    <a class="name" href={keyHref(frame, id)}>
      <bdi>{name}</bdi>
    </a>
  );
}

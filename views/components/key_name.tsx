// The name of an API key wherever it is mentioned.
import { hasPermission } from "../../domain/permissions.ts";
import type { Session } from "../../domain/sign_in/session.ts";

/** Owners and admins set the budget; everyone who sees a key can do the rest. */
export type ApiKeyAction = "edit" | "rotate" | "revoke" | "budget" | "first-request";

/** Returns the address of a key's page, or of a page about one action. */
export function apiKeyHref(id: string, action?: ApiKeyAction): string {
  const href = `/portal/api-keys/${encodeURIComponent(id)}`;
  return action === undefined ? href : `${href}/${action}`;
}

/** True if someone may open the page of a key. @param createdBy The id of the key's creator, if known. */
export function mayOpenKey({ organization, user }: Session, createdBy: string | null): boolean {
  return organization !== null &&
    (hasPermission(organization.role, "apiKeys.manageAll") || createdBy === user.id);
}

/** A link to the key's page for those who may open it. */
export function KeyName(
  { id, name, createdBy, session }: {
    id: string;
    name: string;
    /** A user's id. */
    createdBy: string | null;
    session: Session;
  },
) {
  if (!mayOpenKey(session, createdBy)) return <bdi>{name}</bdi>;
  return (
    <a class="name" href={apiKeyHref(id)}>
      <bdi>{name}</bdi>
    </a>
  );
}

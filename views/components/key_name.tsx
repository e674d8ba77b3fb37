// The name of an API key wherever it is mentioned.
import type { Environment } from "../../domain/environment.ts";
import { hasPermission } from "../../domain/access/permissions.ts";
import type { PortalFrame } from "../layout.tsx";
import { TestBadge } from "./environment.tsx";
import { opens } from "./embed_bar.tsx";

/** Pages about one key. Only those who manage all keys set budgets. */
export type ApiKeyAction =
  | "edit"
  | "rotate"
  | "revoke"
  | "budget"
  | "disable"
  | "enable"
  | "reference"
  | "first-request";

/** Returns the address of a key's page, or of a page about one action. @param base As in `PortalFrame`. */
export function apiKeyHref(base: string, id: string, action?: ApiKeyAction): string {
  const href = `${base}/api-keys/${encodeURIComponent(id)}`;
  return action === undefined ? href : `${href}/${action}`;
}

/** True for operators, and for members whose role manages all keys of the organization. */
export function managesAllKeys({ session: { organization }, viewed }: PortalFrame): boolean {
  return viewed !== null || (organization !== null && hasPermission(organization.role, "apiKeys.manageAll"));
}

/** True for those who may enable a disabled key. */
export function mayEnable(
  frame: PortalFrame,
  { disabledByOperator }: { disabledByOperator: boolean },
): boolean {
  return managesAllKeys(frame) && (frame.viewed !== null || !disabledByOperator);
}

/** True for those who may open the page of a key. @param createdBy The id of the key's creator, if known. */
export function mayOpenKey(frame: PortalFrame, createdBy: string | null): boolean {
  return opens(frame, "keys") &&
    (managesAllKeys(frame) ||
      (frame.session.organization !== null && createdBy === frame.session.user.id));
}

interface NamedKey {
  readonly id: string;
  readonly name: string;
  readonly createdBy: string | null;
  readonly frame: PortalFrame;
}

/** A key's name, as a link to its page for those who may open it. `createdBy`: the id of the user who created it. */
export function KeyName(
  { environment, ...key }: NamedKey & { readonly environment: Environment },
) {
  if (environment === "live") return <KeyLink {...key} />;
  return (
    <>
      <KeyLink {...key} /> <TestBadge environment={environment} />
    </>
  );
}

function KeyLink({ id, name, createdBy, frame }: NamedKey) {
  if (!mayOpenKey(frame, createdBy)) return <bdi>{name}</bdi>;
  return (
    <a class="name" href={apiKeyHref(frame.base, id)}>
      <bdi>{name}</bdi>
    </a>
  );
}

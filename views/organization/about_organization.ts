// Forms name the organization that their page shows: another one may be active when they are sent.
import type { Session } from "../../domain/sign_in/session.ts";

/** @returns The hidden fields of a form about the active organization. */
export function aboutOrganization({ organization }: Session): Readonly<Record<string, string>> {
  return organization === null ? {} : { organizationId: organization.organizationId };
}

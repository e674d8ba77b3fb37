// Which organization a form is about: the one that the page shows, whatever is active when the form is sent.
import type { Session } from "../../domain/sign_in/session.ts";

/** @returns What a form says of it beside its fields, by name. */
export function aboutOrganization({ organization }: Session): Readonly<Record<string, string>> {
  return organization === null ? {} : { organizationId: organization.organizationId };
}

/** The same, as a field that nobody sees. */
export function FormOrganization({ session }: { session: Session }) {
  return (
    <>
      {Object.entries(aboutOrganization(session)).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
    </>
  );
}

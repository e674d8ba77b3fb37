// The addresses of the console's pages that others link to.

export const organizationsHref = "/operator/organizations";
export const usersHref = "/operator/users";

/** @returns The address of an organization's page. */
export function organizationHref(id: string): string {
  return `${organizationsHref}/${encodeURIComponent(id)}`;
}

/** @returns The address of a user's page. */
export function userHref(id: string): string {
  return `${usersHref}/${encodeURIComponent(id)}`;
}

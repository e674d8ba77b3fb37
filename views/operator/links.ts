// The addresses of the console's pages that others link to.

export const organizationsHref = "/operator/organizations";
export const plansHref = "/operator/plans";
export const statementsHref = "/operator/statements";
export const usersHref = "/operator/users";

/** @returns The address of an organization's page. */
export function organizationHref(id: string): string {
  return `${organizationsHref}/${encodeURIComponent(id)}`;
}

/** @returns The address of a user's page. */
export function userHref(id: string): string {
  return `${usersHref}/${encodeURIComponent(id)}`;
}

/** @returns The address of a plan's page, or of a page about it. */
export function planHref(id: string, action?: "edit" | "default" | "delete"): string {
  const page = `${plansHref}/${encodeURIComponent(id)}`;
  return action === undefined ? page : `${page}/${action}`;
}

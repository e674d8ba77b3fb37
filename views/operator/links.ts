// The addresses of the console's pages that others link to.

export const organizationsHref = "/operator/organizations";
export const plansHref = "/operator/plans";
export const statementsHref = "/operator/statements";
export const usersHref = "/operator/users";

export function organizationHref(id: string): string {
  return `${organizationsHref}/${encodeURIComponent(id)}`;
}

/** Begins the addresses of an organization's pages as its owners see them. */
export function customerViewHref(id: string): string {
  return `${organizationHref(id)}/view`;
}

export function startViewHref(id: string): string {
  return `${organizationHref(id)}/view-as-customer`;
}

export function userHref(id: string): string {
  return `${usersHref}/${encodeURIComponent(id)}`;
}

export function planHref(id: string, action?: "edit" | "default" | "delete"): string {
  const page = `${plansHref}/${encodeURIComponent(id)}`;
  return action === undefined ? page : `${page}/${action}`;
}

export function backTo({ id, name }: { id: string; name: string }) {
  return { href: organizationHref(id), label: name };
}

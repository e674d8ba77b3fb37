// The addresses of pages that others link to.

export const securityLink = { href: "/portal/account/security", label: "Security" };

export const organizationsHref = "/operator/organizations";
export const plansHref = "/operator/plans";
export const productsHref = "/operator/products";
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

/** Returns the address of a page of a product, or of one of its metrics. */
export function productHref(slug: string, page: "metrics" | "edit" | "delete" = "metrics"): string {
  return `${productsHref}/${encodeURIComponent(slug)}/${page}`;
}

export function metricHref(slug: string, metric: string, page: "edit" | "delete"): string {
  return `${productHref(slug)}/${encodeURIComponent(metric)}/${page}`;
}

export function backTo({ id, name }: { id: string; name: string }) {
  return { href: organizationHref(id), label: name };
}

/** Returns the address of the form with an organization's limits. @param limitId A limit of its plan to replace. */
export function organizationLimitsHref(id: string, limitId?: string): string {
  const form = `${organizationHref(id)}/limits/edit`;
  return limitId === undefined ? form : `${form}?limit=${encodeURIComponent(limitId)}`;
}

export function organizationPlanHref(id: string): string {
  return `${organizationHref(id)}/plan`;
}

/** Returns the address of a record's page, or of the page that voids it. @param base As in `PortalFrame`. */
export function recordHref(base: string, id: string, action?: "void"): string {
  const href = `${base}/usage/records/${encodeURIComponent(id)}`;
  return action === undefined ? href : `${href}/${action}`;
}

/** The tab of outcomes of a page of usage, with what was rejected. */
export const rejectionsQuery = "?stack=outcome&outcome=rejected";

// The address of the audit log's page: everything that was chosen is in it, and what is the default is left out.

/** What the page's address says; null for everything. */
export interface AuditAddress {
  /** An action, or a group of them. */
  readonly action: string | null;
  readonly actorId: string | null;
  /** The first day and the last, both included, in UTC, such as `2026-11-01`; or what was typed for them. */
  readonly from: string | null;
  readonly to: string | null;
  /** Where an older page begins. */
  readonly cursor: string | null;
}

/** The address without a choice. */
export const wholeAuditLog: AuditAddress = {
  action: null,
  actorId: null,
  from: null,
  to: null,
  cursor: null,
};

/** @returns The page's path and query. */
export function auditHref(address: AuditAddress): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(address)) if (value !== null) query.set(name, value);
  return query.size === 0 ? "/portal/audit" : `/portal/audit?${query}`;
}

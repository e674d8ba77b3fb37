// Badges of organizations in the console.
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import type { OperatedOrganization } from "../../domain/console/organization.ts";
import { Badge } from "./badge.tsx";

export function OrganizationStatusBadge({ status }: Pick<OperatedOrganization, "status">) {
  return status === "active" ? <Badge tone="on">Active</Badge> : <Badge tone="soon">Suspended</Badge>;
}

/** A badge if a limit is reached: usage beyond a hard one is rejected. Nothing otherwise. */
export function ReachedBadge({ standings }: { standings: readonly LimitStanding[] }) {
  const reached = standings.filter(({ remaining }) => remaining === 0);
  if (reached.length === 0) return null;
  return reached.some(({ mode }) => mode === "hard")
    ? <Badge tone="bad">Hard limit reached</Badge>
    : <Badge tone="soon">Soft limit reached</Badge>;
}

// The status of an organization in the console.
import type { OperatedOrganization } from "../../domain/operator/organization.ts";
import { Badge } from "../components/badge.tsx";

export function OrganizationStatusBadge({ status }: Pick<OperatedOrganization, "status">) {
  return status === "active" ? <Badge tone="on">Active</Badge> : <Badge tone="soon">Suspended</Badge>;
}

// Grants of an organization, for its members and for operators.
import { type Catalogue, metricOf } from "../../domain/meter/catalogue.ts";
import type { UsageGrant, UsageGrantStatus } from "../../domain/meter/usage_grant.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { Badge } from "../components/badge.tsx";
import { Card } from "../components/card.tsx";
import { ItemTable } from "../components/item_table.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { Name } from "../components/table.tsx";
import { limitName } from "../text/limit.ts";
import { quantityWords } from "../text/quantity.ts";

/** As many as the pages show; the API has all. */
export const grantsShownMax = 50;

const words: Readonly<Record<UsageGrantStatus, string>> = {
  active: "Active",
  used: "Used up",
  expired: "Expired",
  voided: "Voided",
};

export function grantQuantity(
  value: number,
  metric: string | null,
  catalogue: Catalogue | undefined,
): string {
  return catalogue && metric !== null
    ? quantityWords(value, metricOf(catalogue, metric))
    : groupDigits(value);
}

/** A card with the latest grants; nothing if there are none. `voidHref`: the page that voids one, for operators. */
export function GrantsCard({ grants, catalogue, now, voidHref }: {
  grants: readonly UsageGrant[];
  catalogue: Catalogue | undefined;
  now: number;
  voidHref?: (id: string) => string;
}) {
  if (grants.length === 0) return null;
  const amount = (value: number, { metric }: UsageGrant) => grantQuantity(value, metric, catalogue);
  return (
    <Card title="Grants" aside={<span class="muted small">Newest first</span>} flush>
      <ItemTable
        label="Grants"
        items={grants}
        columns={[
          {
            title: "Grant",
            in: "title",
            cell: (grant) => (
              <div>
                <Name text={limitName({ ...grant, per: "total" }, catalogue)} />
                <div class="muted tiny">
                  <bdi>{grant.reason}</bdi>
                  {grant.voidReason !== null && (
                    <>
                      {" · Voided: "}
                      <bdi>{grant.voidReason}</bdi>
                    </>
                  )}
                </div>
              </div>
            ),
          },
          { title: "Quantity", isNumber: true, cell: (grant) => amount(grant.quantity, grant) },
          { title: "Used", isNumber: true, cell: (grant) => amount(grant.used, grant) },
          { title: "Left", isNumber: true, cell: (grant) => amount(grant.remaining, grant) },
          {
            title: "Expires",
            cell: ({ expiresAt }) =>
              expiresAt === null ? <span class="muted">Never</span> : <DayTime at={expiresAt} now={now} />,
          },
          {
            title: "Status",
            in: "state",
            cell: ({ status }) => <Badge tone={status === "active" ? "on" : "off"}>{words[status]}</Badge>,
          },
        ]}
        isOver={({ status }) => status !== "active"}
        {...voidHref && {
          actions: ({ id, reason, status }: UsageGrant) =>
            status === "active" ? [{ href: voidHref(id), label: "Void", about: reason }] : [],
        }}
      />
    </Card>
  );
}

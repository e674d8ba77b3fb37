// Grants of an organization, for its members and for operators.
import { type Catalogue, metricOf } from "../../domain/meter/catalogue.ts";
import type { UsageGrant, UsageGrantStatus } from "../../domain/meter/usage_grant.ts";
import type { RefillPeriod } from "../../domain/meter/usage_refill.ts";
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
  scheduled: "Scheduled",
  active: "Active",
  used: "Used up",
  expired: "Expired",
  voided: "Voided",
};

/** Says how often a grant repeats: at midnight in the organization's time zone, for weeks on Monday. */
export const everyWords: Readonly<Record<RefillPeriod, string>> = {
  day: "Every day",
  week: "Every week",
  month: "Every month",
};

/** Returns the part that can still be used, also of a grant that starts later. */
export const leftOf = ({ status, quantity, remaining }: UsageGrant): number =>
  status === "scheduled" ? quantity : remaining;

export function grantQuantity(
  value: number,
  metric: string | null,
  catalogue: Catalogue | undefined,
): string {
  return catalogue && metric !== null
    ? quantityWords(value, metricOf(catalogue, metric))
    : groupDigits(value);
}

/** A card with the latest grants; nothing if there are none. `hrefs`: the pages that void a grant or its refill, for operators. */
export function GrantsCard({ grants, catalogue, now, hrefs }: {
  grants: readonly UsageGrant[];
  catalogue: Catalogue | undefined;
  now: number;
  hrefs?: { readonly grant: (id: string) => string; readonly refill: (id: string) => string };
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
                <Name text={limitName({ per: "total", ...grant }, catalogue)} />
                <div class="muted tiny">
                  {grant.every !== null && `${everyWords[grant.every]} · `}
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
          { title: "Left", isNumber: true, cell: (grant) => amount(leftOf(grant), grant) },
          {
            title: "Starts",
            cell: ({ startsAt }) => <DayTime at={startsAt} now={now} />,
          },
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
        isOver={({ status }) => status !== "active" && status !== "scheduled"}
        {...hrefs && {
          actions: ({ id, refillId, reason, status }: UsageGrant) =>
            status === "active" || status === "scheduled"
              ? [
                { href: hrefs.grant(id), label: "Void", about: reason },
                ...(refillId === null
                  ? []
                  : [{ href: hrefs.refill(refillId), label: "Stop repeating", about: reason }]),
              ]
              : [],
        }}
      />
    </Card>
  );
}

// The list of an organization's alerts.
import type { LimitMailReach } from "../../domain/mail/limit_mail_reach.ts";
import { type Catalogue, metricOf } from "../../domain/meter/catalogue.ts";
import type { Alert } from "../../domain/meter/usage_limit.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { alertsOfOrganizationMax } from "../../domain/webhooks/webhook_limits.ts";
import { ItemTable } from "../components/item_table.tsx";
import { ListPage } from "../components/list_page.tsx";
import { ResetTime } from "../components/relative_time.tsx";
import { Name } from "../components/table.tsx";
import type { Page, PortalFrame } from "../layout.tsx";
import { Used } from "../operator/organization_limits.tsx";
import { limitName, limitQuantity, notifyText } from "../text/limit.ts";
import { missedText } from "../text/limit_mails.ts";
import type { UsageFilters } from "./usage_address.ts";

interface AlertListProps {
  readonly frame: PortalFrame;
  readonly alerts: readonly Alert[];
  /** Null where no emails are sent. */
  readonly mailReach: LimitMailReach | null;
  readonly catalogue: Catalogue;
  readonly canChange: boolean;
  readonly seesWebhooks: boolean;
  readonly flash: string | null;
}

/** Returns the address of the form that adds an alert, with a filter of usage filled in. */
export function newAlertHref(
  base: string,
  { productSlug, metric, apiKey }: Pick<UsageFilters, "productSlug" | "metric" | "apiKey">,
): string {
  const given = Object.entries({ productSlug, metric, apiKey }).flatMap(([name, value]) =>
    value === null ? [] : [[name, value]]
  );
  return `${base}/alerts/new${given.length === 0 ? "" : `?${new URLSearchParams(given)}`}`;
}

export function alertList(props: AlertListProps): Page {
  const { frame: { base, now }, alerts, catalogue, canChange } = props;
  const path = `${base}/alerts`;
  return (
    <ListPage
      frame={props.frame}
      place="usage"
      flash={props.flash}
      back={{ href: `${base}/usage`, label: "Usage" }}
      title="Alerts"
      text="Get notified when usage reaches a quantity. Alerts never reject requests."
      add={canChange ? { href: `${path}/new`, label: "Add alert" } : null}
      filters={<Reach {...props} />}
      card={`${alerts.length} of ${alertsOfOrganizationMax} alerts`}
      empty={alerts.length > 0
        ? null
        : { title: "No alerts yet", text: "Limits notify too, without an alert." }}
      links={[]}
    >
      <ItemTable
        label="Alerts"
        items={alerts}
        columns={[
          { title: "Alert", in: "title", cell: (alert) => <AlertName alert={alert} {...props} /> },
          {
            title: "Used",
            cell: ({ used, quantity, metric }) =>
              used === null ? <span>{`Of ${limitQuantity({ quantity, metric }, catalogue)}`}</span> : (
                <Used
                  used={used}
                  allowed={quantity}
                  measure={metric === null ? undefined : metricOf(catalogue, metric)}
                />
              ),
          },
          { title: "Notify at", cell: ({ notifyAt }) => <span>{notifyText(notifyAt)}</span> },
          {
            title: "Resets",
            isOptional: true,
            cell: ({ resetsAt }) => resetsAt === null ? "Never" : <ResetTime at={resetsAt} now={now} />,
          },
        ]}
        {...canChange && {
          actions: (alert: Alert) => {
            const about = limitName(alert, catalogue);
            return [
              { label: "Edit", href: `${path}/${alert.id}/edit`, about },
              { label: "Delete", href: `${path}/${alert.id}/delete`, about, tone: "quiet-destroy" },
            ];
          },
        }}
      />
    </ListPage>
  );
}

function AlertName({ alert, catalogue }: { alert: Alert; catalogue: Catalogue }) {
  return (
    <>
      <Name text={limitName(alert, catalogue)} />
      {alert.apiKey && (
        <div class="muted tiny">
          Key <bdi>{alert.apiKey.name}</bdi>
        </div>
      )}
    </>
  );
}

/** Says who is notified. */
function Reach({ frame: { base }, mailReach, seesWebhooks }: AlertListProps) {
  return (
    <p class="muted small">
      {mailReach && `${missedText(mailReach) ?? recipientsText(mailReach)} `}
      {seesWebhooks && (
        <>
          <a href={`${base}/webhooks`}>Webhooks</a> can receive alerts and limits, too.
        </>
      )}
    </p>
  );
}

function recipientsText({ recipients }: LimitMailReach): string {
  return recipients === 1
    ? "One owner or admin gets emails about alerts and limits."
    : `${groupDigits(recipients)} owners and admins get emails about alerts and limits.`;
}

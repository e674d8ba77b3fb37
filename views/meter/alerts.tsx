// The list of an organization's alerts, and links to it.
import type { LimitMailReach } from "../../domain/outbox/limit_mail_reach.ts";
import { type Catalogue, metricOf } from "../../domain/meter/catalogue.ts";
import type { Alert } from "../../domain/meter/usage_limit.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { alertsOfOrganizationMax } from "../../domain/outbox/webhook_limits.ts";
import { ItemTable } from "../components/item_table.tsx";
import { ListPage, type ListPageProps } from "../components/list_page.tsx";
import { Name } from "../components/table.tsx";
import type { Page } from "../layout.tsx";
import { Used } from "../components/used.tsx";
import { limitName, limitQuantity, notifyText } from "../text/limit.ts";
import { missedText } from "../text/limit_mails.ts";
import type { UsageFilters } from "./usage_address.ts";

interface AlertListProps extends Pick<ListPageProps, "frame" | "flash"> {
  readonly alerts: readonly Alert[];
  /** Null where no emails are sent. */
  readonly mailReach: LimitMailReach | null;
  readonly catalogue: Catalogue;
  readonly canChange: boolean;
  readonly seesWebhooks: boolean;
}

/** Returns the address of the form that adds an alert, with a filter of usage filled in. */
export function newAlertHref(base: string, { productSlug, metric, apiKey }: UsageFilters): string {
  const filter = { productSlug: productSlug ?? "", metric: metric ?? "", apiKey: apiKey ?? "" };
  return `${base}/alerts/new?${new URLSearchParams(filter)}`;
}

export function alertList({ alerts, mailReach, catalogue, ...props }: AlertListProps): Page {
  const { frame, flash, canChange, seesWebhooks } = props;
  const path = `${frame.base}/alerts`;
  return (
    <ListPage
      frame={frame}
      place="usage"
      flash={flash ?? null}
      back={frame.viewed === null
        ? { href: `${frame.base}/usage`, label: "Usage" }
        : { href: `${frame.base}/limits`, label: "Limits" }}
      title="Alerts"
      text={frame.viewed === null
        ? "Get notified when usage reaches a quantity. Alerts never reject requests."
        : "Notify the organization when its usage reaches a quantity. Alerts never reject requests."}
      add={canChange ? { href: `${path}/new`, label: "Add alert" } : null}
      filters={
        <p class="muted small">
          {mailReach && `${missedText(mailReach, "alerts and limits") ?? recipientsText(mailReach)} `}
          {seesWebhooks && (
            <>
              <a href={`${frame.base}/webhooks`}>Webhooks</a> can receive alerts and limits, too.
            </>
          )}
        </p>
      }
      card={`${alerts.length} of ${alertsOfOrganizationMax} alerts`}
      empty={alerts.length > 0 ? null : { title: "No alerts yet", text: "Limits notify without an alert." }}
      links={[]}
    >
      <ItemTable
        label="Alerts"
        items={alerts}
        columns={[
          { title: "Alert", in: "title", cell: (alert) => <AlertName alert={alert} catalogue={catalogue} /> },
          { title: "Used", cell: (alert) => <AlertUse alert={alert} catalogue={catalogue} /> },
          { title: "Notify at", cell: ({ notifyAt }) => <span>{notifyText(notifyAt)}</span> },
        ]}
        actions={(alert) => {
          const about = limitName(alert, catalogue);
          return !canChange ? [] : [
            { label: "Edit", href: `${path}/${alert.id}/edit`, about },
            { label: "Delete", href: `${path}/${alert.id}/delete`, about, tone: "quiet-destroy" },
          ];
        }}
      />
    </ListPage>
  );
}

interface AlertProps {
  readonly alert: Alert;
  readonly catalogue: Catalogue;
}

function AlertName({ alert, catalogue }: AlertProps) {
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

function AlertUse({ alert: { used, quantity, metric }, catalogue }: AlertProps) {
  if (used === null) return <span>{`Of ${limitQuantity({ quantity, metric }, catalogue)}`}</span>;
  const measure = metric === null ? undefined : metricOf(catalogue, metric);
  return <Used used={used} allowed={quantity} measure={measure} />;
}

function recipientsText({ recipients }: LimitMailReach): string {
  return recipients === 1
    ? "One owner or admin gets emails about alerts and limits."
    : `${groupDigits(recipients)} owners and admins get emails about alerts and limits.`;
}

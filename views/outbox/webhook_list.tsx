// The list of webhook endpoints.
import { type Webhook, webhookName } from "../../domain/outbox/webhook.ts";
import { webhooksOfOperatorsMax, webhooksOfOrganizationMax } from "../../domain/outbox/webhook_limits.ts";
import { GuideLink } from "../components/embed_bar.tsx";
import { ItemTable } from "../components/item_table.tsx";
import { ListPage, type ListPageProps } from "../components/list_page.tsx";
import { TimeCell } from "../components/relative_time.tsx";
import type { Page } from "../layout.tsx";
import { EventNames, webhookHref, WebhookStatus } from "./webhook.tsx";

const eventsShownMax = 2;

export function webhookList(
  { webhooks, ...page }: Pick<ListPageProps, "frame" | "place" | "flash"> & {
    readonly webhooks: readonly Webhook[];
  },
): Page {
  const { frame: { base, isReadOnly, now, viewed, isConsole } } = page;
  const max = isConsole && viewed === null ? webhooksOfOperatorsMax : webhooksOfOrganizationMax;
  const hosts = webhooks.map(({ url }) => new URL(url).host);
  const isShared = (url: URL) => hosts.indexOf(url.host) !== hosts.lastIndexOf(url.host);
  return (
    <ListPage
      {...page}
      title="Webhooks"
      text={viewed !== null
        ? "Send events of this organization to its own systems."
        : isConsole
        ? "Send events of all organizations to your own systems."
        : "Send events to your own systems as soon as they happen."}
      add={isReadOnly ? null : { href: `${base}/webhooks/new`, label: "Add webhook" }}
      filters={
        <p class="muted small">
          <GuideLink href="/docs/webhooks" embed={page.frame.embed} />{" "}
          about events, and how to verify and handle them.
        </p>
      }
      card={`${webhooks.length} of ${max} webhooks`}
      empty={webhooks.length > 0
        ? null
        : { title: "No webhooks yet", text: "Add a URL to receive events, such as limits that are reached." }}
      links={[]}
    >
      <ItemTable
        label="Webhooks"
        items={webhooks}
        columns={[
          {
            title: "Webhook",
            in: "title",
            cell: (webhook) => <WebhookLink webhook={webhook} base={base} isShared={isShared} />,
          },
          { title: "Events", cell: ({ events }) => <EventNames events={events} shownMax={eventsShownMax} /> },
          {
            title: "Last delivered",
            cell: ({ lastDeliveredAt }) => <TimeCell at={lastDeliveredAt} now={now} />,
          },
          {
            title: "Failing since",
            cell: ({ failingSince }) =>
              failingSince === null ? <span class="muted">–</span> : <TimeCell at={failingSince} now={now} />,
          },
          { title: "Status", in: "state", cell: (webhook) => <WebhookStatus {...webhook} /> },
        ]}
      />
    </ListPage>
  );
}

/** `isShared`: true if another webhook has the host, so that the path tells them apart. */
function WebhookLink(
  { webhook, base, isShared }: { webhook: Webhook; base: string; isShared: (url: URL) => boolean },
) {
  const url = new URL(webhook.url);
  const hasPath = isShared(url);
  return (
    <>
      <a class="name" href={webhookHref(base, webhook.id)}>
        <bdi>{webhookName(webhook)}</bdi>
      </a>
      {(webhook.description !== "" || hasPath) && (
        <div class="muted tiny breaks">{hasPath ? url.host + url.pathname : url.host}</div>
      )}
    </>
  );
}

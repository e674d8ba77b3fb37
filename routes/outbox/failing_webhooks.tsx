// The console's list of all customers' webhooks whose deliveries fail.
import { failingWebhooksMax } from "../../domain/outbox/webhook_limits.ts";
import { webhookName } from "../../domain/outbox/webhook.ts";
import { listFailingOfCustomers } from "../../services/outbox/mod.ts";
import { ItemTable } from "../../views/components/item_table.tsx";
import { organizationHref } from "../../views/components/links.ts";
import { ListPage } from "../../views/components/list_page.tsx";
import { TimeCell } from "../../views/components/relative_time.tsx";
import { LinkedName } from "../../views/components/table.tsx";
import { webhookHref } from "../../views/outbox/webhook.tsx";
import type { App } from "../env.ts";
import { mountPage } from "../portal/noun_pages.ts";
import { consolePages } from "../portal/operator_page.ts";
import type { PortalParts } from "../portal/page.ts";

export const failingWebhooksHref = "/operator/webhooks/failing";

export function failingWebhookPages(app: App, parts: PortalParts): void {
  const pages = consolePages(app, parts, "operator/webhooks");
  mountPage(pages, failingWebhooksHref, async (_c, { actor, ...page }) => {
    const webhooks = await listFailingOfCustomers(parts.services, actor);
    const { now } = page.frame;
    return (
      <ListPage
        {...page}
        back={pages.backOf(actor)}
        title="Customers’ failing webhooks"
        text="Webhooks of all organizations whose deliveries fail, the longest first. After five days, they are disabled."
        flash={null}
        add={null}
        card={webhooks.length < failingWebhooksMax
          ? `${webhooks.length} failing`
          : `First ${failingWebhooksMax}`}
        empty={webhooks.length > 0
          ? null
          : { title: "No failing webhooks", text: "Customers’ webhooks whose deliveries fail appear here." }}
        links={[]}
      >
        <ItemTable
          label="Failing webhooks"
          items={webhooks}
          columns={[
            {
              title: "Webhook",
              in: "title",
              cell: (webhook) => (
                <LinkedName
                  href={webhookHref(organizationHref(webhook.organizationId), webhook.id)}
                  name={webhookName(webhook)}
                  note={new URL(webhook.url).host}
                />
              ),
            },
            {
              title: "Organization",
              cell: ({ organizationId, organizationName }) => (
                <a href={organizationHref(organizationId)}>
                  <bdi>{organizationName}</bdi>
                </a>
              ),
            },
            { title: "Failing since", cell: ({ failingSince }) => <TimeCell at={failingSince} now={now} /> },
            {
              title: "Last delivery",
              cell: ({ lastDeliveredAt }) => <TimeCell at={lastDeliveredAt} now={now} />,
            },
          ]}
        />
      </ListPage>
    );
  });
}

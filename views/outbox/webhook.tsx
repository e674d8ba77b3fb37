// The page of one webhook endpoint: its details and actions, above its deliveries.
import type { Child } from "hono/jsx";
import { type Webhook, webhookName } from "../../domain/outbox/webhook.ts";
import { Badge } from "../components/badge.tsx";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { NewSecret } from "../components/code.tsx";
import { CodeExample } from "../components/code_example.tsx";
import { Facts } from "../components/facts.tsx";
import { Icon } from "../components/icon.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead, type PageLink } from "../components/page_head.tsx";
import { DayTime, MomentTime, RelativeTime } from "../components/relative_time.tsx";
import { RowMenu } from "../components/row_menu.tsx";
import { type Page, type Place, type PortalFrame, PortalPage } from "../layout.tsx";

export type WebhookAction = "edit" | "rotate" | "disable" | "enable" | "delete";

/** Returns the address of an endpoint's page, or of a page about one action. @param base As in `PortalFrame`. */
export function webhookHref(base: string, id: string, action?: WebhookAction): string {
  const href = `${base}/webhooks/${encodeURIComponent(id)}`;
  return action === undefined ? href : `${href}/${action}`;
}

/** A link to an endpoint's page. @param base As in `PortalFrame`. */
export function webhookLink(base: string, webhook: Webhook): PageLink {
  return { href: webhookHref(base, webhook.id), label: webhookName(webhook) };
}

export interface WebhookPageProps {
  readonly frame: PortalFrame;
  readonly place: Place;
  readonly webhook: Webhook;
  readonly flash?: string | null;
  /** A new secret. `isReplaced`: the webhook had another one. */
  readonly secret?: { readonly value: string; readonly isReplaced: boolean };
  /** Shown below the details. */
  readonly children?: Child;
}

export function WebhookPage({ frame, place, webhook, flash, secret, children }: WebhookPageProps): Page {
  const name = webhookName(webhook);
  return (
    <PortalPage title={name} frame={frame} place={place}>
      <PageHead
        back={{ href: `${frame.base}/webhooks`, label: "Webhooks" }}
        title="{name}"
        name={name}
        text={
          <span class="origin small">
            <WebhookStatus {...webhook} />
            <code class="pick">{webhook.id}</code>
          </span>
        }
      >
        {!frame.isReadOnly && <Actions frame={frame} webhook={webhook} />}
      </PageHead>
      <Notice tone="done" text={flash} />
      {secret && <ShownSecret webhook={webhook} secret={secret} now={frame.now} />}
      <StatusNote webhook={webhook} now={frame.now} />
      <Card title="Details" flush>
        <Facts facts={webhookFacts(webhook, frame.now)} />
      </Card>
      {children}
    </PortalPage>
  );
}

function ShownSecret(
  { webhook, secret: { value, isReplaced }, now }:
    & { now: number }
    & Required<Pick<WebhookPageProps, "webhook" | "secret">>,
) {
  const { oldSecretUntil } = webhook;
  const text = !isReplaced ? undefined : oldSecretUntil === null ? " The old secret no longer works." : (
    <>
      {" The old secret works until "}
      <MomentTime at={oldSecretUntil} now={now} />.
    </>
  );
  return (
    <NewSecret what="secret" name={webhookName(webhook)} isReplaced={isReplaced} value={value} text={text}>
      <CodeExample
        id="webhook-environment"
        title="Environment"
        label="Environment"
        samples={[{ language: "text", code: `WEBHOOK_SECRET=${value}` }]}
      />
    </NewSecret>
  );
}

function Actions({ frame, webhook }: Pick<WebhookPageProps, "frame" | "webhook">) {
  const hrefOf = (action: WebhookAction) => webhookHref(frame.base, webhook.id, action);
  return (
    <>
      {webhook.status === "disabled"
        ? <ButtonLink tone="primary" href={hrefOf("enable")}>Enable</ButtonLink>
        : null}
      <ButtonLink href={hrefOf("rotate")}>Rotate secret</ButtonLink>
      <ButtonLink href={hrefOf("edit")}>Edit</ButtonLink>
      <RowMenu
        about={webhookName(webhook)}
        actions={[
          ...(webhook.status === "enabled"
            ? [{ href: hrefOf("disable"), label: "Disable", icon: "pause" } as const]
            : []),
          { href: hrefOf("delete"), label: "Delete", icon: "trash", isDanger: true },
        ]}
      />
    </>
  );
}

const disabledWords = {
  manual: "This webhook is disabled.",
  failing: "This webhook was disabled because it failed for five days.",
  gone: "This webhook was disabled because it returned 410 Gone.",
};

function StatusNote({ webhook, now }: { webhook: Webhook; now: number }) {
  const { disabledReason, failingSince } = webhook;
  if (disabledReason !== null) {
    return (
      <div class="note plain">
        <div>
          <Icon name="pause" />
          <p>{`${disabledWords[disabledReason]} Events are held until you enable it and replay them.`}</p>
        </div>
      </div>
    );
  }
  if (failingSince === null) return null;
  return (
    <div class="note error">
      <Icon name="alert" />
      <p>
        {"Deliveries have failed since "}
        <MomentTime at={failingSince} now={now} />
        . A webhook that fails for five days is disabled.
      </p>
    </div>
  );
}

/** Facts of an endpoint, for its page and for confirmations. */
export function webhookFacts(webhook: Webhook, now: number) {
  const { url, lastDeliveredAt, oldSecretUntil, createdAt, createdBy } = webhook;
  return [
    { label: "URL", value: <code class="pick">{url}</code> },
    { label: "Events", value: <EventNames {...webhook} /> },
    { label: "Last delivered", value: <RelativeTime at={lastDeliveredAt} now={now} /> },
    ...(oldSecretUntil === null || Date.parse(oldSecretUntil) <= now ? [] : [{
      label: "Old secret",
      value: (
        <>
          Signs until <MomentTime at={oldSecretUntil} now={now} />
        </>
      ),
    }]),
    {
      label: "Created",
      value: (
        <>
          <DayTime at={createdAt} now={now} />
          {createdBy !== null && " by "}
          <bdi>{createdBy?.name}</bdi>
        </>
      ),
    },
  ];
}

export function WebhookStatus({ status, failingSince }: Pick<Webhook, "status" | "failingSince">) {
  if (status === "disabled") return <Badge tone="off">Disabled</Badge>;
  return failingSince === null ? <Badge tone="on">Enabled</Badge> : <Badge tone="bad">Failing</Badge>;
}

/** The names of an endpoint's events; `shownMax`: further ones are counted. */
export function EventNames(
  { events, shownMax = events.length }: Pick<Webhook, "events"> & { shownMax?: number },
) {
  if (events.includes("*")) return <span>All events</span>;
  const more = events.length - shownMax;
  return <span>{events.slice(0, shownMax).join(", ") + (more > 0 ? ` and ${more} more` : "")}</span>;
}

// The page of one delivery: its status, the sent body, and every attempt. The forms that send tests and deliveries again.
import { z } from "@hono/zod-openapi";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import type {
  DeliveryAttempt,
  WebhookDelivery,
  WebhookDeliveryDetails,
} from "../../domain/outbox/delivery.ts";
import { eventTypes, isEventType } from "../../domain/outbox/event_types.ts";
import { type Webhook, webhookName } from "../../domain/outbox/webhook.ts";
import { webhookReplayDeliveriesMax } from "../../domain/outbox/webhook_limits.ts";
import { presentation } from "../../domain/presentation.ts";
import type { SessionContext } from "../../services/context.ts";
import {
  deliveries as verbs,
  getWebhook,
  sendTestEvent,
  type WebhookOwner,
} from "../../services/outbox/mod.ts";
import { Badge } from "../../views/components/badge.tsx";
import { ButtonLink } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { CodeExample } from "../../views/components/code_example.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { Facts } from "../../views/components/facts.tsx";
import { RadioGroup, SelectField } from "../../views/components/field.tsx";
import { FormPage } from "../../views/components/form_page.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { Notice, type NoticeProps } from "../../views/components/notice.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { MomentTime, RelativeTime } from "../../views/components/relative_time.tsx";
import { type Place, type PortalFrame, PortalPage } from "../../views/layout.tsx";
import { attemptSentence, DeliveryBadge, deliveryHref, responseWords } from "../../views/outbox/delivery.tsx";
import { webhookHref, webhookLink } from "../../views/outbox/webhook.tsx";
import { zoneWords } from "../../views/text/time.ts";
import type { AppContext } from "../env.ts";
import { replayStatus, testSchema } from "./webhook_deliveries.tsx";
import { typesFor } from "./webhook_delivery_list.tsx";
import { flashOf, queryOf } from "../portal/form.ts";
import { mountFormPage, mountPage, type Pages, paramOf } from "../portal/noun_pages.ts";
import type { PortalParts } from "../portal/page.ts";
import type { WebhookViewer } from "./webhook_viewer.ts";
import { check } from "../schemas/check.ts";

const one = "/webhooks/:webhookId";
const oneDelivery = `${one}/deliveries/:deliveryId`;

/** The choices of the time that a replay goes back. */
const replaySpans = {
  "1h": { label: "Hour", hours: 1 },
  "24h": { label: "24 hours", hours: 24 },
  "7d": { label: "7 days", hours: 7 * 24 },
  "30d": { label: "30 days", hours: 30 * 24 },
} as const;
type ReplaySpan = keyof typeof replaySpans;
const replayFormSchema = z.strictObject({
  status: replayStatus,
  span: z.enum(Object.keys(replaySpans) as [ReplaySpan, ...ReplaySpan[]]),
});

export function deliveryPages(pages: Pages<WebhookViewer>, parts: PortalParts): void {
  const { services } = parts;
  mountPage(pages, oneDelivery, async (c, { actor: { owner }, ...page }) => {
    const delivery = await deliveryOf(c, services, owner);
    const webhook = await webhookOf(c, services, owner);
    const flash: NoticeProps = queryOf(c, "done") === "tested" ? testNotice(delivery) : {
      tone: "done",
      text: flashOf(c, { replayed: "Sending this delivery again.", sent: "Sending this delivery now." }),
    };
    return deliveryPage({ ...page, webhook, delivery, flash });
  });
  mountReplayOfOne(pages, parts);
  mountReplay(pages, parts);
  mountTest(pages, parts);
}

function deliveryOf(c: AppContext, services: SessionContext, owner: WebhookOwner) {
  const ids = { webhookId: paramOf(c, "webhookId"), id: paramOf(c, "deliveryId") };
  return verbs.getDelivery(services, owner, ids);
}

function webhookOf(c: AppContext, services: SessionContext, owner: WebhookOwner) {
  return getWebhook(services, owner, paramOf(c, "webhookId"));
}

/** The confirmation that sends one delivery again, or a waiting one immediately. */
function mountReplayOfOne(pages: Pages<WebhookViewer>, { services }: PortalParts): void {
  mountFormPage(pages, {
    path: `${oneDelivery}/replay`,
    async show(c, form, { owner }) {
      const { id, type, eventId, createdAt, status } = await deliveryOf(c, services, owner);
      const webhook = await webhookOf(c, services, owner);
      const words = status === "waiting"
        ? {
          title: "Send now",
          heading: "Send this delivery now?",
          text: "Sends the event without waiting for its next attempt.",
          submit: "Send now",
        }
        : {
          title: "Replay delivery",
          heading: "Replay this delivery?",
          text: "Sends the event again, now, with the same ID. It is retried if it fails.",
          submit: "Replay delivery",
        };
      return (
        <ConfirmPage
          {...form}
          back={{ href: deliveryHref(form.frame.base, webhook.id, id), label: type }}
          {...words}
          facts={[
            { label: "Webhook", value: <bdi>{webhookName(webhook)}</bdi> },
            { label: "Event", value: type },
            { label: "Event ID", value: <code class="pick">{eventId}</code> },
            { label: "Created", value: <MomentTime at={createdAt} now={form.frame.now} /> },
          ]}
          tone="primary"
        />
      );
    },
    async submit(c, { owner, frame }) {
      const { id, status } = await deliveryOf(c, services, owner);
      const webhookId = paramOf(c, "webhookId");
      await verbs.replayDeliveries(services, owner, webhookId, { deliveryIds: [id] });
      return `${deliveryHref(frame.base, webhookId, id)}?done=${status === "waiting" ? "sent" : "replayed"}`;
    },
  });
}

function mountReplay(pages: Pages<WebhookViewer>, { services }: PortalParts): void {
  mountFormPage(pages, {
    path: `${one}/replay`,
    async show(c, { field, ...form }, { owner }) {
      const webhook = await webhookOf(c, services, owner);
      const { failed, held } = await verbs.countReplayable(services, owner, webhook.id);
      return (
        <FormPage
          {...form}
          back={webhookLink(form.frame.base, webhook)}
          title="Replay deliveries"
          heading="Replay deliveries of “{name}”"
          name={webhookName(webhook)}
          text={`Sends them again, the oldest first, each with the ID of its event. At most ${
            groupDigits(webhookReplayDeliveriesMax)
          } can wait at a time.`}
          submit="Replay deliveries"
          isNarrow
        >
          <RadioGroup
            label="Deliveries"
            {...field("status")}
            choices={[
              { value: "", label: "Failed and held", hint: waitingWords(failed + held) },
              { value: "failed", label: "Failed only", hint: waitingWords(failed) },
              {
                value: "held",
                label: "Held only",
                hint: `${waitingWords(held)}, not sent because the webhook was disabled`,
              },
              { value: "all", label: "All", hint: "Includes delivered ones." },
            ]}
          />
          <RadioGroup
            label="Created in the last"
            {...field("span", "30d")}
            choices={Object.entries(replaySpans).map(([value, { label }]) => ({ value, label }))}
          />
        </FormPage>
      );
    },
    async submit(c, { owner, frame }, { status, span = "30d" }) {
      const input = check(replayFormSchema, { status: status || undefined, span }, "body");
      const from = services.clock() - replaySpans[input.span].hours * 3_600_000;
      const id = paramOf(c, "webhookId");
      const replayed = await verbs.replayDeliveries(services, owner, id, { from, status: input.status });
      return `${webhookHref(frame.base, id)}?done=replayed&count=${replayed}`;
    },
  });
}

function waitingWords(count: number): string {
  return count < webhookReplayDeliveriesMax
    ? `${groupDigits(count)} in 30 days`
    : `${groupDigits(webhookReplayDeliveriesMax)} or more in 30 days`;
}

function mountTest(pages: Pages<WebhookViewer>, { services }: PortalParts): void {
  mountFormPage(pages, {
    path: `${one}/test`,
    async show(c, { field, ...form }, { owner }) {
      const webhook = await webhookOf(c, services, owner);
      return (
        <FormPage
          {...form}
          back={webhookLink(form.frame.base, webhook)}
          title="Send test"
          heading="Send a test to “{name}”"
          name={webhookName(webhook)}
          text="Sends an example once, now, and shows the response. A failed test isn't retried."
          submit="Send test"
          isNarrow
        >
          <SelectField
            label="Event"
            {...field("type", "webhook.test")}
            choices={typesFor(owner).map((type) => ({ value: type, label: type }))}
          />
        </FormPage>
      );
    },
    async submit(c, { owner, frame }, { type }) {
      const webhookId = paramOf(c, "webhookId");
      const input = check(testSchema(typesFor(owner)), { type }, "body");
      const id = await sendTestEvent(services, owner, { id: webhookId, ...input });
      return `${deliveryHref(frame.base, webhookId, id)}?done=tested`;
    },
  });
}

interface DeliveryPageProps {
  readonly frame: PortalFrame;
  readonly place: Place;
  readonly webhook: Webhook;
  readonly delivery: WebhookDeliveryDetails;
  readonly flash: NoticeProps;
}

/** Returns the result of a test that was just sent. */
function testNotice(delivery: WebhookDelivery): NoticeProps {
  return delivery.status === "failed"
    ? { tone: "error", text: `The test failed: ${responseWords(delivery) ?? "not sent"}.` }
    : { tone: "done", text: "Test sent. The response is below." };
}

function isTest({ payload }: WebhookDeliveryDetails): boolean {
  return (payload["data"] as Readonly<Record<string, unknown>>)["test"] === true;
}

function deliveryPage({ frame, place, webhook, delivery, flash }: DeliveryPageProps) {
  const { id, status, type, nextAttemptAt, attempts } = delivery;
  const { base, isReadOnly } = frame;
  const isDue = nextAttemptAt !== null && Date.parse(nextAttemptAt) <= frame.now;
  const mayReplay = !isReadOnly && webhook.status === "enabled" && !isDue;
  const isGone = webhook.disabledReason === "gone" && !isTest(delivery);
  const body = JSON.stringify(delivery.payload);
  return (
    <PortalPage title={type} frame={frame} place={place}>
      <PageHead
        back={webhookLink(base, webhook)}
        title={type}
        text={
          <span class="origin small">
            <DeliveryBadge status={status} />
            {isTest(delivery) && <Badge tone="off">Test</Badge>}
            <code class="pick">{id}</code>
          </span>
        }
        keepsActions
      >
        {mayReplay && (
          <ButtonLink tone="primary" href={deliveryHref(base, webhook.id, id, "replay")}>
            {status === "waiting" ? "Send now" : "Replay"}
          </ButtonLink>
        )}
      </PageHead>
      <Notice {...flash} />
      <StatusNote delivery={delivery} webhook={webhook} now={frame.now} />
      <Card title="Details" flush>
        <Facts facts={factsOf(delivery, frame.now)} />
      </Card>
      <Card title={attempts.length === 0 ? "Attempts" : countOf(attempts.length, "attempt")} flush>
        {attempts.length === 0
          ? <p class="body muted small">Not sent yet.</p>
          : <Attempts attempts={attempts} isGone={isGone} now={frame.now} />}
      </Card>
      <CodeExample
        id="headers"
        title="Headers"
        label="Headers, besides the signature of each attempt"
        samples={[{ language: "text", code: headersOf(delivery) }]}
      />
      <CodeExample
        id="payload"
        title="Payload"
        label="Payload, formatted; copied as sent"
        samples={[{ language: "json", code: JSON.stringify(delivery.payload, null, 2) }]}
        copy={body}
      />
    </PortalPage>
  );
}

function StatusNote(
  { delivery, webhook, now }: Pick<DeliveryPageProps, "delivery" | "webhook"> & { now: number },
) {
  const { status, nextAttemptAt } = delivery;
  if (status === "delivered" || status === "failed" && isTest(delivery)) return null;
  return (
    <div class="note plain">
      <p>
        {status === "waiting" ? <NextAttempt at={nextAttemptAt} now={now} /> : endedText(delivery, webhook)}
      </p>
    </div>
  );
}

function NextAttempt({ at, now }: { at: string | null; now: number }) {
  if (at === null || Date.parse(at) <= now) return <>The next attempt is due now.</>;
  return (
    <>
      Next attempt: <MomentTime at={at} now={now} /> (<RelativeTime at={at} now={now} />)
    </>
  );
}

function endedText({ status, code, attemptCount }: WebhookDelivery, webhook: Webhook): string {
  const after = webhook.status === "enabled"
    ? "Replay it to send it."
    : "Enable the webhook, then replay it.";
  const why = status === "held"
    ? "The webhook was disabled, so this wasn't sent."
    : code === "overflow"
    ? "Not sent, because too many deliveries were waiting."
    : `Given up after ${countOf(attemptCount, "attempt")}.`;
  return `${why} ${after}`;
}

function factsOf({ eventId, type, createdAt, endedAt }: WebhookDelivery, now: number) {
  const zone = zoneWords(presentation().timezone);
  return [
    {
      label: "Event ID",
      value: <code class="pick">{eventId}</code>,
    },
    { label: "Event", value: isEventType(type) ? eventTypes[type] : type },
    { label: `Created, ${zone}`, value: <MomentTime at={createdAt} now={now} /> },
    { label: `Ended, ${zone}`, value: endedAt === null ? "Not yet" : <MomentTime at={endedAt} now={now} /> },
  ];
}

function Attempts(
  { attempts, isGone, now }: { attempts: readonly DeliveryAttempt[]; isGone: boolean; now: number },
) {
  return (
    <ItemTable
      label="Attempts"
      items={attempts}
      columns={[
        {
          title: `Time, ${zoneWords(presentation().timezone)}`,
          in: "title",
          cell: ({ at }) => <MomentTime at={at} now={now} />,
        },
        {
          title: "Status",
          in: "state",
          cell: ({ code }) =>
            code === null ? <Badge tone="on">Delivered</Badge> : <Badge tone="bad">Failed</Badge>,
        },
        { title: "Result", cell: (attempt) => <span>{attemptSentence(attempt, isGone)}</span> },
        {
          title: "Duration",
          isNumber: true,
          cell: ({ durationMs }) => <span>{`${groupDigits(durationMs)} ms`}</span>,
        },
      ]}
    />
  );
}

/** The signature isn't stored: each attempt has its own. */
function headersOf({ eventId, attempts: [last] }: WebhookDeliveryDetails): string {
  const timestamp = last === undefined
    ? "<seconds since 1970>"
    : String(Math.floor(Date.parse(last.at) / 1000));
  return [
    `webhook-id: ${eventId}`,
    `webhook-timestamp: ${timestamp}`,
    "content-type: application/json",
    "user-agent: Gatehouse-Webhooks",
  ].join("\n");
}

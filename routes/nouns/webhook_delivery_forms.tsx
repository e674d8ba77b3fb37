// The forms that send tests of an endpoint, and deliveries again.
import { groupDigits } from "../../domain/number_text.ts";
import type { WebhookDelivery } from "../../domain/outbox/delivery.ts";
import type { EventType } from "../../domain/outbox/event_types.ts";
import { type Webhook, webhookName } from "../../domain/outbox/webhook.ts";
import { webhookReplayDeliveriesMax } from "../../domain/outbox/webhook_limits.ts";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { RadioGroup, SelectField } from "../../views/components/field.tsx";
import { FormPage, type PageForm } from "../../views/components/form_page.tsx";
import { MomentTime } from "../../views/components/relative_time.tsx";
import type { Page } from "../../views/layout.tsx";
import { deliveryHref } from "../../views/outbox/delivery.tsx";
import { webhookLink } from "../../views/outbox/webhook.tsx";

export function testForm(
  { field, ...form }: PageForm,
  webhook: Webhook,
  types: readonly EventType[],
): Page {
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
        choices={types.map((type) => ({ value: type, label: type }))}
      />
    </FormPage>
  );
}

/** The choices of the time that a replay goes back. */
export const replaySpans = {
  "1h": { label: "Hour", hours: 1 },
  "24h": { label: "24 hours", hours: 24 },
  "7d": { label: "7 days", hours: 7 * 24 },
  "30d": { label: "30 days", hours: 30 * 24 },
} as const;
export type ReplaySpan = keyof typeof replaySpans;

export function replayForm(
  { field, ...form }: PageForm,
  { webhook, counts: { failed, held } }: { webhook: Webhook; counts: { failed: number; held: number } },
): Page {
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
}

function waitingWords(count: number): string {
  return count < webhookReplayDeliveriesMax
    ? `${groupDigits(count)} in 30 days`
    : `${groupDigits(webhookReplayDeliveriesMax)} or more in 30 days`;
}

/** The confirmation that sends one delivery again, or a waiting one immediately. */
export function replayOneForm(
  form: PageForm,
  { webhook, delivery }: { webhook: Webhook; delivery: WebhookDelivery },
): Page {
  const { id, type, eventId, createdAt, status } = delivery;
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
}

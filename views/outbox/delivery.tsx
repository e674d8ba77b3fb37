// The page of one delivery: its status, the sent body, and every attempt. Also the words that lists use.
import { countOf, groupDigits } from "../../domain/number_text.ts";
import { presentation } from "../../domain/presentation.ts";
import type {
  DeliveryAttempt,
  DeliveryFault,
  DeliveryStatus,
  WebhookDelivery,
  WebhookDeliveryDetails,
} from "../../domain/outbox/delivery.ts";
import { eventTypes, isEventType } from "../../domain/outbox/event_types.ts";
import type { Webhook } from "../../domain/outbox/webhook.ts";
import { Badge, type BadgeTone } from "../components/badge.tsx";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { CodeExample } from "../components/code_example.tsx";
import { Facts } from "../components/facts.tsx";
import { ItemTable } from "../components/item_table.tsx";
import { Notice, type NoticeProps } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { MomentTime, RelativeTime } from "../components/relative_time.tsx";
import { type Page, type Place, type PortalFrame, PortalPage } from "../layout.tsx";
import { zoneWords } from "../text/time.ts";
import { webhookHref, webhookLink } from "./webhook.tsx";

/** Returns the address of a delivery's page, or of the page that sends it again. @param base As in `PortalFrame`. */
export function deliveryHref(base: string, webhookId: string, id: string, action?: "replay"): string {
  const href = `${webhookHref(base, webhookId)}/deliveries/${encodeURIComponent(id)}`;
  return action === undefined ? href : `${href}/${action}`;
}

export const statusNames: Readonly<Record<DeliveryStatus, string>> = {
  waiting: "Waiting",
  delivered: "Delivered",
  failed: "Failed",
  held: "Held",
};

const statusTones: Readonly<Record<DeliveryStatus, BadgeTone>> = {
  waiting: "soon",
  delivered: "on",
  failed: "bad",
  held: "off",
};

export function DeliveryBadge({ status }: Pick<WebhookDelivery, "status">) {
  return <Badge tone={statusTones[status]}>{statusNames[status]}</Badge>;
}

type Outcome = Pick<DeliveryAttempt, "code" | "responseStatus">;

/** The faults of attempts without a response, in one or two words and in a sentence. */
const faultWords: Readonly<Record<DeliveryFault, readonly [words: string, sentence: string]>> = {
  timeout: ["Timed out", "No response within 15 seconds."],
  tls: ["TLS error", "The secure connection failed. Check the certificate."],
  refused: ["No connection", "No connection, or no valid HTTP response."],
  blocked: ["Address blocked", "The URL leads to an address that may not be reached."],
  status: ["No status", "Responded with no status."],
  overflow: ["Too many waiting", "Too many deliveries were waiting."],
};

/** Returns how an endpoint responded last, in one or two words; null before the first attempt. */
export function responseWords({ code, responseStatus }: Outcome): string | null {
  if (responseStatus !== null) return `HTTP ${responseStatus}`;
  return code === null ? null : faultWords[code][0];
}

function attemptSentence({ code, responseStatus: status }: Outcome, isGone: boolean): string {
  if (status === null) return faultWords[code ?? "status"][1];
  const isRedirect = status >= 300 && status < 400;
  const more = isRedirect
    ? " Redirects aren't followed."
    : status === 410 && isGone
    ? " The webhook was disabled."
    : "";
  return `Responded with ${status}.${more}`;
}

interface DeliveryPageProps {
  readonly frame: PortalFrame;
  readonly place: Place;
  readonly webhook: Webhook;
  readonly delivery: WebhookDeliveryDetails;
  readonly flash: NoticeProps;
}

/** Returns the result of a test that was just sent. */
export function testNotice(delivery: WebhookDelivery): NoticeProps {
  return delivery.status === "failed"
    ? { tone: "error", text: `The test failed: ${responseWords(delivery) ?? "not sent"}.` }
    : { tone: "done", text: "Test sent. The response is below." };
}

function isTest({ payload }: WebhookDeliveryDetails): boolean {
  return (payload["data"] as Readonly<Record<string, unknown>>)["test"] === true;
}

export function deliveryPage({ frame, place, webhook, delivery, flash }: DeliveryPageProps): Page {
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

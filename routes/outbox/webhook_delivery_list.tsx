// The deliveries of an endpoint, below its details: the health of the last days, the list, and how to verify them.
import { isId } from "../../domain/id.ts";
import type { Catalogue } from "../../domain/meter/catalogue.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import { type DeliveryStatus, deliveryStatuses, type ListedDelivery } from "../../domain/outbox/delivery.ts";
import type { EventSubject } from "../../domain/outbox/event.ts";
import { type EventType, eventTypesFor } from "../../domain/outbox/event_types.ts";
import type { Webhook } from "../../domain/outbox/webhook.ts";
import { presentation } from "../../domain/presentation.ts";
import type { SessionContext } from "../../services/context.ts";
import { readProductNames } from "../../services/meter/mod.ts";
import { deliveries as verbs, type WebhookOwner } from "../../services/outbox/mod.ts";
import { Badge } from "../../views/components/badge.tsx";
import { ButtonLink } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { Chart } from "../../views/components/chart.tsx";
import { chartOf } from "../../views/components/chart_props.ts";
import { CodeExample } from "../../views/components/code_example.tsx";
import { GuideLink } from "../../views/components/embed_bar.tsx";
import { EmptyState } from "../../views/components/empty_state.tsx";
import { SelectField } from "../../views/components/field.tsx";
import {
  ChosenFilters,
  type DayBounds,
  FilterMenu,
  NothingListed,
} from "../../views/components/filter_menu.tsx";
import { ListCard, Tabs } from "../../views/components/list_card.tsx";
import { listHref } from "../../views/components/list_filters.tsx";
import { Notice } from "../../views/components/notice.tsx";
import { PageLinks } from "../../views/components/page_links.tsx";
import { MomentTime, RelativeTime } from "../../views/components/relative_time.tsx";
import { Cell, Row, Table } from "../../views/components/table.tsx";
import { DeliveryBadge, deliveryHref, responseWords, statusNames } from "../../views/outbox/delivery.tsx";
import { webhookHref } from "../../views/outbox/webhook.tsx";
import { limitName } from "../../views/text/limit.ts";
import { zoneWords } from "../../views/text/time.ts";
import type { AppContext } from "../env.ts";
import { dayRange } from "../portal/day_range.ts";
import { verifySamples } from "../portal/docs/verify_samples.ts";
import { flashOf, queryOf } from "../portal/form.ts";
import { listChoice } from "../portal/operator_page.ts";
import type { WebhookViewer } from "./webhook_viewer.ts";

const pageDeliveries = 25;

export const typesFor = (owner: WebhookOwner) => eventTypesFor({ isForOperators: "operator" in owner });

/** The choices in the page's address. Null: everything. */
interface DeliveriesAddress extends DayBounds {
  readonly status: DeliveryStatus | null;
  readonly type: EventType | null;
}

/** Returns the notice after a replay: how many deliveries wait, from the page's address. */
export function replayFlash(c: AppContext): string | null {
  const count = Number(queryOf(c, "count"));
  const replayed = !Number.isSafeInteger(count)
    ? "Replaying deliveries."
    : count === 0
    ? "Nothing to replay."
    : `Replaying ${groupDigits(count)} ${count === 1 ? "delivery" : "deliveries"}.`;
  return flashOf(c, { replayed });
}

/** Returns the part of an endpoint's page below its details. Any address shows a page. */
export async function deliveryList(
  c: AppContext,
  services: SessionContext,
  viewer: WebhookViewer,
  webhook: Webhook,
) {
  const props = await readDeliveries(c, services, viewer, webhook);
  return (
    <>
      <Health {...props} />
      <Notice tone="error" text={props.problems.join(" ")} />
      <List {...props} />
      <Verify {...props} />
    </>
  );
}

async function readDeliveries(
  c: AppContext,
  services: SessionContext,
  { owner, frame }: WebhookViewer,
  webhook: Webhook,
) {
  const problems: string[] = [];
  const types = typesFor(owner);
  const shown = "showing all";
  const text = (name: string) => c.req.query(name)?.trim() || null;
  const address: DeliveriesAddress = {
    status: listChoice(c, "status", { choices: deliveryStatuses, shown, problems }),
    type: listChoice(c, "type", { choices: types, shown, problems }),
    from: text("from"),
    to: text("to"),
  };
  const { errors, ...days } = dayRange(address, presentation().timezone);
  const given = queryOf(c, "cursor") ?? "";
  const cursor = isId("dlv", given) ? given : undefined;
  const hasErrors = Object.keys(errors).length > 0;
  const { id: webhookId } = webhook;
  const list = hasErrors ? null : await verbs.listDeliveries(services, owner, {
    webhookId,
    status: address.status ?? undefined,
    type: types.find((type) => type === address.type),
    ...days,
    limit: pageDeliveries,
    cursor,
  });
  const { failed, held } = await verbs.countReplayable(services, owner, webhookId);
  return {
    frame,
    webhook,
    types,
    address,
    errors,
    problems,
    /** The last days of UTC, the oldest first. */
    health: await verbs.readWebhookHealth(services, owner, webhookId),
    /** Null if a field has an error. */
    deliveries: list?.deliveries ?? null,
    catalogue: await readProductNames(services),
    hasReplayable: failed + held > 0,
    isFirstPage: cursor === undefined,
    nextCursor: list?.nextCursor ?? null,
    samples: verifySamples(),
  };
}

type DeliveriesProps = Awaited<ReturnType<typeof readDeliveries>>;

const dayMs = 24 * 3_600_000;

function Health({ health, frame: { now } }: DeliveriesProps) {
  const windows = health.map(({ day }) => ({ start: Date.parse(day), end: Date.parse(day) + dayMs }));
  const [succeeded, failed] = [sumOf(health, "succeeded"), sumOf(health, "failed")];
  const all = succeeded + failed;
  return (
    <Card
      title={`Last ${health.length} days`}
      aside={all > 0 && (
        <span class="muted small">
          {`${countOf(all, "attempt")}, ${groupDigits(failed)} failed`}
        </span>
      )}
    >
      {all === 0
        ? <EmptyState title="No events sent yet" text="Tests aren't counted." />
        : (
          <div class="health">
            <Chart
              {...chartOf({
                series: ["Delivered", "Failed"],
                others: 0,
                windows: health.map(({ succeeded, failed }) => ({
                  values: [succeeded, failed],
                  sums: [String(succeeded), String(failed)],
                  total: String(succeeded + failed),
                })),
              }, {
                measure: { name: "Attempts", unit: null },
                by: "day",
                period: `the last ${health.length} days, UTC`,
                windows,
                timezone: "UTC",
                now,
                isSmall: true,
                series: (name) => ({ name, color: name === "Failed" ? 5 : 1 }),
              })}
            />
          </div>
        )}
    </Card>
  );
}

function sumOf(health: DeliveriesProps["health"], name: "succeeded" | "failed"): number {
  return health.reduce((sum, day) => sum + day[name], 0);
}

function deliveriesHref(
  { frame, webhook, address }: DeliveriesProps,
  changed: Partial<DeliveriesAddress> & { readonly cursor?: string } = {},
): string {
  return listHref(webhookHref(frame.base, webhook.id), { ...address, ...changed });
}

const all: DeliveriesAddress = { status: null, type: null, from: null, to: null };

function List(props: DeliveriesProps) {
  const { frame, webhook, address, deliveries, isFirstPage, nextCursor } = props;
  const href = webhookHref(frame.base, webhook.id);
  const tabs = [null, ...deliveryStatuses].map((status) => ({
    href: deliveriesHref(props, { status }),
    label: status === null ? "All" : statusNames[status],
    count: null,
    isCurrent: address.status === status,
  }));
  return (
    <>
      <ListCard
        label="Deliveries"
        tabs={<Tabs label="Status of deliveries" tabs={tabs} />}
        tools={
          <>
            {!frame.isReadOnly && (
              <>
                {webhook.status === "enabled" && props.hasReplayable && (
                  <ButtonLink href={`${href}/replay`}>Replay…</ButtonLink>
                )}
                <ButtonLink href={`${href}/test`}>Send test</ButtonLink>
              </>
            )}
            <Filters {...props} />
          </>
        }
      >
        <ChosenFilters
          words={[address.type]}
          days={address}
          clearHref={deliveriesHref(props, { ...all, status: address.status })}
        />
        {deliveries === null || deliveries.length === 0
          ? (
            <NothingListed
              what="deliveries"
              hasErrors={deliveries === null}
              isFiltered={Object.values(address).some((choice) => choice !== null)}
              text="Events appear here as soon as they are sent. They are kept for 30 days."
              clearHref={href}
            />
          )
          : <DeliveryTable {...props} deliveries={deliveries} />}
      </ListCard>
      <PageLinks
        label="Pages of deliveries"
        links={[
          { href: isFirstPage ? null : deliveriesHref(props), label: "Newest deliveries" },
          { href: nextCursor && deliveriesHref(props, { cursor: nextCursor }), label: "Older deliveries" },
        ]}
      />
    </>
  );
}

function DeliveryTable(
  { frame: { base, now, isConsole, viewed }, webhook, deliveries, catalogue }: DeliveriesProps & {
    readonly deliveries: readonly ListedDelivery[];
  },
) {
  const columns = [
    "Event",
    "Status",
    "Response",
    { title: "Attempts", isNumber: true },
    "Next attempt",
    `Created, ${zoneWords(presentation().timezone)}`,
  ];
  return (
    <Table label="Deliveries" columns={columns} kind="cards">
      {deliveries.map((delivery) => {
        const { id, type, subject, attemptCount, nextAttemptAt, createdAt } = delivery;
        const response = responseWords(delivery);
        const next = nextAttemptAt === null ? "–" : <NextAttempt at={nextAttemptAt} now={now} />;
        return (
          <Row>
            <Cell place="title">
              <a class="name" href={deliveryHref(base, webhook.id, id)}>{type}</a>
              {subject.isTest && <Badge tone="off">Test</Badge>}
              <div class="muted tiny">
                <bdi>
                  {subjectWords(subject, { catalogue, isForOperators: isConsole && viewed === null })}
                </bdi>
              </div>
            </Cell>
            <Cell place="start" value={<DeliveryBadge {...delivery} />} />
            <Cell place="end">
              {response ?? <span class="off-only">–</span>}
              {attemptCount > 1 && <span class="on-card">{` · ${attemptCount} attempts`}</span>}
            </Cell>
            <Cell isOffCard isNumber value={attemptCount} />
            <Cell isOffCard value={next} />
            <Cell place="start">
              <MomentTime at={createdAt} now={now} />
              {nextAttemptAt && <span class="on-card">· next {next}</span>}
            </Cell>
          </Row>
        );
      })}
    </Table>
  );
}

/** Names the subject of an event. Operators' own endpoints receive events of all organizations. */
function subjectWords(
  { limit, name, organization }: EventSubject,
  { catalogue, isForOperators }: { catalogue: Catalogue; isForOperators: boolean },
): string {
  const words = [isForOperators ? organization : null, limit && limitName(limit, catalogue), name];
  return words.filter((word) => word !== null).join(" · ");
}

function NextAttempt({ at, now }: { at: string; now: number }) {
  return Date.parse(at) <= now ? <>Now</> : <RelativeTime at={at} now={now} />;
}

function Filters({ frame, webhook, types, address, errors }: DeliveriesProps) {
  const { status, type } = address;
  return (
    <FilterMenu
      path={webhookHref(frame.base, webhook.id)}
      kept={{ status }}
      days={address}
      labels={{ from: `From, ${zoneWords(presentation().timezone)}`, to: "To" }}
      errors={errors}
    >
      <SelectField
        label="Event"
        name="type"
        value={type ?? ""}
        choices={[{ value: "", label: "All events" }, ...types.map((type) => ({ value: type, label: type }))]}
      />
    </FilterMenu>
  );
}

export function NextSteps(
  { frame, webhook, samples }: Pick<DeliveriesProps, "frame" | "webhook" | "samples">,
) {
  return (
    <>
      <Verify samples={samples} frame={frame} />
      <Card title="Test">
        <p class="muted small">Send an example, and see how your endpoint responds.</p>
        <div class="acts">
          <ButtonLink href={`${webhookHref(frame.base, webhook.id)}/test`}>Send test</ButtonLink>
        </div>
      </Card>
    </>
  );
}

function Verify({ samples, frame }: Pick<DeliveriesProps, "samples" | "frame">) {
  return (
    <Card title="Verify">
      <p class="muted small">
        {"Each request is signed as in Standard Webhooks. Verify the raw body before you use it, and ignore an event whose "}
        <code>webhook-id</code>
        {" you have handled already. "}
        <GuideLink href="/docs/webhooks" embed={frame.embed} />
      </p>
      <CodeExample id="verify" title="Verify a delivery" samples={samples} />
    </Card>
  );
}

// SQL of deliveries before they are sent: those of new events, those that are too many, and leases. No query reads more rows because more
// deliveries wait or more endpoints exist.
import { newId } from "../../domain/id.ts";
import { type EventType, operatorEventTypes } from "../../domain/outbox/event_types.ts";
import {
  webhookDeliveriesCountedMax,
  webhookRequestsMax,
  webhookRequestsOfOrganizationMax,
  webhooksOfOperatorsMax,
  webhooksOfOrganizationMax,
  webhookWaitingMax,
} from "../../domain/outbox/webhook_limits.ts";
import { type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";

/** Deliveries of a step at most. Each event may have one to every endpoint of its organization and of operators. */
const deliveriesOfStepMax = 500;
const eventsOfStepMax = Math.floor(
  deliveriesOfStepMax / (webhooksOfOrganizationMax + webhooksOfOperatorsMax),
);
const heldOfStepMax = 1_000;

export interface DueWork {
  /** True for events without deliveries. */
  readonly hasEvents: boolean;
  /** When the next endpoint has a turn that isn't slow, and that is. */
  readonly turnAt: number | null;
  readonly slowTurnAt: number | null;
  /** True if too many deliveries of an endpoint wait. */
  readonly isOverflowing: boolean;
  /** True if deliveries of a disabled endpoint wait. */
  readonly isToHold: boolean;
}

const overflowing = sql`FROM webhooks WHERE waiting > ${integer(webhookWaitingMax)}`;
const toHold = sql`FROM webhooks WHERE waiting > 0 AND disabled_at IS NOT NULL`;

export async function findDueWork(database: DatabaseReader): Promise<DueWork> {
  const row = await database.readFirst<{ [Name in keyof DueWork]: number | null }>(sql`
    SELECT EXISTS (SELECT 1 FROM events WHERE seq > c.delivered_seq) AS hasEvents,
      (SELECT min(turn_at) FROM webhooks WHERE turn_at IS NOT NULL AND is_slow = 0) AS turnAt,
      (SELECT min(turn_at) FROM webhooks WHERE turn_at IS NOT NULL AND is_slow = 1) AS slowTurnAt,
      EXISTS (SELECT 1 ${overflowing}) AS isOverflowing,
      EXISTS (SELECT 1 ${toHold}) AS isToHold
    FROM event_cursor c`);
  return {
    hasEvents: row?.hasEvents === 1,
    turnAt: row?.turnAt ?? null,
    slowTurnAt: row?.slowTurnAt ?? null,
    isOverflowing: row?.isOverflowing === 1,
    isToHold: row?.isToHold === 1,
  };
}

/** True if {@linkcode findDueWork} finds something to do now. */
export const hasDueWebhooks = (now: number): Statement =>
  sql`(EXISTS (SELECT 1 FROM events WHERE seq > (SELECT delivered_seq FROM event_cursor))
    OR EXISTS (SELECT 1 FROM webhooks WHERE is_slow = 0 AND turn_at <= ${now})
    OR EXISTS (SELECT 1 FROM webhooks WHERE is_slow = 1 AND turn_at <= ${now})
    OR EXISTS (SELECT 1 ${overflowing}) OR EXISTS (SELECT 1 ${toHold}))`;

export interface DeliveriesState {
  /** At most {@linkcode webhookDeliveriesCountedMax}. */
  readonly waiting: number;
  /** The time since which the next endpoint could be served; null if there is none. */
  readonly turnAt: number | null;
}

export async function findDeliveriesState(database: DatabaseReader): Promise<DeliveriesState> {
  const { turnAt, slowTurnAt } = await findDueWork(database);
  const found = await database.readFirst<{ waiting: number }>(sql`SELECT count(*) AS waiting FROM (
    SELECT 1 FROM webhook_deliveries WHERE status = 'waiting' LIMIT ${webhookDeliveriesCountedMax})`);
  return { waiting: found?.waiting ?? 0, turnAt: turnAt ?? slowTurnAt };
}

const operatorTypes = JSON.stringify([...operatorEventTypes]);

/** Writes the deliveries of the next events and moves the cursor on, in one batch. Two servers never take the same events. */
export function fanOutEvents(now: number): Statement[] {
  const next = sql`SELECT seq, id, type, organization, webhook, facts FROM events
    WHERE seq > (SELECT delivered_seq FROM event_cursor) ORDER BY seq LIMIT ${eventsOfStepMax}`;
  return [
    sql`INSERT INTO webhook_deliveries (id, webhook, event, type, status, due_at, created_at)
      SELECT ${newId("dlv").slice(0, -16)} || lower(hex(randomblob(8))), w.number, e.seq, e.type,
        iif(w.disabled_at IS NULL, 'waiting', 'held'), ${now}, ${now}
      FROM (${next}) e CROSS JOIN webhooks w ON w.organization IN (0, coalesce(e.organization, 0))
      WHERE w.deleted_at IS NULL AND w.since_seq < e.seq AND e.webhook IS NULL
        AND (w.organization = 0 OR e.type NOT IN (SELECT value FROM json_each(${operatorTypes})))
        AND (e.type <> 'webhook.disabled' OR json_extract(e.facts, '$.webhook.id') <> w.id)
        AND EXISTS (SELECT 1 FROM json_each(w.events) n
          WHERE n.value IN ('*', e.type, substr(e.type, 1, instr(e.type, '.')) || '*'))`,
    sql`UPDATE event_cursor SET delivered_seq = coalesce((SELECT max(seq) FROM (${next})), delivered_seq)`,
  ];
}

const isWaiting = sql`d.webhook = w.number AND d.status = 'waiting'`;
const isInProgress = (now: number): Statement => sql`(d.is_leased = 1 AND d.due_at > ${now})`;

/** Fails some of the oldest deliveries of an endpoint that has too many waiting. */
export function failOverflow(now: number): Statement[] {
  const oldest = sql`SELECT d.number FROM webhook_deliveries d
    WHERE d.webhook = (SELECT number ${overflowing} LIMIT 1) AND d.status = 'waiting' AND NOT ${
    isInProgress(now)
  }
    ORDER BY d.number LIMIT coalesce((SELECT min(${heldOfStepMax}, waiting - ${
    integer(webhookWaitingMax)
  }) ${overflowing} LIMIT 1), 0)`;
  return [
    sql`INSERT INTO webhook_days (webhook, day, succeeded, failed)
      SELECT webhook, ${
      dayOf(now)
    }, 0, count(*) FROM webhook_deliveries WHERE number IN (${oldest}) GROUP BY webhook
      ON CONFLICT DO UPDATE SET failed = failed + excluded.failed`,
    sql`UPDATE webhook_deliveries SET status = 'failed', code = 'overflow', ended_at = ${now}, is_leased = 0
      WHERE number IN (${oldest})`,
  ];
}

/** The number of a day of UTC. */
export const dayOf = (time: number): number => Math.floor(time / 86_400_000);

/** Holds some of the deliveries that wait for disabled endpoints, or all of one. Those in progress end first. */
export function holdDeliveries(now: number, one?: Statement): Statement {
  return sql`UPDATE webhook_deliveries SET status = 'held', is_leased = 0 WHERE number IN (
    SELECT d.number FROM webhooks w CROSS JOIN webhook_deliveries d ON ${isWaiting}
    WHERE w.waiting > 0 AND w.disabled_at IS NOT NULL ${one ?? sql``} AND NOT ${isInProgress(now)}
    LIMIT ${one === undefined ? heldOfStepMax : -1})`;
}

/** A condition: of the endpoint `w`, fewer requests are in progress than there may be. */
export const hasRoom = (now: number): Statement =>
  sql`(SELECT count(*) FROM webhook_deliveries d WHERE d.webhook = w.number AND ${isInProgress(now)})
    < ${integer(webhookRequestsMax)}`;

/** The requests in progress to endpoints `x` of the organization of the endpoint `w`. */
const ofOwner = (now: number): Statement =>
  sql`FROM webhooks x CROSS JOIN webhook_deliveries d ON d.webhook = x.number AND ${isInProgress(now)}
    WHERE x.organization = w.organization AND x.deleted_at IS NULL`;

/** As {@linkcode hasRoom}, and the same of its organization, whose slow endpoints have half. Those of operators limit only themselves. */
const hasPlace = (now: number): Statement =>
  sql`${hasRoom(now)} AND (w.organization = 0 OR (
    SELECT count(*) < ${integer(webhookRequestsOfOrganizationMax)}
      AND (w.is_slow = 0 OR total(x.is_slow) < ${integer(webhookRequestsOfOrganizationMax / 2)}) ${
    ofOwner(now)
  }))`;

/** The time for `turn_at` of the endpoint `w`: when a delivery is due, or one of the requests in progress ends. */
export const nextTurn = (now: number): Statement =>
  sql`CASE WHEN w.disabled_at IS NOT NULL OR w.deleted_at IS NOT NULL THEN NULL
    WHEN ${hasPlace(now)} THEN (SELECT max(d.due_at, ${now}) FROM webhook_deliveries d
      WHERE ${isWaiting} ORDER BY d.due_at LIMIT 1)
    WHEN EXISTS (SELECT 1 FROM webhook_deliveries d WHERE ${isWaiting}) THEN (SELECT min(d.due_at) ${
    ofOwner(now)
  }) END`;

/** `leasedUntil`: for how long no other server sends what is claimed. `slots`: how many to claim; of slow endpoints at most `slowSlots`. */
interface Claim {
  readonly now: number;
  readonly leasedUntil: number;
  readonly slots: number;
  readonly slowSlots: number;
}

/**
 * Claims one delivery of each organization whose turn it is, in the order of turns, as rows with its `number`. Organizations with more
 * due come last in the next round, and the endpoint that was served comes last in its organization.
 */
export function claimDeliveries({ now, leasedUntil, slots, slowSlots }: Claim): Statement[] {
  // Among so many endpoints are those of as many organizations as there are slots.
  const endpoints = (isSlow: number, limit: number) =>
    sql`SELECT * FROM (SELECT number, organization, turn_at, served FROM webhooks
      WHERE turn_at <= ${now} AND is_slow = ${isSlow}
      ORDER BY turn_at LIMIT ${limit * webhooksOfOrganizationMax})`;
  const turns = (among: Statement, limit: number) =>
    sql`SELECT * FROM (SELECT number, organization, served, since AS turn_at FROM (
      SELECT *, min(turn_at) OVER (PARTITION BY organization) AS since,
        row_number() OVER (PARTITION BY organization ORDER BY served, number) AS place FROM (${among}))
      WHERE place = 1 ORDER BY since LIMIT ${limit})`;
  const lanes = sql`${turns(endpoints(0, slots), slots)} UNION ALL ${
    turns(endpoints(1, slowSlots), slowSlots)
  }`;
  const inTurn = sql`(SELECT number FROM (${turns(lanes, slots)}))`;
  return [
    sql`UPDATE webhook_deliveries SET is_leased = 1, due_at = ${leasedUntil} WHERE number IN (
      SELECT (SELECT d.number FROM webhook_deliveries d WHERE ${isWaiting} AND d.due_at <= ${now}
        ORDER BY d.due_at LIMIT 1)
      FROM webhooks w WHERE w.number IN ${inTurn} AND w.disabled_at IS NULL AND w.deleted_at IS NULL
        AND ${hasPlace(now)})
      RETURNING number`,
    // Those whose event was deleted can't be sent.
    sql`UPDATE webhook_deliveries SET status = 'failed', is_leased = 0, ended_at = ${now}
      WHERE webhook IN ${inTurn} AND is_leased = 1 AND status = 'waiting'
        AND NOT EXISTS (SELECT 1 FROM events e WHERE e.seq = webhook_deliveries.event)`,
    sql`UPDATE webhooks AS w SET turn_at = ${nextTurn(now)}, served = iif(number IN ${inTurn},
        1 + (SELECT max(x.served) FROM webhooks x WHERE x.organization = w.organization AND x.deleted_at IS NULL), served)
      WHERE deleted_at IS NULL
        AND organization IN (SELECT organization FROM webhooks WHERE number IN ${inTurn})`,
  ];
}

/** Ends all leases, which a process that was killed has left. Only for a database that no other server has. */
export function endAllLeases(now: number): Statement[] {
  return [
    sql`UPDATE webhooks SET turn_at = ${now} WHERE turn_at IS NOT NULL
      AND number IN (SELECT webhook FROM webhook_deliveries WHERE is_leased = 1)`,
    sql`UPDATE webhook_deliveries SET is_leased = 0, due_at = ${now} WHERE is_leased = 1`,
  ];
}

/** A delivery with a lease, its event and its endpoint. */
export interface LeasedDelivery {
  readonly number: number;
  readonly id: string;
  /** Made since it was created or replayed. */
  readonly attempts: number;
  readonly leasedUntil: number;
  readonly eventId: string;
  readonly type: EventType;
  readonly eventAt: number;
  /** `EventFacts` as JSON. */
  readonly facts: string;
  /** The number of the endpoint if the event is a test of it. */
  readonly testOf: number | null;
  readonly webhook: number;
  readonly webhookId: string;
  /** 0 for operators. */
  readonly organization: number;
  /** Null for operators. */
  readonly organizationId: string | null;
  readonly organizationName: string | null;
  readonly url: string;
  readonly description: string;
  /** Sealed, like `oldSecret`. */
  readonly secret: string;
  readonly oldSecret: string | null;
  readonly oldSecretUntil: number | null;
  readonly failingSince: number | null;
  /** 1 if its turns are those of slow endpoints. */
  readonly isSlow: 0 | 1;
}

const leased =
  sql`SELECT d.number, d.id, d.attempts, d.due_at AS leasedUntil, e.id AS eventId, e.type, e.at AS eventAt, e.facts,
    e.webhook AS testOf, w.number AS webhook, w.id AS webhookId, w.organization, o.id AS organizationId, o.name AS organizationName, w.url, w.description, w.secret, w.old_secret AS oldSecret,
    w.old_secret_until AS oldSecretUntil, w.failing_since AS failingSince, w.is_slow AS isSlow
  FROM webhook_deliveries d JOIN webhooks w ON w.number = d.webhook JOIN events e ON e.seq = d.event
    LEFT JOIN organizations o ON o.number = w.organization
  WHERE w.deleted_at IS NULL`;

export function findClaimed(
  database: DatabaseReader,
  numbers: readonly number[],
): Promise<LeasedDelivery[]> {
  return database.read(
    sql`${leased} AND d.number IN (SELECT value FROM json_each(${JSON.stringify(numbers)}))`,
  );
}

export function findLeasedTest(database: DatabaseReader, id: string): Promise<LeasedDelivery | undefined> {
  return database.readFirst(sql`${leased} AND d.id = ${id} AND d.is_leased = 1 AND e.webhook IS NOT NULL`);
}

/** Writes the delivery of a test, leased for the one attempt that follows. */
export function insertTestDelivery(
  { id, eventId }: { id: string; eventId: string },
  { now, leasedUntil }: { now: number; leasedUntil: number },
): Statement {
  return sql`INSERT INTO webhook_deliveries (id, webhook, event, type, status, due_at, is_leased, created_at)
    SELECT ${id}, webhook, seq, type, 'waiting', ${leasedUntil}, 1, ${now} FROM events WHERE id = ${eventId}`;
}

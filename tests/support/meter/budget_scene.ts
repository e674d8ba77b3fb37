// One organization that takes the steps of tests/model/budgets.qnt over the API, and is compared with the model after each.
import assert from "node:assert/strict";
import { createTestKey, type TestApp } from "../app/app.ts";
import { doWork } from "./background_work.ts";
import { senderOf } from "../operators/operator_api.ts";
import { grantVoids, newOperatorToken } from "../operators/operators.ts";
import type { TraceStep } from "../runner/quint.ts";

/** A tick of the model. */
const tickMs = 6 * 3_600_000;
const tick0 = Date.UTC(2026, 10, 30);
const never = 1_000_000;
const usage = { productSlug: "models", metric: "tokens" };
const limitPeriods = ["total", "month"] as const;

type Send = ReturnType<typeof senderOf>;
type Per = typeof limitPeriods[number];

interface Standing {
  readonly quantity: number;
  readonly used: number;
  readonly held: number;
  readonly remaining: number;
}

/** The variables of the model. */
export interface BudgetState {
  readonly s: {
    readonly features: readonly string[];
    readonly now: number;
    readonly limits: Readonly<Record<Per, { own: number; mode: string }>>;
    readonly used: Readonly<Record<string, number>>;
    readonly grants: readonly {
      readonly quantity: number;
      readonly used: number;
      readonly endsAt: number;
      /** The refill that gave it, or -1. */
      readonly refill: number;
      readonly isVoided: boolean;
    }[];
    readonly records: readonly { readonly hold: number; readonly quantity: number }[];
    readonly holds: readonly {
      readonly expiresAt: number;
      readonly onExpiry: string;
      readonly status: string;
    }[];
  };
  readonly last: { readonly is: string; readonly beyondTotal: number; readonly beyondMonth: number };
  readonly shown: Readonly<Record<Per, Standing>>;
}

/** Has the choices of the model in a step. Each action makes some of them. */
interface Picks {
  readonly quantity: number;
  readonly ago: number | null;
  readonly ticks: number;
  readonly onExpiry: string;
  readonly which: number;
  readonly settled: number;
  readonly limit: Per;
  readonly lasts: number;
  readonly every: string;
  readonly rollover: number;
}

/** Where the steps are taken. */
export interface BudgetProgram extends Pick<TestApp, "now" | "advance" | "send"> {
  /** Does background work until there is no more of it. */
  work(name: string): Promise<void>;
}

type Action = (scene: BudgetScene, picks: Picks, after: BudgetState) => Promise<void>;

/** Is a grant as the API returns it. */
interface ListedGrant {
  readonly refillId?: string | null;
  readonly used: number;
  readonly remaining: number;
  readonly status: string;
  readonly startsAt?: string;
  readonly expiresAt: string | null;
  readonly voidedAt: string | null;
}

/** False for the future grants of a refill, which the model doesn't have, also if they were voided. */
function hasStarted({ status, startsAt, voidedAt }: ListedGrant): boolean {
  return status !== "scheduled" && !(startsAt !== undefined && voidedAt !== null && voidedAt < startsAt);
}

export class BudgetScene {
  /** Ids in the order of the model's lists. Grants of refills are not in it. */
  readonly records: string[] = [];
  readonly grants: Record<number, string> = {};
  readonly refills: string[] = [];
  readonly holds: string[] = [];
  limitIds: Readonly<Record<string, string>> = {};
  /** The number of holds when the limits were last changed. */
  holdsBeforeChange = 0;
  #names = 0;

  private constructor(
    readonly test: BudgetProgram,
    readonly apiKey: string,
    /** Below the path of the organization. */
    readonly operator: Send,
    readonly customer: Send,
    readonly product: Send,
  ) {}

  /**
   * Creates an organization at the model's first tick, with the limits of its first state.
   *
   * @param test Where it is created.
   * @param program Where the steps are taken.
   */
  static async create(
    test: TestApp,
    first: BudgetState,
    program: BudgetProgram = { ...test, work: (name) => doWork(test, name) },
  ): Promise<BudgetScene> {
    test.advance(tick0 - test.now());
    program.advance(tick0 - program.now());
    const { organizationId, ...person } = await test.signUp();
    const { fullKey } = await createTestKey(test, { organizationId, ...person });
    await test.opened.database.write([grantVoids]);
    const { fullToken } = await newOperatorToken(test);
    const scene = new BudgetScene(
      program,
      fullKey,
      senderOf(program, { path: `/api/operator/organizations/${organizationId}`, apiKey: fullToken }),
      senderOf(program, { path: "/api/v1", apiKey: fullKey }),
      senderOf(program, { path: "/api/v1", apiKey: fullToken }),
    );
    await scene.setLimits(first);
    return scene;
  }

  /** Takes a step, and compares what the program says with the model. */
  async take({ action, picks, state }: TraceStep<BudgetState>): Promise<void> {
    const act = actions[action];
    if (act === undefined) throw new Error(`the replay doesn't know ${action}`);
    await act(this, picks as unknown as Picks, state);
    this.test.advance(tick0 + state.s.now * tickMs - this.test.now());
    if (this.refills.length > 0) await this.test.work("turns of refills");
    await this.test.work("counters");
    await this.#compareGrants(state);
    await this.#compareLimits(state);
    await this.#compareHolds(state);
  }

  async #compareLimits({ s, shown }: BudgetState): Promise<void> {
    const { limits } = await ok(this.customer("GET /limits"));
    for (const per of limitPeriods) {
      const { quantity, used, held = 0, remaining } = limits.find((limit: { per: Per }) => limit.per === per);
      assert.deepEqual({ quantity, used, held, remaining }, shown[per], `limit in ${per} at ${s.now}`);
    }
  }

  async #compareGrants({ s }: BudgetState): Promise<void> {
    const { grants } = await ok(this.operator("GET /grants?limit=100"));
    const actual = (grants as ListedGrant[]).filter(hasStarted).map((
      { expiresAt, used, remaining },
    ) => ({
      endsAt: expiresAt === null ? never : (Date.parse(expiresAt) - tick0) / tickMs,
      used,
      remaining,
    }));
    const expected = s.grants.map(({ quantity, used, endsAt, isVoided }) => ({
      endsAt,
      used,
      remaining: isVoided || endsAt <= s.now ? 0 : quantity - used,
    }));
    const sorted = (list: typeof actual) => list.map((one) => JSON.stringify(one)).sort();
    assert.deepEqual(sorted(actual), sorted(expected), "grants");
  }

  async #compareHolds({ s }: BudgetState): Promise<void> {
    for (const [at, { expiresAt, onExpiry, status }] of s.holds.entries()) {
      const response = await this.customer(`GET /holds/${this.holds[at]}`);
      // Holds are deleted some days after they ended.
      if (response.status === 404) continue;
      const isExpired = status === "active" && onExpiry === "release" && expiresAt <= s.now;
      assert.equal(response.body.hold.status, isExpired ? "expired" : status, `hold ${at}`);
    }
  }

  /** Compares the sum of all records with the model. */
  async compareSum({ s }: BudgetState): Promise<void> {
    const { data } = await ok(this.customer("GET /usage?from=2026-11-01&to=2027-07-01&window=total"));
    assert.equal(data[0]?.sum ?? 0, s.used["-1"], "sum of records");
  }

  async setLimits({ s }: BudgetState): Promise<void> {
    const limits = limitPeriods.map((per) => {
      const { own: quantity, mode } = s.limits[per];
      return { ...usage, per, quantity, mode };
    });
    const { organization } = await ok(this.operator("PATCH ", { overrides: { limits } }));
    const own: { per: Per; id: string }[] = organization.overrides.limits;
    this.holdsBeforeChange = this.holds.length;
    this.limitIds = Object.fromEntries(own.map(({ per, id }) => [per, id]));
  }

  /** @returns The id of a grant that a refill gave. */
  async refillGrant(grant: BudgetState["s"]["grants"][number] | undefined): Promise<string | undefined> {
    const { grants } = await ok(this.operator("GET /grants?limit=100"));
    const expiresAt = new Date(tick0 + (grant?.endsAt ?? 0) * tickMs).toISOString();
    return grants.find((one: ListedGrant) =>
      one.refillId === this.refills[grant?.refill ?? -1] && one.expiresAt === expiresAt
    )?.id;
  }

  /** @returns The id of the record of a hold that has expired; of one that isn't kept any longer, a new one with the quantity. */
  async recordOfHold(id: string, quantity: number): Promise<string> {
    const { status, body } = await this.customer(`GET /holds/${id}`);
    if (status !== 404) return body.hold.usageRecordIds[0];
    const range = "from=2026-11-01&to=2028-01-01&limit=100";
    const { usageRecords } = await ok(this.customer(`GET /usage/records?${range}`));
    const found: { id: string; quantity: number }[] = usageRecords;
    const record = found.find((one) => one.quantity === quantity && !this.records.includes(one.id));
    assert.ok(record, "an expired hold was not recorded");
    return record.id;
  }

  /** @returns A text that no other request has. */
  name(): string {
    return `name-${++this.#names}`;
  }

  iso(ticks: number): string {
    return new Date(this.test.now() + ticks * tickMs).toISOString();
  }
}

// deno-lint-ignore no-explicit-any
async function ok(sent: ReturnType<Send>): Promise<any> {
  const { status, body } = await sent;
  assert.ok(status < 300, `${status} ${JSON.stringify(body)}`);
  return body;
}

/** @returns The body, or null if the program rejects the request for a limit, as the model does. */
async function admitted(sent: ReturnType<Send>, { last }: BudgetState) {
  const { status, body } = await sent;
  const isAdmitted = last.is === "admitted";
  // The response to a request that was sent again because the program died.
  const isRepeat = status === 200 && body.duplicate === true;
  assert.ok(isAdmitted ? status === 201 || isRepeat : status === 429, JSON.stringify(body));
  if (!isAdmitted) assert.equal(body.error.code, "limit_exceeded");
  return isAdmitted ? body : null;
}

const expiresIn = (ticks: number) => ticks * tickMs / 1_000;
const step = () => Promise.resolve();

/** The model's actions. */
const actions: Readonly<Record<string, Action>> = {
  async record(scene, { quantity, ago }, after) {
    const late = ago === null ? {} : { timestamp: scene.iso(-ago) };
    const body = await admitted(
      scene.customer("POST /usage", {
        ...usage,
        quantity,
        ...late,
        idempotencyKey: scene.name(),
      }),
      after,
    );
    if (body !== null) scene.records.push(body.usageRecord.id);
  },

  async ask(scene, { quantity }, { last }) {
    const idempotencyKey = scene.name();
    const question = { ...usage, quantity, record: true, idempotencyKey };
    const { code } = await ok(scene.product("POST /keys/verify", { key: scene.apiKey, usage: question }));
    const isAdmitted = last.is === "admitted";
    assert.equal(code, isAdmitted ? "VALID" : "USAGE_EXCEEDED");
    const { usageRecords } = await ok(
      scene.customer(`GET /usage/records?idempotencyKey=${idempotencyKey}`),
    );
    assert.equal(usageRecords.length, isAdmitted ? 1 : 0);
    if (isAdmitted) scene.records.push(usageRecords[0].id);
  },

  async hold(scene, { quantity, ticks, onExpiry }, after) {
    const json = {
      records: [{ ...usage, quantity }],
      expiresIn: expiresIn(ticks),
      onExpiry,
      idempotencyKey: scene.name(),
    };
    const body = await admitted(scene.customer("POST /holds", json), after);
    if (body !== null) scene.holds.push(body.hold.id);
  },

  async settle(scene, { which, settled }, { last }) {
    const json = { records: [{ ...usage, quantity: settled }] };
    const settle = () => scene.customer(`POST /holds/${scene.holds[which]}/settle`, json);
    const { usageRecords, beyond } = await ok(settle());
    scene.records.push(usageRecords[0].id);
    const reported: { limitId: string; quantity: number }[] = beyond;
    for (const [per, most] of [["total", last.beyondTotal], ["month", last.beyondMonth]] as const) {
      const quantity = reported.find(({ limitId }) => limitId === scene.limitIds[per])?.quantity ?? 0;
      // A settlement doesn't wait for the counter of a limit that was changed, and then doesn't name it.
      if (quantity > 0 || which >= scene.holdsBeforeChange) assert.equal(quantity, most, `beyond ${per}`);
    }
    const { status, body } = await settle();
    assert.deepEqual([status, body.usageRecords[0].id], [200, usageRecords[0].id]);
  },

  async release(scene, { which }) {
    for (let again = 0; again < 2; again++) {
      await ok(scene.customer(`POST /holds/${scene.holds[which]}/release`));
    }
  },

  async extend(scene, { which, ticks }) {
    await ok(scene.customer(`POST /holds/${scene.holds[which]}/extend`, { expiresIn: expiresIn(ticks) }));
  },

  async endAgain(scene, { which }) {
    const json = { records: [{ ...usage, quantity: 77 }] };
    const { status, body } = await scene.customer(`POST /holds/${scene.holds[which]}/settle`, json);
    assert.deepEqual([status, body.error?.code], [409, "hold_ended"]);
  },

  async recordDue(scene, _picks, { s }) {
    await scene.test.work("expired holds");
    for (const { hold, quantity } of s.records.slice(scene.records.length)) {
      scene.records.push(await scene.recordOfHold(scene.holds[hold] ?? "", quantity));
    }
  },

  async voidRecord(scene, { which }) {
    await ok(scene.customer(`POST /usage/records/${scene.records[which]}/void`, { reason: "Sent twice." }));
  },

  async grant(scene, { limit, quantity, lasts }, { s }) {
    const { grant } = await ok(scene.operator("POST /grants", {
      limitId: scene.limitIds[limit],
      quantity,
      ...(lasts < never && { expiresAt: scene.iso(lasts) }),
      reason: "Paid.",
      idempotencyKey: scene.name(),
    }));
    scene.grants[s.grants.length - 1] = grant.id;
  },

  async voidGrant(scene, { which }, { s }) {
    const id = scene.grants[which] ?? await scene.refillGrant(s.grants[which]);
    await ok(scene.operator(`POST /grants/${id}/void`, { reason: "Refunded." }));
  },

  async refill(scene, { limit, quantity, every, rollover }) {
    const { grant: { refillId } } = await ok(scene.operator("POST /grants", {
      limitId: scene.limitIds[limit],
      quantity,
      every,
      rollover,
      reason: "Included.",
      idempotencyKey: scene.name(),
    }));
    scene.refills.push(refillId);
  },

  async voidRefill(scene, { which }) {
    await ok(scene.operator(`POST /refills/${scene.refills[which]}/void`, { reason: "Ended." }));
  },

  changeLimit: (scene, _picks, after) => scene.setLimits(after),
  advance: step,
  turnMonth: step,
};

// The recorder's queue: every request leaves it exactly once, bounds are kept, and organizations take turns.
import assert from "node:assert/strict";
import { FairQueue, type QueueLimits } from "../../../services/meter/fair_queue.ts";
import { holds } from "../../domain/properties.ts";
import fc from "../../support/fast_check.ts";

interface TestRequest {
  readonly organizationId: string;
  readonly inputs: readonly { readonly idempotencyKey: string | null }[];
  readonly bytes: number;
  /** Order of arrival. */
  readonly arrival: number;
}

const bounds: QueueLimits = {
  total: { records: 40, bytes: 400 },
  share: { records: 20, bytes: 200 },
  quantum: { records: 4, bytes: 40 },
  group: { records: 10, bytes: 100 },
};
const records = (requests: readonly TestRequest[]) =>
  requests.reduce((sum, { inputs }) => sum + inputs.length, 0);
const bytes = (requests: readonly TestRequest[]) => requests.reduce((sum, request) => sum + request.bytes, 0);
const of = (organizationId: string, requests: readonly TestRequest[]) =>
  requests.filter((request) => request.organizationId === organizationId);
const keysOf = ({ inputs }: TestRequest) =>
  inputs.flatMap(({ idempotencyKey }) => idempotencyKey === null ? [] : [idempotencyKey]);
const collide = (one: TestRequest, other: TestRequest) =>
  one !== other && one.organizationId === other.organizationId &&
  keysOf(one).some((key) => keysOf(other).includes(key));

const request = fc.record({
  organizationId: fc.constantFrom("a", "b", "c", "d", "e"),
  inputs: fc.array(
    fc.record({ idempotencyKey: fc.option(fc.constantFrom("1", "2", "3"), { freq: 2 }) }),
    { minLength: 1, maxLength: 4 },
  ),
  bytes: fc.integer({ min: 1, max: 40 }),
});
/** Requests that arrive, and groups that are taken. */
const history = fc.array(fc.oneof({ arbitrary: request, weight: 8 }, fc.constant("take" as const)), {
  maxLength: 120,
  // Long enough to fill the queue.
  size: "max",
});

/** A queue beside a plain list of what should wait in it. */
class Observed {
  readonly queue = new FairQueue<TestRequest>(bounds);
  waiting: TestRequest[] = [];
  #arrivals = 0;

  add(given: Omit<TestRequest, "arrival">): { added: TestRequest; evicted: readonly TestRequest[] } {
    const added = { ...given, arrival: this.#arrivals++ };
    const evicted = this.queue.add(added);
    this.waiting.push(added);
    this.#remove(evicted);
    return { added, evicted };
  }

  take(): TestRequest[] {
    const group = this.queue.take();
    this.#remove(group);
    return group;
  }

  #remove(requests: readonly TestRequest[]): void {
    assert.equal(new Set(requests).size, requests.length, "twice");
    for (const one of requests) assert(this.waiting.includes(one), "it had left the queue already");
    this.waiting = this.waiting.filter((one) => !requests.includes(one));
    assert.equal(this.queue.records, records(this.waiting));
    assert.equal(this.queue.isEmpty, this.waiting.length === 0);
  }
}

function replay(steps: readonly (Omit<TestRequest, "arrival"> | "take")[], checks: {
  onAdd?: (observed: Observed, result: ReturnType<Observed["add"]>, before: readonly TestRequest[]) => void;
  onTake?: (group: readonly TestRequest[], before: readonly TestRequest[]) => void;
}): Observed {
  const observed = new Observed();
  for (const step of steps) {
    const before = observed.waiting;
    if (step === "take") {
      const group = observed.take();
      checks.onTake?.(group, before);
    } else {
      const result = observed.add(step);
      checks.onAdd?.(observed, result, before);
    }
  }
  return observed;
}

Deno.test("FairQueue: every request is taken or turned away, exactly once", () => {
  holds(history, (steps) => {
    const observed = replay(steps, {});
    for (let groups = 0; !observed.queue.isEmpty; groups++) {
      assert(groups <= steps.length, "a group is empty although requests wait");
      observed.take();
    }
    assert.deepEqual(observed.waiting, []);
    assert.deepEqual(observed.queue.take(), []);
  });
});

Deno.test("FairQueue: clear() returns everything that waits", () => {
  holds(history, (steps) => {
    const observed = replay(steps, {});
    const cleared = observed.queue.clear();
    assert.deepEqual(new Set(cleared), new Set(observed.waiting));
    assert.equal(cleared.length, observed.waiting.length);
    assert.equal(observed.queue.records, 0);
    assert(observed.queue.isEmpty);
  });
});

Deno.test("FairQueue: neither the queue nor a share exceeds its bounds", () => {
  holds(history, (steps) => {
    replay(steps, {
      onAdd({ waiting }, { added }) {
        assert(records(waiting) <= bounds.total.records && bytes(waiting) <= bounds.total.bytes);
        const share = of(added.organizationId, waiting);
        assert(records(share) <= bounds.share.records && bytes(share) <= bounds.share.bytes);
      },
    });
  });
});

Deno.test("FairQueue: an organization with less than an equal part of the queue is never turned away", () => {
  holds(history, (steps) => {
    replay(steps, {
      onAdd(_, { added, evicted }, before) {
        const all = [...before, added];
        const organizations = new Set(all.map(({ organizationId }) => organizationId));
        for (const { organizationId } of evicted) {
          const share = of(organizationId, all);
          const hasEqualPart = records(share) > bounds.total.records / organizations.size ||
            bytes(share) > bounds.total.bytes / organizations.size;
          assert(hasEqualPart, `${organizationId} had ${records(share)} records and ${bytes(share)} bytes`);
        }
      },
    });
  });
});

Deno.test("FairQueue: a group keeps its bounds and has no idempotency key of an organization twice", () => {
  holds(history, (steps) => {
    replay(steps, {
      onTake(group, before) {
        assert.equal(group.length > 0, before.length > 0);
        assert(records(group) <= bounds.group.records && bytes(group) <= bounds.group.bytes);
        for (const one of group) assert(!group.some((other) => collide(one, other)));
        // The group goes as far as it can: of what could still be in it, something does not fit.
        const possible = before.filter((one) =>
          !group.includes(one) && !group.some((other) => collide(one, other))
        );
        const fits = ({ inputs, bytes: size }: TestRequest) =>
          records(group) + inputs.length <= bounds.group.records && bytes(group) + size <= bounds.group.bytes;
        assert(possible.length === 0 || !possible.every(fits));
      },
    });
  });
});

Deno.test("FairQueue: within an organization only a collision lets a later request go first", () => {
  holds(history, (steps) => {
    replay(steps, {
      onTake(group, before) {
        for (const taken of group) {
          const overtaken = of(taken.organizationId, before).filter((one) =>
            one.arrival < taken.arrival && !group.includes(one)
          );
          for (const one of overtaken) {
            assert(group.some((other) => other.arrival < one.arrival && collide(one, other)));
          }
        }
        // One organization's requests are in the group in order of arrival.
        for (const { organizationId } of group) {
          const arrivals = of(organizationId, group).map(({ arrival }) => arrival);
          assert.deepEqual(arrivals, arrivals.toSorted((a, b) => a - b));
        }
      },
    });
  });
});

Deno.test("FairQueue: each of many organizations has its turn before any has a second one", () => {
  // A turn is over by records, or by bytes.
  const sizes = [{ inputs: Array(4).fill({ idempotencyKey: null }), bytes: 1 }, {
    inputs: [{ idempotencyKey: null }],
    bytes: 40,
  }];
  const arrivalsOfTurns = fc.shuffledSubarray([..."abcde", ..."aaa", ..."b"], { minLength: 1 });
  holds(fc.tuple(arrivalsOfTurns, fc.constantFrom(...sizes)), ([arrivals, size]) => {
    const observed = new Observed();
    for (const organizationId of arrivals) observed.add({ organizationId, ...size });
    const turns: string[] = [];
    while (!observed.queue.isEmpty) {
      turns.push(...observed.take().map(({ organizationId }) => organizationId));
    }
    // Round n has each organization that has n requests or more, in the order of their first requests.
    const count = (organizationId: string) => arrivals.filter((one) => one === organizationId).length;
    const organizations = [...new Set(arrivals)];
    const rounds = Array.from(
      { length: arrivals.length },
      (_, round) => organizations.filter((one) => count(one) > round),
    );
    assert.deepEqual(turns, rounds.flat());
  });
});

Deno.test("FairQueue: a flood of requests that share an idempotency key delays only its own organization", () => {
  const observed = new Observed();
  const flood = { organizationId: "a", inputs: [{ idempotencyKey: "same" }], bytes: 1 };
  for (let n = 0; n < 10; n++) observed.add(flood);
  for (let n = 0; n < 3; n++) {
    observed.add({ organizationId: "b", inputs: [{ idempotencyKey: "same" }], bytes: 1 });
  }
  const { added: unrelated } = observed.add({ ...flood, inputs: [{ idempotencyKey: null }] });
  const [first, second] = [observed.take(), observed.take()];
  assert.deepEqual(first.map(({ organizationId }) => organizationId).toSorted(), ["a", "a", "b"]);
  assert(first.includes(unrelated), "the organization's other requests are not held up");
  assert.deepEqual(second.map(({ organizationId }) => organizationId).toSorted(), ["a", "b"]);
});

// The recorder's queue: every request leaves it exactly once, it keeps its limits, and it serves organizations by round robin.
import assert from "node:assert/strict";
import { FairQueue, type QueueLimits } from "../../../services/meter/fair_queue.ts";
import { holds } from "../../domain/properties.ts";
import fc from "../../support/runner/fast_check.ts";

interface TestRequest {
  readonly organizationId: string;
  readonly keyHash: string;
  readonly target: string;
  readonly inputs: readonly { readonly idempotencyKey: string | null }[];
  readonly bytes: number;
  /** Order of arrival. */
  readonly arrival: number;
}

const limits: QueueLimits = {
  total: { records: 40, bytes: 400 },
  organization: { records: 20, bytes: 200 },
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
  (keysOf(one).some((key) => keysOf(other).includes(key)) ||
    (one.keyHash === other.keyHash && one.target !== other.target));
/** Whose requests share no group only because of idempotency keys. */
const plain = { keyHash: "key", target: "key" };

const request = fc.record({
  organizationId: fc.constantFrom("a", "b", "c", "d", "e"),
  keyHash: fc.constantFrom("key", "other"),
  target: fc.option(fc.constant("verified"), { nil: "key", freq: 4 }),
  inputs: fc.array(
    fc.record({ idempotencyKey: fc.option(fc.constantFrom("1", "2", "3"), { freq: 2 }) }),
    { minLength: 1, maxLength: 4 },
  ),
  bytes: fc.integer({ min: 1, max: 40 }),
});
/** Arriving requests, and groups being taken. */
const history = fc.array(fc.oneof({ arbitrary: request, weight: 8 }, fc.constant("take" as const)), {
  maxLength: 120,
  // Long enough to fill the queue.
  size: "max",
});

/** A queue and a plain list of what should be in it. */
class Observed {
  readonly queue = new FairQueue<TestRequest>(limits);
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
    for (const one of requests) assert(this.waiting.includes(one), "it is no longer in the queue");
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

Deno.test("FairQueue takes or evicts every request exactly once", () => {
  holds(history, (steps) => {
    const observed = replay(steps, {});
    for (let groups = 0; !observed.queue.isEmpty; groups++) {
      assert(groups <= steps.length, "a group is empty although requests are queued");
      observed.take();
    }
    assert.deepEqual(observed.waiting, []);
    assert.deepEqual(observed.queue.take(), []);
  });
});

Deno.test("FairQueue.clear() returns all queued requests", () => {
  holds(history, (steps) => {
    const observed = replay(steps, {});
    const cleared = observed.queue.clear();
    assert.deepEqual(new Set(cleared), new Set(observed.waiting));
    assert.equal(cleared.length, observed.waiting.length);
    assert.equal(observed.queue.records, 0);
    assert(observed.queue.isEmpty);
  });
});

Deno.test("FairQueue and its shares stay within their limits", () => {
  holds(history, (steps) => {
    replay(steps, {
      onAdd({ waiting }, { added }) {
        assert(records(waiting) <= limits.total.records && bytes(waiting) <= limits.total.bytes);
        const share = of(added.organizationId, waiting);
        assert(records(share) <= limits.organization.records && bytes(share) <= limits.organization.bytes);
      },
    });
  });
});

Deno.test("FairQueue never evicts an organization with less than an equal part of the queue", () => {
  holds(history, (steps) => {
    replay(steps, {
      onAdd(_, { added, evicted }, before) {
        const all = [...before, added];
        const organizations = new Set(all.map(({ organizationId }) => organizationId));
        for (const { organizationId } of evicted) {
          const share = of(organizationId, all);
          const hasEqualPart = records(share) > limits.total.records / organizations.size ||
            bytes(share) > limits.total.bytes / organizations.size;
          assert(hasEqualPart, `${organizationId} had ${records(share)} records and ${bytes(share)} bytes`);
        }
      },
    });
  });
});

Deno.test("FairQueue takes groups within their limits, without an idempotency key or two targets of an API key twice per organization", () => {
  holds(history, (steps) => {
    replay(steps, {
      onTake(group, before) {
        assert.equal(group.length > 0, before.length > 0);
        assert(records(group) <= limits.group.records && bytes(group) <= limits.group.bytes);
        for (const one of group) assert(!group.some((other) => collide(one, other)));
        // The group is as large as possible: not all remaining requests would fit.
        const possible = before.filter((one) =>
          !group.includes(one) && !group.some((other) => collide(one, other))
        );
        const fits = ({ inputs, bytes: size }: TestRequest) =>
          records(group) + inputs.length <= limits.group.records && bytes(group) + size <= limits.group.bytes;
        assert(possible.length === 0 || !possible.every(fits));
      },
    });
  });
});

Deno.test("FairQueue keeps the order within an organization except after a collision", () => {
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

Deno.test("FairQueue serves every organization once before it serves one again", () => {
  // Each uses up a quantum, by records or by bytes.
  const sizes = [{ inputs: Array(4).fill({ idempotencyKey: null }), bytes: 1 }, {
    inputs: [{ idempotencyKey: null }],
    bytes: 40,
  }];
  const arrivalOrders = fc.shuffledSubarray([..."abcde", ..."aaa", ..."b"], { minLength: 1 });
  holds(fc.tuple(arrivalOrders, fc.constantFrom(...sizes)), ([arrivals, size]) => {
    const observed = new Observed();
    for (const organizationId of arrivals) observed.add({ ...plain, organizationId, ...size });
    const served: string[] = [];
    while (!observed.queue.isEmpty) {
      served.push(...observed.take().map(({ organizationId }) => organizationId));
    }
    // Round n has each organization that has n requests or more, in the order of their first requests.
    const count = (organizationId: string) => arrivals.filter((one) => one === organizationId).length;
    const organizations = [...new Set(arrivals)];
    const rounds = Array.from(
      { length: arrivals.length },
      (_, round) => organizations.filter((one) => count(one) > round),
    );
    assert.deepEqual(served, rounds.flat());
  });
});

Deno.test("FairQueue delays only the organization that floods it with one idempotency key", () => {
  const observed = new Observed();
  const flood = { ...plain, organizationId: "a", inputs: [{ idempotencyKey: "same" }], bytes: 1 };
  for (let n = 0; n < 10; n++) observed.add(flood);
  for (let n = 0; n < 3; n++) {
    observed.add({ ...plain, organizationId: "b", inputs: [{ idempotencyKey: "same" }], bytes: 1 });
  }
  const { added: unrelated } = observed.add({ ...flood, inputs: [{ idempotencyKey: null }] });
  const [first, second] = [observed.take(), observed.take()];
  assert.deepEqual(first.map(({ organizationId }) => organizationId).toSorted(), ["a", "a", "b"]);
  assert(first.includes(unrelated), "the organization's other requests are not delayed");
  assert.deepEqual(second.map(({ organizationId }) => organizationId).toSorted(), ["a", "b"]);
});

/** Each is as large as a quantum. */
const large = { ...plain, inputs: Array(4).fill({ idempotencyKey: null }), bytes: 1 };

Deno.test("FairQueue returns requests to the front of their organization's queue", () => {
  const { queue } = new Observed();
  const add = (organizationId: string, arrival: number) => queue.add({ ...large, organizationId, arrival });
  for (const arrival of [1, 2, 3, 4]) add("a", arrival);
  add("b", 5);
  const taken = queue.take();
  assert.deepEqual(taken.map(({ arrival }) => arrival), [1, 5]);
  queue.putBack(taken);
  const order = [];
  while (!queue.isEmpty) order.push(...queue.take().map(({ arrival }) => arrival));
  assert.deepEqual(order.filter((arrival) => arrival !== 5), [1, 2, 3, 4]);
});

Deno.test("FairQueue serves everyone although the requests of other organizations are always returned", () => {
  const { queue } = new Observed();
  // More than fit into a group.
  for (const organizationId of ["a", "b", "c"]) queue.add({ ...large, organizationId, arrival: 0 });
  queue.add({ ...large, organizationId: "d", arrival: 1 });
  for (let groups = 0;; groups++) {
    assert(groups < 2, "it is not served");
    const group = queue.take();
    if (group.some(({ organizationId }) => organizationId === "d")) break;
    queue.putBack(group);
  }
});

Deno.test("FairQueue takes nothing of an organization that is held", () => {
  const { queue } = new Observed();
  queue.hold("a");
  for (const organizationId of ["a", "b"]) queue.add({ ...large, organizationId, arrival: 0 });
  assert.deepEqual(queue.take().map(({ organizationId }) => organizationId), ["b"]);
  assert.deepEqual([queue.canTake, queue.isEmpty, queue.take()], [false, false, []]);
  queue.release("a");
  assert(queue.canTake);
  assert.deepEqual(queue.take().map(({ organizationId }) => organizationId), ["a"]);
});

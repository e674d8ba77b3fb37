// Lines of the list of keys: which keys are one, their parts, orders and search.
import assert from "node:assert/strict";
import {
  isInState,
  isWithoutRequests,
  type KeyOrder,
  type KeyState,
  type ListedKey,
  matches,
  sortLines,
  toLines,
} from "../../../domain/keys/key_list.ts";
import type { KeyUsage } from "../../../domain/meter/key_usage.ts";
import { keyPrefixIn, searchTextOf } from "../../../domain/search.ts";

const dayMs = 86_400_000;
const now = 200 * dayMs;

function key(number: number, more: Partial<ListedKey> = {}): ListedKey {
  return {
    id: `key_${number}`,
    number,
    lineage: number,
    name: `Key ${number}`,
    keyPrefix: `service_live_${number}bcdefgh…`,
    environment: "live",
    createdAt: now - 100 * dayMs,
    addedAt: more.createdAt ?? now - 100 * dayMs,
    lastUsedAt: null,
    endsAt: null,
    ...more,
  };
}

const idsOf = (lines: ReturnType<typeof toLines>) => lines.map(({ current }) => current.id);

Deno.test("a key and those that it replaced are one line, with the newest active key", () => {
  const active = [key(3, { lineage: 1 }), key(2, { lineage: 1, endsAt: now + dayMs, lastUsedAt: now - 5 })];
  const ended = [key(4, { lineage: 1, endsAt: now - 1, lastUsedAt: now - 2 }), key(1, { endsAt: now - 9 })];
  for (const keys of [active, active.toReversed()]) {
    const [line, ...more] = toLines(keys, ended);
    assert.deepEqual(more, []);
    assert.equal(line?.current.id, "key_3");
    assert.equal(line.isActive, true);
    assert.equal(line.lastUsedAt, now - 2);
    assert.equal(line.oldKeyEndsAt, now + dayMs);
  }
  const [line] = toLines([], [...ended, ...active]);
  assert.equal(line?.current.id, "key_4");
  assert.deepEqual([line.isActive, line.oldKeyEndsAt], [false, null]);
});

Deno.test("expiring keys are active and expire within 14 days", () => {
  const lines = toLines(
    [key(1), key(2, { endsAt: now + 14 * dayMs }), key(3, { endsAt: now + 14 * dayMs - 1 })],
    [key(4, { endsAt: now - 1 })],
  );
  const inState = (state: KeyState) => idsOf(lines.filter((line) => isInState(line, state, now)));
  assert.deepEqual(inState("active"), ["key_1", "key_2", "key_3"]);
  assert.deepEqual(inState("expiring"), ["key_3"]);
  assert.deepEqual(inState("inactive"), ["key_4"]);
});

Deno.test("unused keys are active, and neither used, created nor imported in the last 90 days", () => {
  const long = now - 90 * dayMs - 1;
  const lines = toLines(
    [
      key(1, { createdAt: long, lastUsedAt: long }),
      key(2, { createdAt: long }),
      key(3, { createdAt: long, lastUsedAt: long + 1 }),
      key(4, { createdAt: long + 1 }),
      key(5, { createdAt: long }),
      key(10, { createdAt: long, addedAt: long + 1 }),
      // Replaced a key that was last used long ago.
      key(9, { createdAt: long + 1, lineage: 8 }),
    ],
    [
      key(6, { createdAt: long, endsAt: now }),
      key(7, { lineage: 5, lastUsedAt: now - dayMs, endsAt: now }),
      key(8, { createdAt: long, lastUsedAt: long, endsAt: now }),
    ],
  );
  assert.deepEqual(idsOf(lines.filter((line) => isWithoutRequests(line, now))), ["key_1", "key_2"]);
});

Deno.test("the search finds names and prefixes in upper or lower case, and a pasted key by its prefix", () => {
  const lines = toLines([key(1, { name: "Größe ＥＵ" }), key(2, { name: "größer" }), key(3)], []);
  const found = (search: string) => idsOf(lines.filter(matches(searchTextOf(search))));
  assert.deepEqual(found(" GRÖSSE "), []);
  assert.deepEqual(found("GRÖßE"), ["key_1", "key_2"]);
  assert.deepEqual(found("eu"), ["key_1"]);
  assert.deepEqual(found("3BCD"), ["key_3"]);
  assert.deepEqual(found("service_live_2bcdefghTHE-REST-IS-SECRET"), ["key_2"]);
  for (
    const pasted of ["service_live_2bcdefghSECRET", "Bearer service_live_2bcdefgh…", "service_live_2bcdefgh"]
  ) {
    assert.equal(searchTextOf(pasted), "service_live_2bcdefgh");
  }
  for (const pasted of [`2bcdefgh${"S".repeat(30)}`, "2bcdefgh…", " 2bcdefgh"]) {
    assert.equal(searchTextOf(pasted), "2bcdefgh");
  }
  assert.equal(searchTextOf("service_operator_2bcdefghSECRET"), "service_operator_2bcdefgh");
  assert.equal(searchTextOf("Bearer acme_test_2bcdefghSECRET"), "acme_test_2bcdefgh");
  const externalId = "0199d3c1a2b47c6e8f00112233445566";
  assert.equal(searchTextOf(externalId), externalId);
  assert.deepEqual(
    ["abc", "abcd", "service_live_abcd", "acme_test_abcd", "abcdefghi", "ab%d"].map(keyPrefixIn),
    [
      null,
      "abcd",
      "abcd",
      "abcd",
      null,
      null,
    ],
  );
  assert.deepEqual(found(""), ["key_1", "key_2", "key_3"]);
});

Deno.test("lines are sorted by each order, and the newest first where they are equal", () => {
  const lines = toLines([
    key(1, { name: "Key 10", lastUsedAt: now - 1, endsAt: now + 2 }),
    key(2, { name: "key 2", lastUsedAt: now - 2, endsAt: now + 1 }),
    key(3, { name: "Key 10" }),
    key(4, { name: "A" }),
  ], []);
  const of = (metric: string, whole: number, records: number): KeyUsage => ({
    metric: { slug: metric, name: metric, unit: null },
    micros: BigInt(whole) * 1_000_000n,
    records,
    values: [],
  });
  const usage = new Map([["key_1", of("requests", 5, 5)], ["key_2", of("requests", 7, 2)], [
    "key_4",
    of("bytes", 1e9, 6),
  ]]);
  const sorted = (order: KeyOrder) => idsOf(sortLines(lines, order, usage)).map((id) => Number(id.slice(4)));
  assert.deepEqual(sorted("created"), [4, 3, 2, 1]);
  assert.deepEqual(sorted("name"), [4, 2, 3, 1]);
  assert.deepEqual(sorted("used"), [1, 2, 4, 3]);
  assert.deepEqual(sorted("end"), [2, 1, 4, 3]);
  // Requests have the most records in total; quantities of different metrics are not compared.
  assert.deepEqual(sorted("usage"), [2, 1, 4, 3]);
  const ended = toLines([], [key(1, { endsAt: now - 2 }), key(2, { endsAt: now - 1 })]);
  assert.deepEqual(idsOf(sortLines(ended, "end", new Map())), ["key_2", "key_1"]);
});

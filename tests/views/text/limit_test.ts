// How long a quantity lasts, in words.
import assert from "node:assert/strict";
import { paceWords } from "../../../views/text/limit.ts";

const requests = { name: "Requests", unit: null };
const transfer = { name: "Data transfer", unit: "bytes" };

Deno.test("paceWords() says how long a quantity lasts at the rate of the last week", () => {
  const rate = "at the rate of the last 7 days, 1,000 per day";
  const words: readonly [quantity: number, lasts: string][] = [
    [33_900, "33 days"],
    [2_000, "2 days"],
    [1_999, "47 hours"],
    [50, "72 minutes"],
    [0.1, "Less than a minute"],
    [3_650_001, "More than 10 years"],
  ];
  for (const [quantity, lasts] of words) {
    assert.equal(paceWords(quantity, 7_000, requests), `${lasts} ${rate}`);
  }
  assert.equal(paceWords(5e12, 7e11, transfer), "50 days at the rate of the last 7 days, 100 GB per day");
  assert.equal(paceWords(10, 1, requests), "70 days at the rate of the last 7 days, 0.14 per day");
  assert.equal(
    paceWords(5_000_000, 1_234_567 * 7, requests),
    "4 days at the rate of the last 7 days, 1,230,000 per day",
  );
  assert.equal(paceWords(10, 0, requests), "No usage in the last 7 days");
});

// Measures how long it takes to create the ids of records and requests. Run `./denow bench bench/ids_bench.ts`.
import { createPermutation } from "../domain/meter/permutation.ts";
import { createUsageRecordIds } from "../domain/meter/usage_record_id.ts";

const key = "1a19181211100a0908020100";
const { hide } = createPermutation(key);
const idOf = createUsageRecordIds(key).ofMoment(1_790_000_000_000);
let count = 0;

Deno.bench("the id of a record", () => {
  idOf(count++);
});

Deno.bench("the encrypted count of a request", () => {
  hide(count++);
});

// The model of budgets by itself: its invariants on random traces. budgets_replay_test.ts compares the program with it.
import { faultRandom } from "../support/runner/random.ts";
import { isFull, runSeed } from "../support/runner/extent.ts";
import { checkModel } from "../support/runner/quint.ts";

Deno.test({
  name: "admits what fits and nothing else, takes each unit once, and loses nothing",
  timeout: 1_200_000,
  fn: async () => {
    faultRandom("model of budgets");
    await checkModel("tests/model/budgets.qnt", {
      seed: runSeed,
      samples: isFull ? 2_000 : 40,
      steps: 30,
      invariants: [
        "neverBeyond",
        "nothingInTheWay",
        "useIsOfRecords",
        "heldIsOfHolds",
        "nothingLost",
        "takenOnce",
      ],
    });
  },
});

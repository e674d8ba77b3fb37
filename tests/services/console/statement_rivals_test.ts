// Closing a month while other servers begin one at the same time.
import assert from "node:assert/strict";
import type { Statement } from "../../../db/engine/database.ts";
import { closeStatement } from "../../../services/billing/statement_closing.ts";
import { commandLineActor } from "../../support/operators/operators.ts";
import { onEveryDatabase } from "../../support/meter/usage.ts";

onEveryDatabase("closing a month gives up when its first write has no effect three times", async (test) => {
  let writes = 0;
  const rivaled = {
    ...test.services,
    writeAs: (_: unknown, batch: readonly Statement[]) => {
      if (++writes > 9) throw new Error("it never ends");
      return Promise.resolve(batch.map(() => ({ changes: 0, rows: [] })));
    },
  };
  const closing = closeStatement(rivaled, commandLineActor, { period: "2026-10", waitMs: 60_000 });
  await assert.rejects(closing, { code: "unavailable", message: /being closed .* Try again/ });
  assert.equal(writes, 3);
});

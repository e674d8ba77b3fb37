// The background work on statements.
import { statementIntervalMs } from "../../domain/limits.ts";
import type { BackgroundWork } from "../background_work.ts";
import type { Context } from "../context.ts";
import { closeDueStatement } from "./statement_closing.ts";

interface Log {
  info(message: string, values: Record<string, unknown>): void;
}

export function billingWork(context: Context, { log }: { log: Log }): BackgroundWork[] {
  /** Completes a statement, or closes one that is due. Returns true if there was one. */
  const step = async () => {
    const statement = await closeDueStatement(context);
    if (statement !== null) log.info("statement closed", { period: statement.period });
    return statement !== null;
  };
  return [{ name: "statement", pauseMs: statementIntervalMs, step }];
}

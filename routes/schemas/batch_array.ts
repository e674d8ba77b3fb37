// The array of a batch. Collecting every problem of a large batch would keep a thread busy, so it stops once an error is full.
import { z } from "@hono/zod-openapi";
import { errorDetailsMax, usageBatchRecordsMax } from "../../domain/limits.ts";
import { atMost } from "./messages.ts";

const BatchArray = z.core.$constructor(
  "BatchArray",
  (schema: z.ZodArray, definition: z.core.$ZodArrayDef) => {
    z.ZodArray.init(schema, definition);
    const { parse } = schema._zod;
    schema._zod.parse = (payload, context) => {
      const items: unknown = payload.value;
      // Zod rejects these without reading the items.
      if (!Array.isArray(items) || items.length > usageBatchRecordsMax) return parse(payload, context);
      payload.value = [];
      for (const [index, value] of items.entries()) {
        const item = definition.element._zod.run({ value, issues: [] }, context) as z.core.ParsePayload;
        payload.issues.push(...z.core.util.prefixIssues(index, item.issues));
        payload.value.push(item.value);
        if (payload.issues.length >= errorDetailsMax) break;
      }
      return payload;
    };
  },
);

/**
 * Creates the schema of a batch's items.
 *
 * @param noun Names an item: `record`.
 * @param error The message for other types than arrays.
 */
export function batchArray<T extends z.ZodType>(element: T, noun: string, error?: string): z.ZodArray<T> {
  const schema = new BatchArray({
    type: "array",
    element,
    ...(error === undefined ? {} : { error: () => error }),
  });
  return (schema as unknown as z.ZodArray<T>).min(1, `must have at least one ${noun}.`)
    .max(usageBatchRecordsMax, atMost(usageBatchRecordsMax, `${noun}s`));
}

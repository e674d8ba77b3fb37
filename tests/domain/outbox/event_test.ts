// The bodies of events: however long the names in them are, they stay small.
import assert from "node:assert/strict";
import { externalIdCharactersMax, nameCharactersMax } from "../../../domain/limits.ts";
import { slugForm } from "../../../domain/meter/usage_record.ts";
import { eventBody } from "../../../domain/outbox/event.ts";
import { allEventTypes } from "../../../domain/outbox/event_types.ts";
import { exampleFacts } from "../../../domain/outbox/example_event.ts";
import { eventBytesMax } from "../../../domain/outbox/webhook_limits.ts";

Deno.test("a body has at most 20,000 bytes with the longest names", () => {
  const slug = "a".repeat(64);
  assert.ok(slugForm.test(slug) && !slugForm.test(`${slug}a`));
  // Four bytes a character.
  const name = "🗺".repeat(nameCharactersMax);
  const longest: Readonly<Record<string, unknown>> = {
    ...{ name, externalId: "🗺".repeat(externalIdCharactersMax), productSlug: slug, metric: slug },
    ...{ whole: Number.MAX_SAFE_INTEGER - 1, micro: 999_999, percent: 1_000 },
    apiKey: { id: `key_${"0".repeat(32)}`, name },
  };
  for (const type of allEventTypes) {
    const facts = JSON.stringify(exampleFacts(type), (key, value) => longest[key] ?? value);
    const body = eventBody({ id: "", type, at: 0, facts, webhook: 1 }, { isForOperators: true });
    const bytes = new TextEncoder().encode(body).length;
    assert.ok(bytes > 700 || type === "statement.closed", `${type}: ${bytes}`);
    assert.ok(bytes <= eventBytesMax, `${type}: ${bytes}`);
  }
  assert.equal(eventBytesMax, 20_000);
});

// docs/webhooks.md: it lists every type of event with its data, and its example is what the code makes.
import assert from "node:assert/strict";
import { type EventType, eventTypes } from "../../domain/webhooks/event_types.ts";
import { exampleEvent } from "../../domain/webhooks/example_event.ts";

const guide = await Deno.readTextFile(new URL("../../docs/webhooks.md", import.meta.url));

Deno.test("the guide lists every type of event with its meaning and its data", () => {
  const rows = [...guide.matchAll(/^\| `([\w.]+)` +\| (.*?) +\| (.*?) +\|$/gm)].map((row) => row.slice(1));
  const expected = Object.entries(eventTypes).map(([type, meaning]) => {
    const names = Object.keys(exampleEvent(type as EventType).data);
    return [type, meaning, names.map((name) => `\`${name}\``).join(", ")];
  });
  assert.deepEqual(rows, expected);
});

Deno.test("the body in the guide is the example of its type", () => {
  const [, json = ""] = /```json\n([^]*?)```/.exec(guide) ?? [];
  const example = JSON.parse(json);
  assert.deepEqual(example, exampleEvent(example.type));
});

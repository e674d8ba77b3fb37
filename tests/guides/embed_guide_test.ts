// docs/embed.md: its code is that of the example, which tests/browser/embedding_test.ts runs in two browsers.
import assert from "node:assert/strict";
import { portalPages } from "../../domain/keys/portal_session.ts";
import { readExamples, readGuide } from "../support/runner/guides.ts";

Deno.test("the code of the guide is the example's, and the guide names every page", async () => {
  const guide = await readGuide("embed.md");
  const example = (await readExamples("embedding"))("embedding.ts");
  assert.ok(example.includes(guide("create a session").trim()));
  const height = guide("take the height").trim().replace("https://auth.example.com", "${url}");
  assert.ok(example.includes(height));
  const text = await Deno.readTextFile(new URL("../../docs/embed.md", import.meta.url));
  for (const page of portalPages) assert.ok(text.includes(`\`${page}\``), page);
});

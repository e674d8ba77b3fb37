// CloudEvents: one idempotency key per source and id, and the product of a source.
import assert from "node:assert/strict";
import { cloudEventKey, jsonContentTypeForm, productOfSource } from "../../../domain/meter/cloud_event.ts";
import { idempotencyKeyForm, slugForm } from "../../../domain/meter/usage_record.ts";
import fc from "../../support/runner/fast_check.ts";
import { holds } from "../properties.ts";

// Short texts of few characters, so that different pairs often have the same concatenation.
const part = fc.string({ unit: fc.constantFrom("1", ":", "a", "é"), maxLength: 4 });
const pair = fc.record({ source: part, id: part });

Deno.test("cloudEventKey() returns a distinct idempotency key for each pair", () => {
  const seen = new Map<string, string>();
  holds(pair, (event) => {
    const key = cloudEventKey(event);
    assert.match(key, idempotencyKeyForm);
    const text = JSON.stringify([event.source, event.id]);
    assert.equal(seen.get(key) ?? text, text);
    seen.set(key, text);
    assert.equal(cloudEventKey({ ...event }), key);
  }, { runs: 3000 });
  // Keys are kept as long as records. If they were derived differently, old events could be counted again.
  assert.equal(
    cloudEventKey({ source: "/tiles", id: "1" }),
    "ce:FJeNy5V-BKV44qFHLhILCRToK5swwnCKb-n_DichXMg",
  );
});

Deno.test("productOfSource() returns only slugs, even for invalid URIs", () => {
  holds(fc.oneof(fc.string({ unit: "binary" }), fc.webUrl({ withQueryParameters: true }), part), (source) => {
    const product = productOfSource(source);
    if (product !== null) assert.match(product, slugForm);
    if (/^[^/?#]+$/.test(source)) {
      assert.equal(productOfSource(`https://example.com/a/${source}/?x=/y#/z`), product);
    }
  });
  assert.equal(productOfSource("https://api.example.com/v1/tiles/?zoom=3"), "tiles");
  assert.equal(productOfSource("https://api.example.com"), null);
  assert.equal(productOfSource("https://api.example.com?/tiles"), null);
  assert.equal(productOfSource("//api.example.com#/tiles"), null);
  // The longest texts that fit into a body must not be slow.
  for (
    const text of [
      "/".repeat(2 ** 20),
      "a/".repeat(2 ** 19),
      `//${"/".repeat(2 ** 20)}é`,
      "a+".repeat(2 ** 19),
    ]
  ) {
    const start = performance.now();
    productOfSource(text);
    jsonContentTypeForm.test(text);
    assert(performance.now() - start < 1000, text.slice(0, 4));
  }
});

Deno.test("jsonContentTypeForm accepts JSON by name or suffix", () => {
  for (
    const type of [
      "application/json",
      "text/JSON",
      "application/vnd.acme.v1+json; charset=utf-8",
      "a/b+c+json",
    ]
  ) {
    assert(jsonContentTypeForm.test(type), type);
  }
  for (
    const type of [
      "",
      "json",
      "application/jsonx",
      "application/xjson",
      "text/plain; x=application/json",
      "a/json b",
    ]
  ) {
    assert(!jsonContentTypeForm.test(type), type);
  }
});

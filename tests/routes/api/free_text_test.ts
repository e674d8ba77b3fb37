// Free text has tabs and line ends, and names of properties are in any language.
import assert from "node:assert/strict";
import { assertError, createTestKey, testApp } from "../../support/app/app.ts";
import { listAll, listPage, readSums, recordAll, recordOne, voidOne } from "../../support/meter/usage.ts";
import { operatorOf } from "../../support/operators/operator_api.ts";
import { newOperator } from "../../support/operators/console.ts";
import { openPage } from "../../support/portal/pages.ts";

const text = "First line\r\n\tindented\nlast";

testApp("properties keep tabs and line ends, in every form of usage", async (test) => {
  const person = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, person);
  const { id } = await recordOne(test, apiKey, { properties: { address: text } });
  await recordAll(test, {
    apiKey,
    records: [{ productSlug: "tiles", metric: "requests", quantity: 1, properties: { address: text } }],
  });
  const event = { specversion: "1.0", id: "1", source: "/tiles", type: "requests" };
  const events = [
    ["/api/v1/usage", "application/cloudevents+json", { ...event, data: { address: text } }, 201],
    ["/api/v1/events", "application/cloudevents+json", {
      ...event,
      id: "2",
      data: { quantity: 1, address: text },
    }, 204],
  ] as const;
  for (const [path, type, body, status] of events) {
    const headers = { "content-type": type };
    const options = { method: "POST", apiKey, headers, body: JSON.stringify(body) };
    assert.equal((await test.send(path, options)).status, status, path);
  }
  for (const [number, path] of ["/api/v1/usage", "/api/v1/events"].entries()) {
    const headers = {
      "content-type": "application/json",
      ...{ "ce-specversion": "1.0", "ce-id": `b${number}`, "ce-source": "/tiles", "ce-type": "requests" },
    };
    const body = JSON.stringify({ quantity: 1, address: text });
    const response = await test.send(path, { method: "POST", apiKey, headers, body });
    assert.ok(response.ok, await response.text());
  }
  const records = await listAll(test, apiKey);
  assert.deepEqual(records.map(({ properties }) => properties), Array(6).fill({ address: text }));
  const filter = new URLSearchParams({ "properties.address": text });
  assert.equal((await listPage(test, apiKey, `${filter}`)).usageRecords.length, 6);
  assert.equal((await voidOne(test, { apiKey, id, reason: text })).voidReason, text);
  const page = await test.send(`/portal/usage/records/${id}`, { cookie: person.cookie });
  const html = (await page.text()).replaceAll("\r", "&#13;");
  assert.ok(html.includes("whole") && html.split("\tindented\nlast</bdi>").length === 3, html);
});

testApp("free text takes no other control characters, and names and ids take none", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };
  for (
    const [json, path] of [
      [{ ...usage, properties: { a: "x\ny\u0000" } }, "properties.a"],
      [{ ...usage, properties: { a: "\u001b[0m" } }, "properties.a"],
      [{ ...usage, properties: { a: "\u0085" } }, "properties.a"],
      [{ ...usage, properties: { "a\tb": "x" } }, "properties"],
      [{ ...usage, metric: "requests\n" }, "metric"],
      [{ ...usage, idempotencyKey: "a\tb" }, "idempotencyKey"],
    ] as const
  ) {
    const { error } = await assertError(
      await test.send("/api/v1/usage", { apiKey, json }),
      422,
      "validation_failed",
    );
    assert.deepEqual(error.details?.map(({ path }) => path), [path]);
  }
  await assertError(
    await test.send("/api/v1/usage?metric=a%0A", { apiKey }),
    422,
    "validation_failed",
  );
});

testApp("notes, reasons and metadata keep tabs and line ends, over the API and on pages", async (test) => {
  const { organizationId } = await test.signUp();
  const send = await operatorOf(test);
  const mara = await newOperator(test);
  const api = `/organizations/${organizationId}`;
  assert.equal((await send(`POST ${api}/notes`, { text })).body.note.text, text);
  const patched = await send(`PATCH ${api}`, { metadata: { terms: text } });
  assert.deepEqual(patched.body.organization.metadata, { terms: text });
  const changed = await send(`PATCH ${api}`, { name: "One\ntwo" });
  assert.deepEqual([changed.status, changed.body.error.details[0].path], [422, "name"]);

  const path = `/operator/organizations/${organizationId}`;
  const edit = async (value: string) => {
    const form = { name: "Engines", externalId: "", "metadata[0].key": "terms", "metadata[0].value": value };
    const saved = await openPage(test, `${path}/edit`, { person: mara, form });
    assert.equal(saved.status, 303, saved.html);
    return (await send(`GET ${api}`)).body.organization.metadata.terms;
  };
  // As a browser sends what it got in an unchanged form.
  assert.equal(await edit(text.replace("\nlast", "\r\nlast")), text);
  assert.equal(await edit("a\r\nb"), "a\nb");
  const added = await openPage(test, `${path}/notes/new`, { person: mara, form: { text: "One\r\ntwo" } });
  assert.equal(added.status, 303);
  const { notes } = (await send(`GET ${api}/notes`)).body;
  assert.deepEqual(notes.map((note: { text: string }) => note.text), ["One\ntwo", text]);
  const { html } = await openPage(test, `${path}/edit`, { person: mara });
  assert.match(html, />\na\nb<\/textarea>/);
});

testApp("dimensions have names in any language", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const send = await operatorOf(test);
  const names = ["क्षेत्र", "ภูมิภาค", "பகுதி", "région", "地域"];
  for (const name of names) {
    const slug = `tiles${names.indexOf(name)}`;
    const metrics = [{ slug: "requests", name: "Requests", dimensions: [[name]] }];
    const created = await send("POST /products", { slug, name: slug, metrics });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    await recordOne(test, apiKey, { productSlug: slug, properties: { [name]: "eu\nwest" } });
    const query = new URLSearchParams({
      ...{ productSlug: slug, window: "total", groupBy: `properties.${name}` },
      [`properties.${name}`]: "eu\nwest",
    });
    const sums = await readSums(test, apiKey, `?${query}`);
    assert.deepEqual(sums.map(({ properties, sum }) => [properties, sum]), [[{ [name]: "eu\nwest" }, 1]]);
  }
  for (const name of ["\u0902a", "1a", "a b", "a\tb", "a\u202eb", "", "__proto__"]) {
    const metrics = [{ slug: "requests", name: "Requests", dimensions: [[name]] }];
    assert.equal((await send("POST /products", { slug: "x", name: "X", metrics })).status, 422, name);
  }
});

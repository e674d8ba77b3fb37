// docs/kong.md: its functions with those of Kong that they call, and the events of Kong's plugins.
import assert from "node:assert/strict";
// deno-lint-ignore no-import-prefix -- test packages stay out of the binary
import { parse } from "npm:yaml@2.9.1";
import { mappingPresets } from "../../domain/meter/mapping_presets.ts";
import { createTestKey, type TestApp } from "../support/app/app.ts";
import { realTest } from "../support/app/real_app.ts";
import { addLimit } from "../support/meter/limits.ts";
import { runInKong } from "../support/network/kong.ts";
import { operatorOf } from "../support/operators/operator_api.ts";
import { newOperatorToken } from "../support/operators/operators.ts";
import { onServer } from "../support/process/scene.ts";
import { installGatehouse, readGuide, runLines } from "../support/runner/guides.ts";
import { isMissing } from "../support/runner/needs.ts";

const guide = await readGuide("kong.md");
const accessCode: string = parse(guide("kong.yaml")).plugins[0].config.access[0];
const [logPlugin, httpLog] = parse(guide("log.yaml")).plugins;

realTest("the function lets in keys with something left, and says who they are", async (test, baseUrl) => {
  const ada = await test.signUp();
  const { id, fullKey } = await createTestKey(test, ada);
  const { fullToken } = await newOperatorToken(test, ["keys:verify"]);
  const limit = {
    productSlug: "models",
    metric: "tokens",
    per: "day",
    quantity: 100,
    mode: "cutoff",
  } as const;
  await addLimit(test, {}, limit);
  const code = accessCode.replace("http://127.0.0.1:8000", baseUrl);
  const environment = { GATEHOUSE_TOKEN: fullToken };
  const send = (headers: Record<string, string>, at = code) => runInKong(at, { headers, environment });
  const authorization = `Bearer ${fullKey}`;
  const hostile = {
    "remote-organization": "org_forged",
    "remote-api-key": "key_forged",
    "remote_api_key": "key_forged",
    "remote.user": "usr_forged",
    "remote-groups": "admin",
    "x-real-name": "Ada",
  };
  const { exit, headers } = await send({ authorization, ...hostile });
  assert.equal(exit, null);
  assert.deepEqual(headers, {
    "remote-organization": ada.organizationId,
    "remote-api-key": id,
    "x-real-name": "Ada",
  });
  const denied = async (headers: Record<string, string>, expected: string, at = code) => {
    const { exit } = await send(headers, at);
    assert.equal(
      `${exit?.status} ${exit?.body["code"] ?? exit?.body["message"]}`,
      expected,
      JSON.stringify(headers),
    );
    return exit?.body;
  };
  await denied({}, "401 NOT_FOUND");
  await denied(hostile, "401 NOT_FOUND");
  for (
    const wrong of [
      `Basic ${btoa(fullKey)}`,
      `${authorization}"`,
      `${authorization}","usage":[],"x":"`,
      "Bearer none",
    ]
  ) {
    await denied({ authorization: wrong }, "401 NOT_FOUND");
  }
  const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`x-${n}`, "1"]));
  await denied({ authorization, ...many }, "431 Too many headers.");
  await denied({ authorization }, "503 Try again shortly.", code.replace(baseUrl, "http://127.0.0.1:1"));
  const misconfigured = await runInKong(code, {
    headers: { authorization },
    environment: { GATEHOUSE_TOKEN: "x" },
  });
  assert.equal(misconfigured.exit?.status, 503);
  const permitted = code.replace("usage = {", `permissions = { "maps:render" }, usage = {`);
  await denied({ authorization }, "403 INSUFFICIENT_PERMISSIONS", permitted);
  const json = { productSlug: "models", metric: "tokens", quantity: 130 };
  assert.equal((await test.send("/api/v1/usage", { apiKey: fullKey, json })).status, 201);
  const full = await denied({ authorization }, "429 USAGE_EXCEEDED");
  assert.equal((full?.["limits"] as { remaining: number }[])[0]?.remaining, 0);
  test.advance(86_400_000);
  assert.equal((await send({ authorization })).exit, null);
  assert.equal(
    (await test.send(`/api/portal/api-keys/${id}`, { method: "DELETE", cookie: ada.cookie })).status,
    200,
  );
  await denied({ authorization }, "401 REVOKED");
});

/** @returns Functions that add a mapping, send as a collector, and list what a key's organization recorded. */
async function collectorOf(test: TestApp) {
  const ada = await test.signUp();
  const key = await createTestKey(test, ada);
  const operator = await operatorOf(test);
  const { fullToken } = await newOperatorToken(test, ["usage:collect"]);
  return {
    ...key,
    organizationId: ada.organizationId,
    operator,
    async send(body: unknown, type: string): Promise<string> {
      const headers = { "content-type": type };
      const options = { method: "POST", apiKey: fullToken, body: JSON.stringify(body), headers };
      const response = await test.send("/api/v1/events", options);
      const text = await response.text();
      return `${response.status} ${text === "" ? "" : JSON.parse(text).error.code}`.trim();
    },
    async records() {
      const { usageRecords } = await (await test.send("/api/v1/usage/records", { apiKey: key.fullKey }))
        .json();
      return usageRecords.map((
        { quantity, properties }: { quantity: number; properties: Record<string, string> },
      ) => `${quantity} ${properties["model"]} ${properties["type"]}`).sort();
    },
  };
}

const withoutNull = (_name: string, value: unknown) => value ?? undefined;

/** As Kong's documentation lists the fields of Metering & Billing's events. */
const llmEvent = (id: string, type: "request" | "response", tokens: number, subject: string) => ({
  specversion: "1.0",
  id,
  source: "kong-gateway",
  type: "kong.llm_request",
  subject,
  time: "2026-11-21T14:03:11Z",
  datacontenttype: "application/json",
  data: {
    type,
    tokens,
    model: "gpt-4o-mini",
    provider: "openai",
    api_request_id: "1c9e4d6c8275c52c36731d3c5c10fade",
    ai_plugin_id: "0d4e9d5c-3f27-4f5e-9c07-1c1c1f0a2f10",
    ai_plugin_name: "ai-proxy",
    control_plane_id: "47e9610a-2ad8-4b19-98d3-2b5364a7f38f",
    service_id: "5c10fade-1c9e-4d6c-8275-c52c36731d3c",
    route_id: "b6e2a3d4-9f01-4f65-8a64-0d8f5f1f2a33",
    http_status: 200,
    cache_status: "",
    subject_type: "header",
  },
});

realTest("the preset records the events of Metering & Billing", async (test) => {
  const { id, operator, send, records } = await collectorOf(test);
  const { source: _source, subject: _subject, ...preset } = mappingPresets["kong"] ?? assert.fail();
  const { status, body } = await operator(
    "POST /event-mappings",
    JSON.parse(JSON.stringify(preset, withoutNull)),
  );
  assert.equal(status, 201, JSON.stringify(body));
  const consumer = "consumer:a3d1f5e2-1b2c-4d3e-9f80-000000000001";
  const events = [
    llmEvent("1", "request", 12, id),
    llmEvent("2", "response", 30, id),
    llmEvent("3", "response", 0, id),
  ];
  for (const contentType of ["application/cloudevents-batch+json", "application/json"]) {
    assert.equal(await send(events, contentType), "204");
  }
  assert.equal(await send(events[0], "application/cloudevents+json; charset=utf-8"), "204");
  const all = ["0 gpt-4o-mini response", "12 gpt-4o-mini request", "30 gpt-4o-mini response"];
  assert.deepEqual(await records(), all);
  // A consumer is unknown until it is assigned, and stops no other event.
  const mixed = [llmEvent("4", "request", 5, consumer), llmEvent("5", "request", 7, id)];
  assert.equal(await send(mixed, "application/cloudevents-batch+json"), "422 subject_unknown");
  assert.deepEqual(await records(), [...all, "7 gpt-4o-mini request"]);
  const [subject] = (await operator("GET /subjects")).body.subjects;
  assert.equal(subject.subject, consumer);
});

if (!isMissing("curl")) {
  realTest(
    "http-log sends the log entry as an event, without anything of the client's",
    async (test, baseUrl) => {
      const { id, operator, send, records } = await collectorOf(test);
      const [, mapping = ""] = /<<'END'\n([\s\S]*?)END\n/.exec(guide("mapping")) ?? [];
      assert.equal((await operator("POST /event-mappings", JSON.parse(mapping))).status, 201);
      const entry = {
        request: {
          id: "b1a7f06e2c5f7d1f7d3c2f0a6a1b9c55",
          uri: "/v1/chat/completions",
          method: "POST",
          size: 300,
        },
        response: { status: 200, headers: { "set-cookie": "secret" } },
        latencies: { kong: 3, proxy: 500, request: 503 },
        client_ip: "203.0.113.7",
        upstream_uri: "/v1/chat/completions",
        source: "upstream",
        started_at: test.now(),
        ai: {
          proxy: {
            meta: {
              provider_name: "openai",
              request_model: "gpt-4o-mini",
              response_model: "gpt-4o-mini-2024-07-18",
            },
            usage: {
              prompt_tokens: 12,
              completion_tokens: 30,
              total_tokens: 42,
              cost: 0,
              time_per_token: 11.5,
            },
            payload: { request: "secret" },
          },
        },
      };
      const code: string = logPlugin.config.log[0];
      const headers = { "remote-api-key": id, "cookie": "secret", "user-agent": "curl" };
      const sent = (await runInKong(code, { headers, entry })).entry;
      assert.deepEqual(sent, {
        specversion: "1.0",
        type: "kong.log",
        source: "kong",
        id: entry.request.id,
        subject: id,
        time: "2026-11-21T14:03:11Z",
        data: { model: "gpt-4o-mini", usage: entry.ai.proxy.usage },
      });
      assert.equal(logPlugin.name, "pre-function");
      assert.match(httpLog.config.http_endpoint, /\/api\/v1\/events$/);
      // http-log sends an array if its batches may have several entries, and repeats it after any other status than 2xx.
      assert.equal(await send(sent, "application/json"), "204");
      // A flood of requests without a key, or that never reach a model, neither stops others nor fills the database.
      const { ai: _ai, ...withoutModel } = entry;
      const { fullToken: OPERATOR_TOKEN } = await newOperatorToken(test, ["organizations:write"]);
      const create = guide("organization").replace("https://auth.example.com", baseUrl);
      const { organization } = JSON.parse(await runLines(create, { cwd: "/", env: { OPERATOR_TOKEN } }));
      const others = await Promise.all(
        [[{}, entry], [headers, withoutModel], [{}, withoutModel]].map(async ([headers, entry], n) =>
          (await runInKong(code, {
            headers: headers as Record<string, string>,
            entry: { ...entry, request: { ...withoutModel.request, id: `${n}` } },
          })).entry
        ),
      );
      for (let i = 0; i < 2; i++) {
        assert.equal(await send([sent, ...others], "application/json"), "204");
        test.advance(1_000);
      }
      assert.deepEqual(await records(), ["12 gpt-4o-mini input", "30 gpt-4o-mini output"]);
      const [ofKong, ...more] =
        (await operator(`GET /usage/records?organizationId=${organization.id}`)).body.usageRecords;
      assert.deepEqual([ofKong.quantity, more], [0, []]);
    },
  );
}

Deno.test("the commands of the guide add the mappings and a token", () =>
  onServer({}, async ({ folder }) => {
    const env = { PATH: `${await installGatehouse(folder)}:${Deno.env.get("PATH")}` };
    const run = (name: string) => runLines(guide(name), { cwd: folder, env });
    assert.match(await run("connect"), /^map_[0-9a-f]{32}\nservice_operator_\w+\n$/);
    assert.match(await run("mapping"), /^map_[0-9a-f]{32}\n$/);
    const { config } = parse(guide("metering.yaml")).plugins[0];
    assert.deepEqual(config.subject, { look_up_value_in: "header", field: "remote-api-key" });
  }));

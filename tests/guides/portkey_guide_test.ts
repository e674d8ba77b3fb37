// docs/portkey.md and examples/portkey/gateway.ts, with the real gateway from npm and a fake model.
import assert from "node:assert/strict";
import { portkeyHandler } from "../../examples/portkey/gateway.ts";
import { Gatehouse } from "../../packages/client/src/index.ts";
import { createTestKey, type TestApp } from "../support/app/app.ts";
import { realTest } from "../support/app/real_app.ts";
import { freePort } from "../support/database/sqld.ts";
import { npm } from "../support/client/package.ts";
import { addLimit } from "../support/meter/limits.ts";
import { operatorOf } from "../support/operators/operator_api.ts";
import { newOperatorToken } from "../support/operators/operators.ts";
import { onServer } from "../support/process/scene.ts";
import {
  installGatehouse,
  readGuide,
  runLines,
  type RunningCommand,
  startCommand,
} from "../support/runner/guides.ts";
import { isMissing } from "../support/runner/needs.ts";
import { poll } from "../support/runner/poll.ts";

const guide = await readGuide("portkey.md");
const secret = "webhook-secret";
const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };

interface Scene {
  readonly test: TestApp;
  readonly organizationId: string;
  readonly person: Awaited<ReturnType<TestApp["signUp"]>>;
  readonly operatorToken: string;
  readonly baseUrl: string;
  /** Requests that reached the model. */
  readonly model: { asked: Record<string, unknown>[]; status: number; usage: object | undefined };
  readonly receiver: RunningCommand;
  readonly gatewayUrl: string;
  readonly config: string;
  readonly folder: string;
  ask(
    body?: object,
    options?: { customer?: unknown; path?: string },
  ): Promise<{ status: number; code: unknown; text: string }>;
  /** Reads how many of the organization's tokens are used, and how many are held. */
  counted(): Promise<[used: number, held: number]>;
}

let portkey: Promise<string> | undefined;

/** @returns A folder with the gateway, which is removed after all tests. */
async function installPortkey(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-portkey-" });
  globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
  await Deno.writeTextFile(`${folder}/package.json`, "{}");
  await npm("install @portkey-ai/gateway@1.15.2", folder);
  return folder;
}

async function isOpen(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch {
    return false;
  }
}

/** Runs a test with a limit of 1,000 tokens in total. */
function portkeyTest(name: string, run: (scene: Scene) => Promise<void>): void {
  if (isMissing("npm") || isMissing("node") || isMissing("curl")) {
    return Deno.test({ name, ignore: true, fn() {} });
  }
  realTest(name, async (test, baseUrl) => {
    const folder = await Deno.makeTempDir({ prefix: "gatehouse-portkey-" });
    const model: Scene["model"] = { asked: [], status: 200, usage };
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
      model.asked.push(await request.json());
      const message = { role: "assistant", content: "Hello" };
      const choices = [{ index: 0, message, finish_reason: "stop" }];
      return Response.json(
        { id: "chatcmpl-1", object: "chat.completion", model: "gpt-4o-mini", choices, usage: model.usage },
        { status: model.status },
      );
    });
    const [receiverPort, gatewayPort] = [freePort(), freePort()];
    const person = await test.signUp();
    const { organizationId } = person;
    const limit = {
      productSlug: "models",
      metric: "tokens",
      per: "total",
      quantity: 1_000,
      mode: "hard",
    } as const;
    await addLimit(test, { organizationId }, limit);
    const { fullToken: operatorToken } = await newOperatorToken(test, ["usage:write"]);
    const gateway = startCommand(
      `node node_modules/@portkey-ai/gateway/build/start-server.js --port=${gatewayPort} --headless`,
      { cwd: await (portkey ??= installPortkey()) },
    );
    const receiver = startCommand(
      guide("receiver").replace("https://auth.example.com", baseUrl).replace("$TOKEN", operatorToken)
        .replace("$SECRET", secret).replace("8004", String(receiverPort))
        .replace(
          "deno run",
          `'${Deno.execPath()}' run --no-check --config=${
            new URL("../../deno.json", import.meta.url).pathname
          }`,
        )
        .replace("gateway.ts", new URL("../../examples/portkey/gateway.ts", import.meta.url).pathname),
      { cwd: folder },
    );
    try {
      await poll(async () => await isOpen(receiverPort) && await isOpen(gatewayPort));
      const config = JSON.stringify({
        ...JSON.parse(
          guide("config.json").replaceAll("SECRET", secret).replaceAll(":8004", `:${receiverPort}`),
        ),
        custom_host: `http://127.0.0.1:${server.addr.port}/v1`,
      });
      const gatewayUrl = `http://127.0.0.1:${gatewayPort}`;
      const { fullKey } = await createTestKey(test, person);
      await run({
        ...{
          test,
          organizationId,
          person,
          operatorToken,
          baseUrl,
          model,
          receiver,
          gatewayUrl,
          config,
          folder,
        },
        async ask(body = {}, { customer = organizationId, path = "/v1/chat/completions" } = {}) {
          const messages = [{ role: "user", content: "Hello" }];
          const response = await fetch(gatewayUrl + path, {
            method: "POST",
            headers: {
              "authorization": "Bearer sk-model",
              "content-type": "application/json",
              "x-portkey-config": config,
              "x-portkey-metadata": JSON.stringify(customer === null ? {} : { customer }),
            },
            body: JSON.stringify({ model: "gpt-4o-mini", max_tokens: 100, messages, ...body }),
          });
          const text = await response.text();
          const data = JSON.parse(text).hook_results?.before_request_hooks[0]?.checks[0].data;
          return { status: response.status, code: data?.responseData?.code, text };
        },
        async counted() {
          const response = await test.send("/api/v1/limits", { apiKey: fullKey });
          const { limits } = await response.json();
          const [{ used, held }] = limits.filter(({ metric }: { metric: string }) => metric === "tokens");
          return [used, held];
        },
      });
    } finally {
      await receiver.stop("SIGKILL");
      await gateway.stop("SIGKILL");
      await server.shutdown();
      await Deno.remove(folder, { recursive: true });
    }
  });
}

portkeyTest(
  "Portkey holds before a request, settles with its usage, and denies what finds no room",
  async (scene) => {
    const { model, organizationId, person, test, gatewayUrl, config } = scene;
    const named = await (await operatorOf(test))(`PATCH /organizations/${organizationId}`, {
      externalId: "customer-1",
    });
    assert.equal(named.status, 200);
    const env = { OPENAI_API_KEY: "sk-model", CONFIG: config };
    const printed = await runLines(guide("request").replace("http://127.0.0.1:8787", gatewayUrl), {
      cwd: scene.folder,
      env,
    });
    assert.equal(JSON.parse(printed).choices[0].message.content, "Hello");
    assert.deepEqual(await scene.counted(), [7, 0]);
    const { fullKey: apiKey } = await createTestKey(test, person);
    const { usageRecords } = await (await test.send("/api/v1/usage/records", { apiKey })).json();
    assert.deepEqual(
      usageRecords.map((
        { quantity, properties }: { quantity: number; properties: object },
      ) => [quantity, properties])
        .sort(([a]: [number], [b]: [number]) => a - b),
      [[3, { model: "gpt-4o-mini", type: "input" }], [4, { model: "gpt-4o-mini", type: "output" }]],
    );
    // What is known only between the webhooks stays there.
    assert.deepEqual(Object.keys(model.asked[0] ?? {}).sort(), ["max_tokens", "messages", "model"]);

    // Each holds about 100 input and 300 output tokens, and uses 7.
    const together = await Promise.all(Array.from({ length: 12 }, () => scene.ask({ max_tokens: 300 })));
    const admitted = together.filter(({ status }) => status === 200).length;
    assert.ok(admitted >= 1, JSON.stringify(together));
    assert.equal(model.asked.length, 1 + admitted);
    assert.deepEqual(await scene.counted(), [7 + 7 * admitted, 0]);
    model.usage = { prompt_tokens: 500, completion_tokens: 400, total_tokens: 900 };
    assert.equal((await scene.ask()).status, 200);
    const before = model.asked.length;
    const full = await scene.ask({ max_tokens: 200 });
    assert.deepEqual([full.status, full.code], [446, "limit_exceeded"]);
    assert.equal(model.asked.length, before);
    assert.deepEqual(await scene.counted(), [907 + 7 * admitted, 0]);
  },
);

portkeyTest(
  "Portkey denies what can't be judged, and believes nothing of a client's request",
  async (scene) => {
    const { test, model, organizationId, person } = scene;
    const denied = async (expected: string, ...request: Parameters<Scene["ask"]>) => {
      const { status, code, text } = await scene.ask(...request);
      assert.deepEqual([status, code], [446, expected], text);
    };
    await denied("unsupported", { stream: true });
    await denied("invalid_request", { max_tokens: -100 });
    await denied("invalid_request", { n: "1" });
    await denied("limit_exceeded", { max_tokens: 1e15 });
    await denied("limit_exceeded", { max_tokens: 100, n: 20 });
    await denied("limit_exceeded", { max_tokens: undefined });
    await denied("no_customer", {}, { customer: null });
    await denied("no_customer", {}, { customer: {} });
    await denied("validation_failed", {}, { customer: "nobody" });
    const { id } = await createTestKey(test, person);
    assert.equal((await scene.ask({}, { customer: id })).status, 200);
    const revoked = await test.send(`/api/portal/api-keys/${id}`, {
      method: "DELETE",
      cookie: person.cookie,
    });
    assert.equal(revoked.status, 200);
    await denied("key_inactive", {}, { customer: id });
    assert.equal(model.asked.length, 1);

    // Someone else's hold isn't settled.
    const gatehouse = new Gatehouse({ url: scene.baseUrl, operatorToken: scene.operatorToken });
    const { hold } = await gatehouse.hold({
      organizationId,
      usage: { product: "models", metric: "tokens", quantity: 50 },
    });
    assert.equal((await scene.ask({ gatehouse: { hold: hold.id, input: 0, output: 0 } })).status, 200);
    assert.deepEqual(await scene.counted(), [14, 50]);
    // Without a usage, all that was held is charged.
    model.usage = undefined;
    assert.equal((await scene.ask()).status, 200);
    const [used] = await scene.counted();
    assert.ok(used > 14 + 100 + 50 && used < 14 + 100 + 200, String(used));

    // A failed request has no webhook after it.
    model.status = 500;
    assert.equal((await scene.ask()).status, 500);
    assert.ok((await scene.counted())[1] > 50 + 100);
    test.advance(601_000);
    assert.deepEqual(await scene.counted(), [used, 0]);
    model.status = 200;

    // This is why only chat completions may be passed to Portkey.
    const before = model.asked.length;
    await scene.ask({ input: "Hello" }, { path: "/v1/responses" });
    assert.equal(model.asked.length, before + 1);
    assert.deepEqual(await scene.counted(), [used, 0]);

    await scene.receiver.stop("SIGKILL");
    const { status, text } = await scene.ask();
    assert.equal(status, 446, text);
    assert.equal(model.asked.length, before + 1);
  },
);

Deno.test("the command of the guide creates a token for the receiver", () =>
  onServer({}, async ({ folder }) => {
    const env = { PATH: `${await installGatehouse(folder)}:${Deno.env.get("PATH")}` };
    assert.match(await runLines(guide("token"), { cwd: folder, env }), /^service_operator_\w+\n$/);
  }));

Deno.test("the receiver takes only Portkey's webhooks, and denies while Gatehouse is away", async () => {
  const gatehouse = new Gatehouse({
    url: `http://127.0.0.1:${freePort()}`,
    operatorToken: "service_operator_x",
  });
  const handler = portkeyHandler(gatehouse, { secret });
  const event = {
    eventType: "beforeRequestHook",
    requestType: "chatComplete",
    request: { json: { model: "m", max_tokens: 1, messages: [] }, isStreamingRequest: false },
    response: { json: {} },
    metadata: { customer: "customer-1" },
  };
  const send = (authorization: string, body: object = event) =>
    handler(
      new Request("http://x/", { method: "POST", headers: { authorization }, body: JSON.stringify(body) }),
    );
  for (
    const wrong of ["", "Bearer", "Bearer wrong", `Basic ${secret}`, `Bearer ${secret} `.padEnd(40, "x")]
  ) {
    assert.equal((await send(wrong)).status, 401);
  }
  const { verdict, data } = await (await send(`Bearer ${secret}`)).json();
  assert.deepEqual([verdict, data.code], [false, "connection_failed"]);
  const forged = { ...event, eventType: "afterRequestHook" };
  assert.equal((await (await send(`Bearer ${secret}`, forged)).json()).verdict, false);
});

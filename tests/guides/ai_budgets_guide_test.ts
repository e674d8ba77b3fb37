// docs/ai-budgets.md: its commands and its proxy run against the real program, with a server in place of OpenAI's.
import assert from "node:assert/strict";
import { npm, packClient } from "../support/client/package.ts";
import { modelBodies, wordsBytes } from "../support/client/model_bodies.ts";
import { freePort } from "../support/database/sqld.ts";
import { onServer } from "../support/process/scene.ts";
import { installGatehouse, readGuide, runLines, startCommand } from "../support/runner/guides.ts";
import { isMissing } from "../support/runner/needs.ts";
import { poll } from "../support/runner/poll.ts";

const block = await readGuide("ai-budgets.md");
const packages = "hono@4.13.19 @hono/node-server@2.1.8";
const { text: streamed, usage } = modelBodies["chat completions, streamed"]!;
const charge = (input: number, output: number) => Number((input * 0.15 + output * 0.6).toFixed(6));

/** Responds as OpenAI does. `stall` and `silence` stop before the last events and the first text, and `none` fails. */
function startOpenAi() {
  const asked: Record<string, unknown>[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    assert.equal(new URL(request.url).pathname, "/v1/chat/completions");
    assert.equal(request.headers.get("authorization"), "Bearer key of OpenAI");
    const body = await request.json();
    asked.push(body);
    const message = body.messages[0].content;
    if (message === "none") return Response.json({ error: { message: "no such model" } }, { status: 404 });
    const headers = { "content-type": "text/event-stream" };
    if (message !== "stall" && message !== "silence") return new Response(streamed, { headers });
    const first = message === "stall"
      ? streamed.slice(0, streamed.indexOf('"finish_reason":"stop"'))
      : ":\n\n";
    const start = (controller: ReadableStreamDefaultController<Uint8Array>) =>
      controller.enqueue(new TextEncoder().encode(first));
    return new Response(new ReadableStream({ start }), { headers });
  });
  return { url: `http://127.0.0.1:${server.addr.port}`, asked, stop: () => server.shutdown() };
}

Deno.test({
  name: "the guide sells access to a model within a budget, and charges what its streams say and deliver",
  ignore: isMissing("curl", "node", "npm"),
  fn: () =>
    onServer({}, async ({ folder, baseUrl }) => {
      const bin = await installGatehouse(folder);
      const env = { GATEHOUSE: baseUrl, PATH: `${bin}:${Deno.env.get("PATH")}` };
      const run = (lines: string) => runLines(lines, { cwd: folder, env });
      const printed = await run(`${block("product")}\necho "\n$TOKEN $PROXY_TOKEN"`);
      const [token = "", proxyToken = ""] = (printed.trim().split("\n").at(-1) ?? "").split(" ");
      const created = await run(`TOKEN=${token}\n${block("customer")}`);
      const { fullKey } = JSON.parse(created.slice(created.indexOf("}{") + 1));

      const work = `${folder}/proxy`;
      await Deno.mkdir(work);
      await Deno.writeTextFile(`${work}/package.json`, "{}");
      const packed = await packClient(work);
      const download = `https://auth.example.com/download/${packed.split("/").at(-1)}`;
      assert.equal(block("install").trim(), `npm install ${download} hono @hono/node-server`);
      await npm(`install ${packed} ${packages}`, work);
      const port = String(freePort());
      const here = (text: string) =>
        text.replaceAll("https://auth.example.com", baseUrl).replaceAll("3000", port);
      await Deno.writeTextFile(`${work}/proxy.mjs`, here(block("proxy.mjs")));
      const model = startOpenAi();
      const variables = { MODEL_URL: model.url, MODEL_KEY: "key of OpenAI", PROXY_TOKEN: proxyToken };
      const proxy = startCommand(block("start"), { cwd: work, env: { ...env, ...variables } });
      try {
        const url = `http://localhost:${port}/v1/chat/completions`;
        await poll(() => fetch(url).then((response) => response.text()).then(() => true, () => false));
        const withKey = (name: string) => run(`KEY=${fullKey}\n${here(block(name))}`);
        const left = async () => {
          const { limits: [limit] } = JSON.parse(await withKey("left"));
          return [limit.used, limit.held];
        };
        assert.equal(await withKey("ask"), streamed);
        const whole = charge(usage.inputTokens, usage.outputTokens);
        await poll(async () => (await left())[1] === 0);
        assert.deepEqual(await left(), [whole, 0]);
        assert.deepEqual(model.asked, [{
          model: "gpt-4o-mini",
          messages: [{ role: "user", content: "Say hello." }],
          max_completion_tokens: 1_000,
          stream: true,
          stream_options: { include_usage: true },
        }]);
        assert.equal(JSON.parse(await withKey("too much")).error.code, "limit_exceeded");
        assert.equal(model.asked.length, 1);

        const messages = [{ role: "user", content: "stall" }];
        const body = JSON.stringify({
          model: "gpt-4o",
          n: 9,
          stream: true,
          max_completion_tokens: null,
          messages,
        });
        const headers = { authorization: `Bearer ${fullKey}`, "content-type": "application/json" };
        let total = whole;
        for (const [message, output] of [["stall", Math.ceil(wordsBytes / 4)], ["silence", 0]] as const) {
          const leaving = new AbortController();
          const { signal } = leaving;
          const sent = body.replace("stall", message);
          const response = await fetch(url, { method: "POST", headers, body: sent, signal });
          await response.body!.getReader().read();
          assert.equal((await left())[1], charge(sent.length, 1_000));
          leaving.abort();
          await poll(async () => (await left())[1] === 0);
          total = Number((total + charge(sent.length / 4, output)).toFixed(6));
          assert.deepEqual(await left(), [total, 0]);
        }

        const failed = await fetch(url, { method: "POST", headers, body: body.replace("stall", "none") });
        assert.equal(failed.status, 404, await failed.text());
        await poll(async () => (await left())[1] === 0);
        assert.deepEqual(await left(), [total, 0]);
      } catch (error) {
        throw new Error(proxy.output(), { cause: error });
      } finally {
        await proxy.stop();
        await model.stop();
      }
    }),
});

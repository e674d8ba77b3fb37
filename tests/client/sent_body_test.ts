// What requireKey reads of a model's response while it passes: usage of every form, split and cut anywhere.
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { protectedModel, type ProtectedOptions } from "../support/client/protected_model.ts";
import { BodyReader } from "../../packages/client/src/sent_body.ts";
import { modelBodies, wordsBytes } from "../support/client/model_bodies.ts";
import { readGuide } from "../support/runner/guides.ts";

const block = await readGuide("client.md");
const tokens = (quantity: number) => ({ product: "models", metric: "tokens", quantity });
const documented = new Function("tokens", `${block("settle")} return options;`)(tokens) as ProtectedOptions;

const encode = (text: string) => new TextEncoder().encode(text);

function read(...chunks: readonly (string | Uint8Array)[]): BodyReader {
  const reader = new BodyReader();
  for (const chunk of chunks) reader.write(typeof chunk === "string" ? encode(chunk) : chunk);
  return reader;
}

function usageIn(...chunks: readonly (string | Uint8Array)[]) {
  const { usage } = read(...chunks);
  if (usage === null) return null;
  const { said: _said, ...rest } = usage;
  return rest;
}

for (const [name, { text, type, usage }] of Object.entries(modelBodies)) {
  Deno.test(`reads the usage of ${name}, split at any byte and with any line breaks`, () => {
    const forms = type === "application/json" ? [text] : ["\n", "\r\n", "\r"].flatMap((ending) => [
      text.replaceAll("\n", ending),
      `\ufeff: keep-alive {"${ending}${ending}${text.replaceAll("data: ", "data:").replaceAll("\n", ending)}`,
    ]);
    for (const form of forms) {
      const bytes = encode(form);
      for (let i = 0; i <= bytes.length; i++) {
        assert.deepEqual(usageIn(bytes.subarray(0, i), bytes.subarray(i)), usage, `split at ${i}`);
      }
      assert.deepEqual(usageIn(...Array.from(bytes, (byte) => Uint8Array.of(byte))), usage);
      assert.equal(read(bytes).bytes, bytes.length);
    }
  });
}

Deno.test("estimates the output of a stream that breaks off at any byte, and never more than its text", () => {
  for (const [name, { text, type, usage: whole }] of Object.entries(modelBodies)) {
    const bytes = encode(text);
    let last = 0;
    for (let i = 0; i <= bytes.length; i++) {
      const usage = usageIn(bytes.subarray(0, i));
      if (usage === null || !usage.isEstimate) continue;
      assert(usage.outputTokens >= last, `${name} at ${i}`);
      last = usage.outputTokens;
      assert(usage.inputTokens === 0 || usage.inputTokens === whole.inputTokens);
    }
    if (type === "text/event-stream") assert.equal(last, Math.ceil(wordsBytes / 4), name);
  }
});

Deno.test("reads what an interrupted stream has said so far", () => {
  const start = modelBodies["Anthropic's messages, streamed"]!.text.split("event: content_block_start")[0]!;
  assert.deepEqual(usageIn(start), {
    ...{ inputTokens: 610, cachedTokens: 500, outputTokens: 1, totalTokens: 611 },
    isEstimate: true,
  });
  // Others send it with each chunk.
  const each = 'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}\n\n';
  assert.deepEqual(usageIn(each, each.replace("2}", "3}"), 'data: {"choices'), {
    ...{ inputTokens: 5, cachedTokens: 0, outputTokens: 3, totalTokens: 8 },
    isEstimate: false,
  });
});

Deno.test("reads events of several lines, and those after a broken one", () => {
  const usage = { inputTokens: 5, cachedTokens: 0, outputTokens: 2, totalTokens: 7, isEstimate: false };
  for (const ending of ["\n", "\r\n", "\r"]) {
    const lines = [
      "data: {",
      'data:"usage": {"prompt_tokens":',
      "data: 5,",
      'data: "completion_tokens": 2}}',
      "",
    ];
    assert.deepEqual(usageIn(lines.join(ending)), usage);
    for (
      const broken of ['data: {"a": {"b', 'data: [[["', 'data: {"usage": {"prompt_tokens": 1', "data: }}]"]
    ) {
      const gap = broken.endsWith('"b') ? ending : ending + ending;
      assert.deepEqual(usageIn(broken + gap, lines.join(ending)), usage, broken);
    }
  }
});

Deno.test("finds no usage elsewhere: in texts, deeper, in other fields, in other bodies, and of other forms", () => {
  const usage = '{"prompt_tokens":5,"completion_tokens":2}';
  const none = [
    `{"a":{"b":{"usage":${usage}}}}`,
    `[{"usage":${usage}}]`,
    `{"usage":[${usage}]}`,
    `{"data":{"usage":${usage}}}`,
    `{"tool_usage":${usage}}`,
    `{"id":"usage","x":${usage}}`,
    `{"id":${JSON.stringify(`"usage":${usage}`)}}`,
    '{"usage":null,"x":{"prompt_tokens":5}}',
    '{"usage":{"disk":5}}',
    '{"usage":{"prompt_tokens":"5","completion_tokens":-1,"output_tokens":1e999}}',
    '{"usage":{"prompt_tokens":5',
    `event: {"usage":${usage}}\n\n`,
    `<p>{"usage":${usage}}</p>`,
    `{"usage":{"x":"${"y".repeat(20_000)}","prompt_tokens":5}}`,
    "",
  ];
  for (const body of none) assert.equal(usageIn(body), null, body.slice(0, 99));
  for (const { text } of Object.values(modelBodies)) assert.equal(usageIn(gzipSync(text)), null);
});

Deno.test("reads usage behind any amount of text and numbers, without keeping them", () => {
  const long = `{"data":[{"embedding":[${"0.123456789,".repeat(200_000)}0]}],"x":"${"y".repeat(3_000_000)}",`;
  const usage = '"usage":{"prompt_tokens":8,"total_tokens":8}}';
  assert.deepEqual(usageIn(long, usage), {
    ...{ inputTokens: 8, cachedTokens: 0, outputTokens: 0, totalTokens: 8, isEstimate: false },
  });
  const reader = read('data: {"usage":{"a":"');
  const chunk = encode("[{".repeat(32_768));
  const before = Deno.memoryUsage().heapUsed;
  for (let i = 0; i < 256; i++) reader.write(chunk);
  assert(Deno.memoryUsage().heapUsed - before < 8_000_000);
});

Deno.test("takes all fields of usage under the names of the API", () => {
  const { said } = read(modelBodies["Anthropic's messages, streamed"]!.text).usage!;
  assert.deepEqual([said["output_tokens"], said["cache_creation_input_tokens"]], [77, 90]);
});

Deno.test("a response that the client or the model breaks off at any byte settles once, with what was delivered", async () => {
  for (const [name, { text }] of Object.entries(modelBodies)) {
    const bytes = encode(text);
    const { respond, ended, close } = protectedModel(documented);
    for (const [end, step] of [["canceled", 1], ["broken", 7], ["whole", 50]] as const) {
      for (let i = 0; i <= bytes.length; i += step) {
        const delivered = await respond({ first: bytes.slice(0, i), rest: bytes.slice(i), end });
        const usage = usageIn(delivered);
        const expected = usage === null ? "released" : `settled ${usage.totalTokens}`;
        assert.deepEqual(await ended(), [expected], `${name}, ${end} at ${i}`);
        assert.deepEqual(delivered, end === "whole" ? bytes : bytes.slice(0, i));
      }
    }
    await close();
  }
});

// Bodies of responses as the APIs of OpenAI and Anthropic send them, with what they say about tokens.
import type { ModelUsage } from "../../../packages/client/src/index.ts";

export interface ModelBody {
  readonly type: "application/json" | "text/event-stream";
  readonly text: string;
  readonly usage: Omit<ModelUsage, "said">;
}

const events = (list: readonly unknown[], isNamed: boolean) =>
  list.map((event) => {
    const name = isNamed ? `event: ${(event as { type: string }).type}\n` : "";
    return `${name}data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`;
  }).join("");

const words = ["Grüße", ', "usage":', ' {"prompt_tokens": 9}', " \\ 你好 🌍", "!\n"];

const chunk = (content: string, more: object = {}) => ({
  id: "chatcmpl-123",
  object: "chat.completion.chunk",
  created: 1694268190,
  model: "gpt-4o-mini",
  choices: [{ index: 0, delta: { role: "assistant", content }, logprobs: null, finish_reason: null }],
  usage: null,
  ...more,
});

const openAiUsage = {
  prompt_tokens: 19,
  completion_tokens: 10,
  total_tokens: 29,
  prompt_tokens_details: { cached_tokens: 8, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 3 },
};
const openAi = { inputTokens: 19, cachedTokens: 8, outputTokens: 10, totalTokens: 29, isEstimate: false };

const responsesUsage = {
  input_tokens: 36,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 87,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 123,
};
const responses = { inputTokens: 36, cachedTokens: 0, outputTokens: 87, totalTokens: 123, isEstimate: false };
const response = {
  id: "resp_1",
  object: "response",
  status: "completed",
  output: [{ text: words.join("") }],
};

const anthropicStart = {
  input_tokens: 20,
  cache_creation_input_tokens: 90,
  cache_read_input_tokens: 500,
  cache_creation: { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 60 },
  output_tokens: 1,
};
const anthropic = {
  inputTokens: 610,
  cachedTokens: 500,
  outputTokens: 77,
  totalTokens: 687,
  isEstimate: false,
};
const message = { id: "msg_1", type: "message", role: "assistant", model: "claude-sonnet-4-5" };
const toolInput = { usage: { input_tokens: 1, output_tokens: 1 } };

export const modelBodies: Readonly<Record<string, ModelBody>> = {
  "chat completions, streamed": {
    type: "text/event-stream",
    text: events([
      ...words.map((word) => chunk(word)),
      chunk("", { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
      chunk("", { choices: [], usage: openAiUsage }),
      "[DONE]",
    ], false),
    usage: openAi,
  },
  "a chat completion": {
    type: "application/json",
    text: JSON.stringify(
      {
        ...chunk(""),
        choices: [{ message: { role: "assistant", content: words.join("") } }],
        usage: openAiUsage,
      },
      null,
      2,
    ),
    usage: openAi,
  },
  "the Responses API, streamed": {
    type: "text/event-stream",
    text: events([
      { type: "response.created", response: { ...response, output: [], usage: null } },
      ...words.map((delta) => ({ type: "response.output_text.delta", output_index: 0, delta })),
      { type: "response.output_text.done", output_index: 0, text: words.join("") },
      {
        type: "response.completed",
        response: { ...response, tool_usage: toolInput.usage, usage: responsesUsage },
      },
    ], true),
    usage: responses,
  },
  "a response of the Responses API": {
    type: "application/json",
    text: JSON.stringify({ ...response, usage: responsesUsage }),
    usage: responses,
  },
  "Anthropic's messages, streamed": {
    type: "text/event-stream",
    text: events([
      { type: "message_start", message: { ...message, content: [], usage: anthropicStart } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "ping" },
      ...words.map((text) => ({
        type: "content_block_delta",
        index: 0,
        delta: { type: "text_delta", text },
      })),
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason: "end_turn", stop_sequence: null },
        usage: { output_tokens: 77 },
      },
      { type: "message_stop" },
    ], true),
    usage: anthropic,
  },
  "a message of Anthropic": {
    type: "application/json",
    text: JSON.stringify({
      ...message,
      content: [{ type: "tool_use", id: "toolu_1", name: "report", input: toolInput }],
      usage: { ...anthropicStart, output_tokens: 77 },
    }),
    usage: anthropic,
  },
};

/** The bytes of the words in JSON, of which 4 count as a token. */
export const wordsBytes =
  new TextEncoder().encode(words.map((word) => JSON.stringify(word).slice(1, -1)).join("")).length;

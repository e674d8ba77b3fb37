// Mappings of known gateways, to start from.
import type { EventMapping, MappedMetric } from "./event_mapping.ts";

const of = (metric: Partial<MappedMetric> & Pick<MappedMetric, "path" | "metric">): MappedMetric => ({
  productSlug: "models",
  scale: null,
  round: null,
  whenMissing: "reject",
  properties: {},
  ...metric,
});
const tokens = (path: string, type: string) => of({ metric: "tokens", path, properties: { type } });

/** By name. `litellm`: its callback `openmeter`. `openmeter`: the example of its quick start. `kong`: its plugin Metering & Billing. */
export const mappingPresets: Readonly<Record<string, Omit<EventMapping, "id">>> = {
  litellm: {
    name: "LiteLLM",
    type: "litellm_tokens",
    source: "litellm-proxy",
    metrics: [
      { ...tokens("prompt_tokens", "input"), whenMissing: "skip" },
      { ...tokens("completion_tokens", "output"), whenMissing: "skip" },
      of({ metric: "micro_dollars", path: "cost", scale: "1000000", whenMissing: "skip" }),
    ],
    properties: { model: "model" },
    subject: null,
  },
  openmeter: {
    name: "OpenMeter",
    type: "prompt",
    source: null,
    metrics: [of({ metric: "tokens", path: "tokens" })],
    properties: { model: "model", type: "type" },
    subject: null,
  },
  kong: {
    name: "Kong AI Gateway",
    type: "kong.llm_request",
    source: null,
    metrics: [of({ metric: "tokens", path: "tokens" })],
    properties: { model: "model", type: "type" },
    subject: null,
  },
};

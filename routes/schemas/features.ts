// The shape of what plans include.
import { z } from "@hono/zod-openapi";
import { featureFault, featureForm, planFeaturesMax } from "../../domain/feature.ts";
import { atMost } from "./messages.ts";

export const featuresIn = z.array(z.string().regex(featureForm, featureFault))
  .refine((names) => new Set(names).size <= planFeaturesMax, atMost(planFeaturesMax, "features"))
  .openapi({
    description:
      `What the plan includes: up to ${planFeaturesMax} names. Gatehouse stores and reports them; your products decide ` +
      "what they mean.",
    example: ["maps:satellite", "sso"],
  });

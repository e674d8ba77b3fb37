// The shape of what plans include.
import { z } from "@hono/zod-openapi";
import { featureFault, featureForm, type FeatureNames, planFeaturesMax } from "../../domain/feature.ts";
import { nameSchema } from "./common.ts";
import { atMost } from "./messages.ts";

export const featuresIn = z.array(z.string().regex(featureForm, featureFault))
  .refine((names) => new Set(names).size <= planFeaturesMax, atMost(planFeaturesMax, "features"))
  .openapi({
    description:
      `What the plan includes: up to ${planFeaturesMax} names. Gatehouse stores and reports them; your products decide ` +
      "what they mean.",
    example: ["maps:satellite", "sso"],
  });

const namesExample = { sso: "Single sign-on" };
export const featureNamesIn: z.ZodType<FeatureNames> = z.record(
  z.string(),
  nameSchema("The name of a feature"),
)
  .refine((names) => Object.keys(names).length <= planFeaturesMax, atMost(planFeaturesMax, "names"))
  .openapi({
    description:
      "Names that customers read instead of features, by feature. Features without one are shown as they are.",
    example: namesExample,
  });
export const featureNamesOut = z.record(z.string(), z.string()).openapi({
  description: "Names that customers read instead of features, by feature.",
  example: namesExample,
});

// The features of a plan.
import { featureName, type FeatureNames } from "../../domain/feature.ts";

interface PlanFeatures {
  readonly features: readonly string[];
  readonly featureNames: FeatureNames;
  /** Shows features that have names as they are, too. */
  readonly withSlugs?: boolean;
}

/** Features by their names, or as they are without one. */
export function FeatureList({ features, featureNames, withSlugs = false }: PlanFeatures) {
  if (features.length === 0) return <span class="muted">None</span>;
  return (
    <span class="wrapped">
      {features.map((feature, at) => {
        const name = featureName(feature, featureNames);
        return (
          <>
            {at > 0 && ", "}
            {name === undefined ? <code>{feature}</code> : <bdi>{name}</bdi>}
            {name !== undefined && withSlugs && (
              <>
                {" "}(<code>{feature}</code>)
              </>
            )}
          </>
        );
      })}
    </span>
  );
}

/** A quiet line with the features of an organization's plan. Nothing if it has none. */
export function PlanIncludes(plan: PlanFeatures) {
  if (plan.features.length === 0) return null;
  return (
    <p class="muted small">
      The plan includes <FeatureList {...plan} />.
    </p>
  );
}

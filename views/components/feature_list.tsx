// The features of a plan.
import { featureName, type FeatureNames } from "../../domain/feature.ts";

interface PlanFeatures {
  readonly features: readonly string[];
  readonly featureNames: FeatureNames;
}

/** Features by their names, or as they are without one. `withSlugs`: as they are, too. */
export function FeatureList(
  { features, featureNames, withSlugs = false }: PlanFeatures & { withSlugs?: boolean },
) {
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

/** A quiet line of what an organization's plan includes. Nothing if it has no features. */
export function PlanIncludes(plan: PlanFeatures) {
  if (plan.features.length === 0) return null;
  return (
    <p class="muted small">
      Your plan includes <FeatureList features={plan.features} featureNames={plan.featureNames} />.
    </p>
  );
}

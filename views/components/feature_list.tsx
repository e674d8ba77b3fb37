// The features of a plan.
export function FeatureList({ features }: { features: readonly string[] }) {
  if (features.length === 0) return <span class="muted">None</span>;
  return (
    <span class="wrapped">
      {features.map((name, at) => (
        <>
          {at > 0 && ", "}
          <code>{name}</code>
        </>
      ))}
    </span>
  );
}

/** A quiet line of what an organization's plan includes. Nothing if it has no features. */
export function PlanIncludes({ features }: { features: readonly string[] }) {
  if (features.length === 0) return null;
  return (
    <p class="muted small">
      Your plan includes <FeatureList features={features} />.
    </p>
  );
}

// Features that a plan includes. Gatehouse stores and reports them; products define their meaning.
import { keyPermissionForm } from "./keys/key_permissions.ts";
import { keyPermissionCharactersMax } from "./limits.ts";

export const planFeaturesMax = 32;

/** Features have the form of permissions of keys. */
export const featureForm = keyPermissionForm;
export const featureCharactersMax = keyPermissionCharactersMax;
export const featureFault =
  `must be 1 to ${featureCharactersMax} lowercase letters, digits, colons, dots, dashes or underscores, ` +
  "beginning with a letter or digit.";

/** Names that customers read, by feature. */
export type FeatureNames = Readonly<Record<string, string>>;

/** Returns the name of a feature, or undefined without one. */
export function featureName(feature: string, names: FeatureNames): string | undefined {
  return Object.hasOwn(names, feature) ? names[feature] : undefined;
}

/** Returns the names of some features, sorted as these are. */
export function namesOf(features: readonly string[], names: FeatureNames): FeatureNames {
  return Object.fromEntries(features.flatMap((feature) => {
    const name = featureName(feature, names);
    return name === undefined ? [] : [[feature, name]];
  }));
}

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

/** Returns the names of a typed list, which are separated by spaces or commas. */
export function typedFeatures(text: string): string[] {
  return text.split(/[\s,]+/).filter((name) => name !== "");
}

// Checks whether stored secrets are encrypted, and with a key that is set.
import type { Config } from "../../config.ts";
import { type CheckResult, resultsOf } from "../../domain/check_result.ts";
import { countOf } from "../../domain/number_text.ts";
import { Secrets } from "../../services/secrets.ts";

/** @param counts How many secrets begin with each text: see `countStoredSecrets()`. */
export function secretsResults(
  keys: Config["secretsKeys"],
  counts: readonly { readonly start: string; readonly count: number }[],
): CheckResult[] {
  const result = resultsOf("SECRETS_KEY");
  const secrets = new Secrets(keys);
  const stored = (isIncluded: (start: string) => boolean) =>
    counts.filter(({ start }) => isIncluded(start)).reduce((sum, { count }) => sum + count, 0);
  const all = stored(() => true);
  const missing = stored((start) => !secrets.canOpen(start));
  const older = stored((start) => secrets.canOpen(start) && !secrets.isCurrent(start));
  const results: CheckResult[] = [];
  if (missing > 0) {
    results.push(result.wrong(
      `${countOf(missing, "stored secret")} can't be read: encrypted with a key that isn't set.`,
      "Add that key to SECRETS_KEY. If it is lost, rotate the secrets of webhooks, enter those of providers again, and run gatehouse keys rotate --now.",
    ));
  }
  if (older > 0) {
    results.push(result.warning(
      `${countOf(older, "stored secret")} not encrypted with the newest key.`,
      "The server encrypts them after its start. Keep the older keys until this warning is gone.",
    ));
  }
  if (keys.length === 0 && all > missing) {
    results.push(result.warning(
      `Not set: ${countOf(all - missing, "secret")} stored unencrypted.`,
      "Set SECRETS_KEY to a key from: openssl rand -base64 32",
    ));
  }
  if (results.length > 0) return results;
  if (all === 0) {
    return [result.ok(`${keys.length === 0 ? "Not set" : "Set"}, and there are no stored secrets.`)];
  }
  return [result.ok(`${countOf(all, "stored secret")} encrypted with the newest key.`)];
}

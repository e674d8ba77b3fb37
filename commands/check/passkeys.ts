// Checks whether passkeys work at the host of BASE_URL: browsers keep each for the host at which it was added.
import { type CheckResult, resultsOf } from "../../domain/check_result.ts";
import { countOf } from "../../domain/number_text.ts";

/** @param counts Of passkeys by other hosts: see `countPasskeysElsewhere()`. @returns A warning for each host. */
export function passkeyResults(counts: readonly { host: string; count: number }[]): CheckResult[] {
  const result = resultsOf("Passkeys");
  return counts.map(({ host, count }) =>
    result.warning(
      `${countOf(count, "passkey")} can only be used at ${host}, which isn't the host of BASE_URL.`,
      "Set BASE_URL back, or ask people to add a passkey again.",
    )
  );
}

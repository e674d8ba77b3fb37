// Results of checks: findings, a verdict, and advice. They never contain secrets.

/** `warning`: it works, but someone should look at it. `wrong`: something is broken or unsafe. */
export type Verdict = "ok" | "warning" | "wrong";

export interface CheckResult {
  /** The subject, in a word or two. */
  readonly about: string;
  readonly verdict: Verdict;
  /** The finding, in one or two sentences. */
  readonly saw: string;
  readonly advice?: string;
  /** True if the reverse proxy's configuration may be the cause. */
  readonly isForProxy?: boolean;
}

export type CheckResults = ReturnType<typeof resultsOf>;

export function resultsOf(about: string, options: Pick<CheckResult, "isForProxy"> = {}) {
  const problem = (verdict: Verdict) => (saw: string, advice: string): CheckResult => (
    { about, verdict, saw, advice, ...options }
  );
  return {
    ok: (saw: string): CheckResult => ({ about, verdict: "ok", saw }),
    warning: problem("warning"),
    wrong: problem("wrong"),
  };
}

/** Returns `ok` if there are no results. */
export function worstVerdict(results: readonly CheckResult[]): Verdict {
  const found = new Set(results.map(({ verdict }) => verdict));
  return found.has("wrong") ? "wrong" : found.has("warning") ? "warning" : "ok";
}

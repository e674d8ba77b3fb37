// Results of checks: what was found, a verdict, and advice. They never contain secrets.

/** `warning`: it works, but someone should look at it. `wrong`: something is broken or unsafe. */
export type Verdict = "ok" | "warning" | "wrong";

/** The result of one check, in words for an operator. */
export interface CheckResult {
  /** What was checked, in a word or two. */
  readonly about: string;
  readonly verdict: Verdict;
  /** One or two sentences. */
  readonly saw: string;
  /** What to do about a problem. */
  readonly advice?: string;
  /** Whether the reverse proxy's configuration may be the cause. */
  readonly isForProxy?: boolean;
}

/** Creates the results of one check. */
export interface CheckResults {
  ok(saw: string): CheckResult;
  warning(saw: string, advice: string): CheckResult;
  wrong(saw: string, advice: string): CheckResult;
}

/** @param about What is checked. @param options `isForProxy`: the reverse proxy may be the cause of problems. */
export function resultsOf(about: string, options: { isForProxy?: boolean } = {}): CheckResults {
  return {
    ok: (saw) => ({ about, verdict: "ok", saw }),
    warning: (saw, advice) => ({ about, verdict: "warning", saw, advice, ...options }),
    wrong: (saw, advice) => ({ about, verdict: "wrong", saw, advice, ...options }),
  };
}

const rank: Readonly<Record<Verdict, number>> = { ok: 0, warning: 1, wrong: 2 };

/** @returns The worst verdict; `ok` if there are no results. */
export function worstVerdict(results: readonly CheckResult[]): Verdict {
  return results.reduce<Verdict>(
    (worst, { verdict }) => rank[verdict] > rank[worst] ? verdict : worst,
    "ok",
  );
}

// What a check has to say: what was seen, whether it fits, and what to do when it does not. Plain words for an operator; never
// a secret.

/** `warning`: it works, and somebody should look at it. `wrong`: something does not work, or is not safe. */
export type Verdict = "ok" | "warning" | "wrong";

/** The answer of one check. */
export interface Finding {
  /** What was looked at: a word or two. */
  readonly about: string;
  readonly verdict: Verdict;
  /** One or two sentences. */
  readonly saw: string;
  /** What to do. Missing when there is nothing to do. */
  readonly advice?: string;
  /** The reverse proxy's settings can be what is to be changed. */
  readonly isForProxy?: boolean;
}

const rank: Readonly<Record<Verdict, number>> = { ok: 0, warning: 1, wrong: 2 };

/** @returns The worst of all; `ok` of none. */
export function worstVerdict(findings: readonly Finding[]): Verdict {
  return findings.reduce<Verdict>(
    (worst, { verdict }) => rank[verdict] > rank[worst] ? verdict : worst,
    "ok",
  );
}

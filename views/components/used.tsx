// How much of what is allowed is used.
import { usedWords } from "../text/limit.ts";
import type { Measure } from "../text/quantity.ts";
import { Share } from "./share.tsx";

export function Used(
  { used, allowed, measure }: { used: number; allowed: number; measure?: Measure | undefined },
) {
  const percent = allowed === 0 ? 100 : 100 * used / allowed;
  return (
    <span>
      <Share percent={percent} isUsed />
      <span class="muted tiny">{usedWords(used, allowed, measure)}</span>
    </span>
  );
}

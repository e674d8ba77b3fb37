// A share of a total, as a bar and in percent.
import type { SeriesColor } from "../../domain/meter/catalogue.ts";
import { percentText, usedPercentText } from "../../domain/number_text.ts";

/** The bar stands out from this percentage of a limit on. */
const nearPercent = 80;

/** `percent`: of the total; null if the total is 0. `isUsed`: of a limit, which can be exceeded. `color`: a product's. */
export function Share(
  { percent, isUsed = false, color }: {
    percent: number | null;
    isUsed?: boolean;
    color?: SeriesColor | undefined;
  },
) {
  const level = !isUsed || percent === null || percent < nearPercent ? "" : percent < 100 ? " near" : " full";
  return (
    <span class={`share${level}${color === undefined ? "" : ` series-${color}`}`}>
      <svg class="share-bar" aria-hidden="true">
        <rect class="share-all" width="100%" height="100%" rx="3" />
        {percent
          ? <rect class="share-part" width={`${Math.min(percent, 100)}%`} height="100%" rx="3" />
          : null}
      </svg>
      <span class="num">
        {percent === null ? "–" : isUsed ? usedPercentText(percent) : percentText(percent, { always: true })}
      </span>
    </span>
  );
}

// A share of a total, as a bar and in percent.

/** @param props `percent`: of the total; null if the total is 0. */
export function Share({ percent }: { percent: number | null }) {
  return (
    <span class="share">
      <svg class="share-bar" aria-hidden="true">
        <rect class="share-all" width="100%" height="100%" rx="3" />
        {percent ? <rect class="share-part" width={`${percent}%`} height="100%" rx="3" /> : null}
      </svg>
      <span class="num">{percent === null ? "–" : `${percent.toFixed(1)}%`}</span>
    </span>
  );
}

// The change of usage since an earlier period.
import { percentText } from "../../domain/number_text.ts";
import { Icon } from "./icon.tsx";

/** Adds word joiners to a period, which prevent line breaks within a range of days. */
export function unbroken(period: string): string {
  return period.replace(/(?<=\d)–(?=\d)/, "\u2060–\u2060");
}

/** The change in words: `12.4% more than October 1–22`. */
export function Change({ percent, period }: {
  /** Null if nothing was used then. */
  percent: number | null;
  /** The period to compare with, such as `October 1–22`. */
  period: string;
}) {
  const than = unbroken(period);
  if (percent === null) return <>{`No usage during ${than}`}</>;
  if (percent === 0) return <>{`Same as ${than}`}</>;
  return (
    <>
      <span class="change">
        <Icon name={percent > 0 ? "up" : "down"} />
        {`${percentText(percent)} ${percent > 0 ? "more" : "less"}`}
      </span>
      {` than ${than}`}
    </>
  );
}

/** The change in a cell: an arrow and `12.4%` or `36×`; `New` if nothing was used before. */
export function ShortChange({ percent }: { percent: number | null }) {
  if (percent === null) return <span class="muted">New</span>;
  if (percent === 0) return <span class="muted">Same</span>;
  return (
    <span class="change">
      <Icon name={percent > 0 ? "up" : "down"} />
      {percentText(percent, { always: true })}
      <span class="unseen">{percent > 0 ? " more" : " less"}</span>
    </span>
  );
}

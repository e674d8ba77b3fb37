// The rows of a form, with as many empty ones as can be added at a time.
import type { Child } from "hono/jsx";
import { Icon } from "./icon.tsx";

const emptyRows = 3;

/** Each empty row offers the next one. `count`: rows that aren't empty. `row`: returns the one at an index. */
export function AddableRows(
  { count, rowsMax, label, row }: {
    count: number;
    rowsMax: number;
    label: string;
    row: (index: number) => Child;
  },
) {
  const rows = Math.min(count + emptyRows, rowsMax);
  const addable = (index: number): Child =>
    index < rows && (
      <details class="event-group" open={index === 0}>
        <summary>
          <Icon name="chevron" />
          {label}
        </summary>
        <div class="stacked">
          {row(index)}
          {addable(index + 1)}
        </div>
      </details>
    );
  return (
    <>
      {Array.from({ length: count }, (_, index) => row(index))}
      {addable(count)}
    </>
  );
}

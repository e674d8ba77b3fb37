// Tables that turn into cards on a phone. The roles are written out because CSS that lays rows out as cards would
// otherwise take them away from screen readers.
import type { Child } from "hono/jsx";

/** A column's heading. */
export interface Column {
  readonly title: string;
  /** Numbers stand at the right. */
  readonly isNumber?: boolean;
  /** Read out only: for the column of actions. */
  readonly isUnseen?: boolean;
}

/** A table with headings; its children are {@linkcode Row}s. */
export function Table(props: { label: string; columns: readonly Column[]; children: Child }) {
  return (
    <table class="stack" role="table" aria-label={props.label}>
      <thead role="rowgroup">
        <tr role="row">
          {props.columns.map((column) => (
            <th role="columnheader" scope="col" class={column.isNumber ? "num" : undefined}>
              {column.isUnseen ? <span class="unseen">{column.title}</span> : column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">{props.children}</tbody>
    </table>
  );
}

/** A row; `over` for what no longer counts. */
export function Row({ over = false, children }: { over?: boolean; children: Child }) {
  return <tr role="row" class={over ? "over" : undefined}>{children}</tr>;
}

/** A cell: `label` names it on a phone, `place` is where it goes in the card there. */
export function Cell(
  props: { label?: string; place?: "title" | "state" | "actions"; isNumber?: boolean; children?: Child },
) {
  const classes = [props.place ?? "", props.isNumber ? "num" : ""].filter((one) => one !== "").join(" ");
  return (
    <td role="cell" class={classes || undefined} data-label={props.label}>
      {props.children ?? null}
    </td>
  );
}

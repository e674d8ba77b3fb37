// Tables that turn into cards on a phone. Explicit roles keep them tables for screen readers when CSS changes the layout.
import type { Child } from "hono/jsx";

/** A column heading. */
export interface Column {
  readonly title: string;
  /** Aligns numbers to the right. */
  readonly isNumber?: boolean;
  /** For screen readers only, as for the column of actions. */
  readonly isUnseen?: boolean;
  /** Left out where there is little room, as are its cells. */
  readonly isOptional?: boolean;
}

/** The column of a row's actions. */
export const actionsColumn = { title: "Actions", isUnseen: true };

/** A table. Its children are {@linkcode Row}s. `isSmall`: its rows fit on a phone, and don't turn into cards. */
export function Table(
  props: { label: string; columns: readonly (string | Column)[]; isSmall?: boolean; children: Child },
) {
  const columns = props.columns.map((column) => typeof column === "string" ? { title: column } : column);
  return (
    <table class={props.isSmall ? "rows" : "stack"} role="table" aria-label={props.label}>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column: Column) => (
            <th role="columnheader" scope="col" class={classesOf(column)}>
              {column.isUnseen ? <span class="unseen">{column.title}</span> : column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">{props.children}</tbody>
    </table>
  );
}

/** A row. `over`: it no longer counts. */
export function Row({ over = false, children }: { over?: boolean; children: Child }) {
  return <tr role="row" class={over ? "over" : undefined}>{children}</tr>;
}

/** A cell with a `value`, or children. On a phone, `label` names it and `place` is its position in the card. A `line` is only there. */
export function Cell(props: {
  label?: string;
  place?: "title" | "state" | "actions" | "line";
  isNumber?: boolean;
  isOptional?: boolean;
  value?: Child;
  children?: Child;
}) {
  return (
    <td role="cell" class={classesOf(props)} data-label={props.label}>
      {props.value ?? props.children ?? null}
    </td>
  );
}

function classesOf(
  { place, isNumber, isOptional }: { place?: string; isNumber?: boolean; isOptional?: boolean },
): string | undefined {
  return [place ?? "", isNumber ? "num" : "", isOptional ? "drop" : ""].filter((one) => one !== "").join(
    " ",
  ) ||
    undefined;
}

/** The name that people gave to the object of a row. */
export function Name({ text }: { text: string }) {
  return (
    <div class="name">
      <bdi>{text}</bdi>
    </div>
  );
}

/** The same as a link. `note`: a line below it. */
export function LinkedName({ href, name, note }: { href: string; name: string; note?: string }) {
  return (
    <>
      <a class="name" href={href}>
        <bdi>{name}</bdi>
      </a>
      {note && <div class="muted tiny">{note}</div>}
    </>
  );
}

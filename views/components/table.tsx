// Tables that turn into cards on a phone. Explicit roles keep them tables for screen readers when CSS changes the layout.
import type { Child } from "hono/jsx";
import { Icon } from "./icon.tsx";

export type SortDirection = "ascending" | "descending";

export interface Column {
  readonly title: string;
  readonly isNumber?: boolean;
  readonly isUnseen?: boolean;
  /** Left out where there is little room, as are its cells. */
  readonly isOptional?: boolean;
  /** Left out with its cells as the card gets narrower, 1 first. Cells that need no label return in the card of a row. */
  readonly drop?: 1 | 2 | 3;
  readonly place?: "total" | "line";
  /** Makes the heading a link that sorts the rows. `direction`: null unless they are sorted by this column. */
  readonly sort?: { readonly href: string; readonly direction: SortDirection | null } | undefined;
}

export const actionsColumn = { title: "Actions", isUnseen: true };

/**
 * On a phone, rows become cards with the labels of their cells, cards of cells that need no label, rows that fit as they
 * are, or two lines with the name and the total first.
 */
export type TableKind = "stack" | "cards" | "rows" | "breakdown";

/** `isSmall`: its rows fit on a phone. */
export function Table(
  props: {
    label: string;
    columns: readonly (string | Column)[];
    kind?: TableKind;
    isSmall?: boolean;
    children: Child;
  },
) {
  const columns = props.columns.map((column) => typeof column === "string" ? { title: column } : column);
  return (
    <table class={props.kind ?? (props.isSmall ? "rows" : "stack")} role="table" aria-label={props.label}>
      <thead role="rowgroup">
        <tr role="row">{columns.map((column) => <Heading column={column} />)}</tr>
      </thead>
      <tbody role="rowgroup">{props.children}</tbody>
    </table>
  );
}

function Heading({ column }: { column: Column }) {
  const { title, isUnseen, sort } = column;
  return (
    <th
      role="columnheader"
      scope="col"
      class={classesOf(column)}
      aria-sort={sort?.direction ?? undefined}
    >
      {isUnseen ? <span class="unseen">{title}</span> : sort === undefined ? title : (
        <a href={sort.href}>
          {title}
          {sort.direction && <Icon name={sort.direction === "ascending" ? "up" : "down"} />}
        </a>
      )}
    </th>
  );
}

/** `id`: the target of links. `over`: the row no longer counts. */
export function Row({ id, over = false, children }: { id?: string; over?: boolean; children: Child }) {
  return <tr role="row" id={id} class={over ? "over" : undefined}>{children}</tr>;
}

export interface CellProps {
  readonly label?: string;
  readonly place?: "title" | "state" | "actions" | "line" | "total" | "start" | "end" | "client";
  readonly isNumber?: boolean;
  readonly isOptional?: boolean;
  readonly drop?: 1 | 2 | 3;
  readonly isOffCard?: boolean;
  readonly isQuiet?: boolean;
  readonly value?: Child;
  readonly children?: Child;
}

/**
 * On a phone, `label` names the cell and `place` is its position in the card. A `line` is shown only there, and a cell that is
 * `isOffCard` only elsewhere.
 */
export function Cell(props: CellProps) {
  return (
    <td role="cell" class={classesOf(props)} data-label={props.label}>
      {props.value ?? props.children ?? null}
    </td>
  );
}

function classesOf(
  { place, isNumber, isOptional, drop, isOffCard, isQuiet }: Omit<CellProps, "label" | "value" | "children">,
): string | undefined {
  const classes = [
    place,
    isNumber && "num",
    isOptional && "drop",
    drop && `drop-${drop}`,
    isOffCard && "off-card",
    isQuiet && "quiet",
  ];
  return classes.filter((one) => one).join(" ") || undefined;
}

/** Words that are seen only in the card of a row, or only outside of it. */
export function Words({ onCard, offCard }: { onCard?: string; offCard?: string }) {
  return (
    <>
      {onCard && <span class="on-card">{onCard}</span>}
      {offCard && <span class="off-only">{offCard}</span>}
    </>
  );
}

export function Name({ text }: { text: string }) {
  return (
    <div class="name">
      <bdi>{text}</bdi>
    </div>
  );
}

/** Cut off after two lines. `note`: a line below. */
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

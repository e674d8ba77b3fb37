// A table of items, described by its columns. Tables whose rows differ are written with `Table` itself.
import type { Child } from "hono/jsx";
import { ButtonLink, type ButtonTone } from "./button.tsx";
import { actionsColumn, Cell, type CellProps, type Column, Row, Table, type TableKind } from "./table.tsx";

export interface ItemColumn<Item> extends Omit<Column, "place"> {
  /** The cell's place in the card of a row on a phone; otherwise the column's title names it. A `line` is only there. */
  readonly in?: CellProps["place"];
  readonly isQuiet?: boolean;
  readonly cell: (item: Item) => Child;
}

/** A link to a page that does something with an item. */
interface ItemAction {
  readonly href: string;
  readonly label: string;
  readonly tone?: ButtonTone;
  /** The name of the item, for screen readers. */
  readonly about: string;
  readonly isFile?: boolean;
}

interface ItemTableProps<Item> {
  readonly label: string;
  readonly items: readonly Item[];
  readonly columns: readonly ItemColumn<Item>[];
  /** For other actions than links, there is a column `actionsColumn`. */
  readonly actions?: (item: Item) => readonly ItemAction[];
  /** True for items that no longer count. */
  readonly isOver?: (item: Item) => boolean;
  /** Ids of rows, as targets of links. */
  readonly rowId?: (item: Item) => string;
  /** Returns what stands below an item's cells, across all columns; null for nothing. */
  readonly below?: (item: Item) => Child | null;
  readonly kind?: TableKind;
  /** Its rows fit on a phone. */
  readonly isSmall?: boolean;
}

export function ItemTable<Item>(
  { label, items, columns, actions, isOver, rowId, below, kind, isSmall }: ItemTableProps<Item>,
) {
  const headings = [
    ...columns.map(({ isQuiet: _, ...column }) =>
      column.in === "line" ? { title: column.title, place: "line" as const } : column
    ),
    ...(actions === undefined ? [] : [actionsColumn]),
  ];
  return (
    <Table label={label} columns={headings} {...kind && { kind }} isSmall={isSmall ?? false}>
      {items.map((item) => (
        <>
          <Row {...rowId && { id: rowId(item) }} over={isOver?.(item) ?? false}>
            {columns.map(({ title, in: place, sort: _, isUnseen: __, cell, ...column }) => (
              <Cell
                {...column}
                {...(place === undefined ? { label: title } : { place })}
                value={cell(item)}
              />
            ))}
            {actions && <Cell place="actions" value={<Actions actions={actions(item)} />} />}
          </Row>
          <RowBelow columns={headings.length} value={below?.(item) ?? null} />
        </>
      ))}
    </Table>
  );
}

function RowBelow({ columns, value }: { columns: number; value: Child | null }) {
  return value === null ? null : (
    <tr role="row" class="below">
      <td role="cell" colspan={columns}>{value}</td>
    </tr>
  );
}

function Actions({ actions }: { actions: readonly ItemAction[] }) {
  if (actions.length === 0) return null;
  return (
    <div class="actions-row">
      {actions.map(({ href, label, tone = "quiet", about, isFile = false }) => (
        <ButtonLink tone={tone} href={href} about={about} isFile={isFile}>{label}</ButtonLink>
      ))}
    </div>
  );
}

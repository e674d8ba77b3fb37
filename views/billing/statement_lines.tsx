// Tables of a statement's charges: by product, and the adjustments and voided records of one organization.
import { aggregationLabels } from "../../domain/meter/aggregation.ts";
import { billedMetric } from "../../domain/meter/catalogue.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import { sumAmounts } from "../../domain/billing/price.ts";
import {
  type LineDimension,
  metricKey,
  type Statement,
  type StatementLine,
  type StatementOrganization,
  type StatementTotal,
  type StatementVoid,
} from "../../domain/billing/statement.ts";
import { Amount, UnitPrice } from "../components/amount.tsx";
import { ShortChange } from "../components/change.tsx";
import { Icon } from "../components/icon.tsx";
import { type ItemColumn, ItemTable } from "../components/item_table.tsx";
import { Quantity } from "../components/quantity.tsx";
import { type Before, periodWords, versus } from "./statement_text.ts";

type Usage = StatementVoid & Partial<Pick<StatementLine, "aggregation">>;

/** @param props `isSigned`: with a plus if it isn't negative. */
export function LineQuantity({ line, isSigned = false }: { line: Usage; isSigned?: boolean }) {
  return <SignedQuantity value={line.quantity} measure={billedMetric(line)} isSigned={isSigned} />;
}

/** `value`: an exact decimal text, which may be negative. */
export function SignedQuantity({ value, measure, isSigned = false }: {
  value: string;
  measure: Parameters<typeof Quantity>[0]["measure"];
  isSigned?: boolean;
}) {
  return (
    <span>
      {value.startsWith("-") ? "−" : isSigned ? "+" : ""}
      <Quantity value={value.replace("-", "")} measure={measure} />
    </span>
  );
}

/** Returns the change in percent between exact decimals; null if there was nothing before. */
export function percentChange(now: string, before: string): number | null {
  return Number(before) === 0 ? null : 100 * (Number(now) - Number(before)) / Math.abs(Number(before));
}

const product: ItemColumn<Usage> = {
  title: "Product",
  in: "title",
  cell: (line) => (
    <>
      <div class="name">
        <bdi>{line.productName ?? line.productSlug}</bdi>
      </div>
      <div class="muted tiny">
        <bdi>{billedMetric(line).name}</bdi>
        {line.aggregation && line.aggregation !== "sum" && ` · ${aggregationLabels[line.aggregation]}`}
      </div>
    </>
  ),
};
const records: ItemColumn<Usage> = {
  title: "Records",
  isNumber: true,
  isOptional: true,
  cell: ({ records }) => groupDigits(records).replace("-", "−"),
};
const quantity: ItemColumn<Usage> = {
  title: "Quantity",
  isNumber: true,
  cell: (line) => <LineQuantity line={line} />,
};

type Priced = Pick<StatementLine, "amount">;

/** The largest first. */
const byAmount = (a: Priced, b: Priced) => Number(b.amount ?? -1) - Number(a.amount ?? -1);

/** Returns the currency of lines; null if none has a price, so that there are no columns for amounts. */
function currencyOf(lines: readonly Priced[], { currency }: Pick<Statement, "currency">): string | null {
  return lines.some(({ amount }) => amount !== null) ? currency : null;
}

/** The column of amounts, each in a currency; a dash without one. */
export const amountColumn = <Item,>(
  of: (item: Item) => { readonly amount: string | null; readonly currency: string | null },
): ItemColumn<Item> => ({
  title: "Estimated",
  isNumber: true,
  cell(item) {
    const { amount, currency } = of(item);
    return currency === null ? "–" : <Amount value={amount} currency={currency} />;
  },
});

const estimated = (currency: string | null): ItemColumn<Priced>[] =>
  currency === null ? [] : [amountColumn(({ amount }) => ({ amount, currency }))];

const unitPrice = (currency: string | null): ItemColumn<StatementLine>[] =>
  currency === null ? [] : [{
    title: "Unit price",
    isNumber: true,
    isOptional: true,
    cell: (line) => {
      const priced = line.dimensions.find((dimension) => isPriced(line, dimension));
      if (priced) return <>By {priced.properties.join(" + ")}</>;
      return (
        <UnitPrice
          price={line.unitPrice}
          quantity={line.quantity}
          measure={billedMetric(line)}
          currency={currency}
        />
      );
    },
  }];

/** Returns what stands below a line: its values, by each dimension. */
const splitsOf = (currency: string | null, isSigned = false) => (line: StatementLine) =>
  line.dimensions.length === 0 ? null : (
    <>
      {line.dimensions.map((dimension) => (
        <LineSplit line={line} dimension={dimension} currency={currency} isSigned={isSigned} />
      ))}
    </>
  );

/** True if the values of a dimension have prices of their own. */
const isPriced = (line: StatementLine, { values }: LineDimension): boolean =>
  line.unitPrice === null && values.some(({ unitPrice }) => unitPrice !== null);

/** Shows a line by the values of a dimension; open if they have prices of their own. */
function LineSplit({ line, dimension, currency, isSigned }: {
  line: StatementLine;
  dimension: LineDimension;
  currency: string | null;
  isSigned: boolean;
}) {
  const { properties, others } = dimension;
  const values = isPriced(line, dimension) ? dimension.values.toSorted(byAmount) : dimension.values;
  const numbersOf = (part: { quantity: string; amount: string | null; unitPrice?: string | null }) => {
    const measure = billedMetric(line);
    const { quantity, amount, unitPrice = null } = part;
    return (
      <>
        <span>
          <SignedQuantity value={quantity} measure={measure} isSigned={isSigned} />
          {unitPrice !== null && currency !== null && (
            <span class="drop">
              {" × "}
              <UnitPrice price={unitPrice} quantity={quantity} measure={measure} currency={currency} />
            </span>
          )}
        </span>
        {amount !== null && currency !== null && (
          <span>
            <Amount value={amount} currency={currency} />
          </span>
        )}
      </>
    );
  };
  return (
    <details class="numbers line-values" open={isPriced(line, dimension)}>
      <summary>
        <Icon name="chevron" />
        <bdi>{`By ${properties.join(" + ")}`}</bdi>
      </summary>
      <ul>
        {values.map((part) => (
          <li>
            <bdi>{properties.map((name) => part.properties[name]).join(" · ")}</bdi>
            {numbersOf(part)}
          </li>
        ))}
        {others && (
          <li>
            <span>{countOf(others.values, "more value")}</span>
            {numbersOf(others)}
          </li>
        )}
      </ul>
    </details>
  );
}

/** A row of usage: a line, alone or as a part of its product, or a sum of lines. */
type RowOf<Line> = Line & { readonly place?: "part" | "product" | "total" };
type Summed = StatementTotal | StatementLine;

/** Adds up lines for a row of their own. */
function sumOf<Line extends Summed>(lines: readonly Line[], place: "product" | "total"): RowOf<Line>[] {
  const [first] = lines;
  const amount = sumAmounts(lines.map(({ amount }) => amount));
  const records = lines.reduce((sum, line) => sum + line.records, 0);
  // The spread of a generic type has lost what `Line` and `place` are.
  return first === undefined ? [] : [{ ...first, amount, records, dimensions: [], place } as RowOf<Line>];
}

/** Returns rows by product with subtotals, the largest amounts first, and the total. Without prices, lines keep their order. */
function usageRows<Line extends Summed>(lines: readonly Line[]): RowOf<Line>[] {
  const products = [...Map.groupBy(lines, ({ productSlug }) => productSlug).values()].map((lines) => ({
    lines: lines.toSorted(byAmount),
    amount: sumAmounts(lines.map(({ amount }) => amount)),
  })).sort(byAmount);
  const rows = products.flatMap(({ lines }) =>
    lines.length < 2
      ? lines
      : [...sumOf(lines, "product"), ...lines.map((line) => ({ ...line, place: "part" as const }))]
  );
  return products.length < 2 ? rows : [...rows, ...sumOf(lines, "total")];
}

/** Leaves a column of lines empty in sums. */
const ofLine = <Line,>(column: ItemColumn<Line>): ItemColumn<RowOf<Line>> => ({
  ...column,
  cell: (row) => row.place === "product" || row.place === "total" ? "" : column.cell(row),
});

const productOfRow: ItemColumn<RowOf<Summed>> = {
  ...product,
  cell: (row) => {
    if (row.place === "total") return <div class="name">Total</div>;
    if (row.place === "part") {
      return (
        <div>
          <bdi>{billedMetric(row).name}</bdi>
          {row.aggregation !== "sum" && (
            <span class="muted tiny">{` · ${aggregationLabels[row.aggregation]}`}</span>
          )}
        </div>
      );
    }
    return row.place === "product"
      ? (
        <div class="name">
          <bdi>{row.productName ?? row.productSlug}</bdi>
        </div>
      )
      : product.cell(row);
  },
};

/**
 * The usage of the statement's own month.
 *
 * @param props `before`: the quantities of the month before, or of as many of its days, by `metricKey`; null if unknown. `isPart`: there
 *   are further lines, so that nothing is added up.
 */
export function UsageLineTable({ lines, statement, before, isPart = false }: {
  lines: readonly StatementLine[];
  statement: Statement;
  before: (Before & { readonly quantities: ReadonlyMap<string, string> }) | null;
  isPart?: boolean;
}) {
  const currency = currencyOf(lines, statement);
  const change: ItemColumn<StatementLine>[] = before === null ? [] : [{
    title: versus(before, statement.timezone),
    isNumber: true,
    isOptional: true,
    ...currency !== null && { drop: 2 },
    cell: (line) => (
      <ShortChange percent={percentChange(line.quantity, before.quantities.get(metricKey(line)) ?? "0")} />
    ),
  }];
  return (
    <ItemTable
      label="Usage"
      items={currency === null || isPart ? lines : usageRows(lines)}
      below={splitsOf(currency)}
      columns={[
        productOfRow,
        { ...records, ...currency !== null && { drop: 1 } },
        ...[quantity, ...change, ...unitPrice(currency)].map(ofLine),
        ...estimated(currency),
      ]}
      isSmall
    />
  );
}

/** The totals of all organizations. @param props `isPart`: see {@linkcode UsageLineTable}. */
export function TotalTable({ totals, statement, isPart }: {
  totals: readonly StatementTotal[];
  statement: Pick<Statement, "currency">;
  isPart: boolean;
}) {
  const currency = currencyOf(totals, statement);
  const lines: ItemColumn<StatementTotal> = {
    title: "Lines",
    isNumber: true,
    isOptional: true,
    cell: ({ lines }) => groupDigits(lines),
  };
  return (
    <ItemTable
      label="Totals by product"
      items={currency === null || isPart ? totals : usageRows(totals)}
      columns={[productOfRow, ofLine(lines), records, ofLine(quantity), ...estimated(currency)]}
      isSmall
    />
  );
}

export function AdjustmentTable(
  { lines, statement }: {
    lines: readonly StatementLine[];
    statement: Pick<Statement, "currency">;
  },
) {
  const currency = currencyOf(lines, statement);
  return (
    <ItemTable
      label="Adjustments"
      items={lines}
      below={splitsOf(currency, true)}
      columns={[
        product,
        {
          title: "Month",
          isOptional: true,
          cell: ({ adjustmentOf }) => adjustmentOf === null ? "–" : periodWords(adjustmentOf),
        },
        records,
        { ...quantity, cell: (line) => <LineQuantity line={line} isSigned /> },
        ...unitPrice(currency),
        ...estimated(currency),
      ]}
      isSmall
    />
  );
}

export function VoidTable({ voided }: { voided: readonly StatementVoid[] }) {
  return <ItemTable label="Voided records" items={voided} columns={[product, records, quantity]} isSmall />;
}

/** Returns the change since the statement before: of the amounts if there are any, otherwise of the quantities. Undefined if neither has any. */
export function organizationChange(
  { amount, previousAmount, quantity, previousQuantity }: StatementOrganization,
): number | null | undefined {
  const [now, before] = amount !== null && previousAmount !== null
    ? [amount, previousAmount]
    : [quantity, previousQuantity];
  const isNothing = before === null || (Number(before) === 0 && Number(now) === 0);
  return isNothing ? undefined : percentChange(now, before);
}

export function OrganizationChange({ organization }: { organization: StatementOrganization }) {
  const percent = organizationChange(organization);
  return percent === undefined ? <>–</> : <ShortChange percent={percent} />;
}

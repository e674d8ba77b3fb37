// Tables of a statement's charges: by product, and the adjustments and voided records of one organization.
import { aggregationLabels } from "../../domain/meter/aggregation.ts";
import { billedMetric } from "../../domain/meter/catalogue.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import type {
  LineDimension,
  Statement,
  StatementLine,
  StatementOrganization,
  StatementTotal,
  StatementVoid,
} from "../../domain/billing/statement.ts";
import { Amount, UnitPrice } from "../components/amount.tsx";
import { ShortChange } from "../components/change.tsx";
import { Icon } from "../components/icon.tsx";
import { type ItemColumn, ItemTable } from "../components/item_table.tsx";
import { Quantity } from "../components/quantity.tsx";
import { periodWords, versus } from "./statement_text.ts";

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

/** Returns the currency of lines; null if none has a price, so that there are no columns for amounts. */
function currencyOf(lines: readonly Priced[], { currency }: Pick<Statement, "currency">): string | null {
  return lines.some(({ amount }) => amount !== null) ? currency : null;
}

const estimated = (currency: string | null): ItemColumn<Priced>[] =>
  currency === null ? [] : [{
    title: "Estimated",
    isNumber: true,
    cell: ({ amount }) => <Amount value={amount} currency={currency} />,
  }];

const unitPrice = (currency: string | null): ItemColumn<StatementLine>[] =>
  currency === null ? [] : [{
    title: "Unit price",
    isNumber: true,
    isOptional: true,
    cell: (line) => {
      const priced = line.dimensions.find((dimension) => isPriced(line, dimension));
      if (priced) return <>By {priced.properties.join(" + ")}</>;
      return <UnitPrice price={line.unitPrice} quantity={line.quantity} measure={billedMetric(line)} />;
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
  const { properties, values, others } = dimension;
  const numbersOf = (part: { quantity: string; amount: string | null; unitPrice?: string | null }) => {
    const measure = billedMetric(line);
    const { quantity, amount, unitPrice = null } = part;
    return (
      <>
        <SignedQuantity value={quantity} measure={measure} isSigned={isSigned} />
        {amount !== null && currency !== null && (
          <>
            <span class="drop">
              {unitPrice !== null && <UnitPrice price={unitPrice} quantity={quantity} measure={measure} />}
            </span>
            <span>
              <Amount value={amount} currency={currency} />
            </span>
          </>
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

/** The totals of all organizations, in the order of the catalogue. */
export function TotalTable(
  { totals, statement }: { totals: readonly StatementTotal[]; statement: Pick<Statement, "currency"> },
) {
  return (
    <ItemTable
      label="Totals by product"
      items={totals}
      columns={[
        product,
        { title: "Lines", isNumber: true, isOptional: true, cell: ({ lines }) => groupDigits(lines) },
        records,
        quantity,
        ...estimated(currencyOf(totals, statement)),
      ]}
      isSmall
    />
  );
}

/** The usage of the statement's own month. @param props `before`: the quantities of the month before by {@linkcode lineName}; null if unknown. */
export function UsageLineTable({ lines, statement, before, now }: {
  lines: readonly StatementLine[];
  statement: Statement;
  before: { readonly period: string; readonly quantities: ReadonlyMap<string, string> } | null;
  now: number;
}) {
  const currency = currencyOf(lines, statement);
  const change: ItemColumn<StatementLine>[] = before === null ? [] : [{
    title: versus(statement, before, now),
    isNumber: true,
    isOptional: true,
    ...currency !== null && { drop: 2 },
    cell: (line) => (
      <ShortChange percent={percentChange(line.quantity, before.quantities.get(lineName(line)) ?? "0")} />
    ),
  }];
  return (
    <ItemTable
      label="Usage"
      items={lines}
      below={splitsOf(currency)}
      columns={[
        product,
        { ...records, ...currency !== null && { drop: 1 } },
        quantity,
        ...change,
        ...unitPrice(currency),
        ...estimated(currency),
      ]}
      isSmall
    />
  );
}

/** Names a line among those of a month. */
export function lineName({ productSlug, metric }: Pick<Usage, "productSlug" | "metric">): string {
  return `${productSlug} ${metric}`;
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

/** The change since the statement before: of the amounts if there are any, otherwise of the quantities. */
export function OrganizationChange({ organization }: { organization: StatementOrganization }) {
  const { amount, previousAmount, quantity, previousQuantity } = organization;
  const [now, before] = amount !== null && previousAmount !== null
    ? [amount, previousAmount]
    : [quantity, previousQuantity];
  const isNothing = before === null || (Number(before) === 0 && Number(now) === 0);
  return isNothing ? <>–</> : <ShortChange percent={percentChange(now, before)} />;
}

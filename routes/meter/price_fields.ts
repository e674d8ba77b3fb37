// Prices as people edit them: for a quantity such as 1,000 requests, one of all values and those of some values on a line each, such as
// `model=large, type=output 12.00`.
import { isPriceList, type PriceList } from "../../domain/billing/price.ts";
import { pricedQuantity, unitPriceOf } from "../../domain/billing/typed_price.ts";
import type { ErrorDetail } from "../../domain/errors.ts";
import type { ProductMetric } from "../../domain/meter/product.ts";
import { typedDigits } from "../../domain/number_text.ts";
import { quantityFault } from "../../domain/meter/typed_quantity.ts";
import { typedPrices, withoutCurrency } from "../../views/text/amount.ts";
import { type NamedMeasure, unitOf } from "../../views/text/quantity.ts";

export interface PriceFields {
  readonly price: string;
  /** The quantity of all prices. */
  readonly per: string;
  readonly priceLines: string;
}

/** Returns the fields of a price. */
export function priceFields(
  { unitPrice, ...measure }: NamedMeasure & Pick<ProductMetric, "unitPrice">,
  currency: string | null,
): PriceFields {
  if (unitPrice === null) return { price: "", per: "", priceLines: "" };
  const list = isPriceList(unitPrice) ? unitPrice : [{ unitPrice }];
  const { per, amounts } = typedPrices(list.map(({ unitPrice }) => unitPrice), { measure, currency });
  const typed = list.map((one, index) => ({ ...one, unitPrice: typedDigits(amounts[index] ?? "") }));
  return { price: typed.at(-1)?.unitPrice ?? "", per, priceLines: pricesText(typed) };
}

/**
 * Returns the price of one unit that is typed, and what is wrong with it by field.
 *
 * @param measure `former`: the metric before it is changed. A quantity may still have the name that it had.
 */
export function typedPrice(
  { price, per, priceLines }: PriceFields,
  { currency, former, ...measure }: NamedMeasure & {
    readonly currency: string | null;
    readonly former: NamedMeasure | null;
  },
): { unitPrice: ProductMetric["unitPrice"]; faults: ErrorDetail[] } {
  const unit = unitOf(measure);
  const quantity = pricedQuantity(per, unit) ??
    (former?.unit === measure.unit ? pricedQuantity(per, unitOf(former)) : null);
  const lines = parsePrices(priceLines);
  const faults: ErrorDetail[] = [];
  const fail = (path: keyof PriceFields, message: string) => void faults.push({ path, message });
  const unitPriceFor = (amount: string, path: keyof PriceFields) => {
    const found = quantity === null ? null : unitPriceOf(withoutCurrency(amount, currency), quantity);
    if (found !== null && "unitPrice" in found) return found.unitPrice;
    if (found !== null) fail(path, inexact(amount, found.nearest));
    else if (quantity !== null) fail(path, amountFault);
    return "";
  };
  if (quantity === null) fail("per", quantityFault(unit));
  if (lines === null) fail("priceLines", "must have lines such as model=large, type=output 12.00.");
  if (price.trim() === "") {
    if (lines?.length !== 0) fail("price", "is required: it is the price of all other values.");
    return { unitPrice: null, faults };
  }
  const unitPrice = unitPriceFor(price, "price");
  const list = lines?.map((line) => ({ ...line, unitPrice: unitPriceFor(line.unitPrice, "priceLines") })) ??
    [];
  return { unitPrice: list.length === 0 ? unitPrice : [...list, { unitPrice }], faults };
}

const amountFault = "must be an amount such as 0.09 or 1,250, at most 999,999,999,999 for one unit.";

function inexact(amount: string, nearest: readonly [string, string]): string {
  const [below, above] = nearest.map(typedDigits);
  return `can't be converted exactly: the price of one unit has at most 12 decimal places. The nearest to ${amount.trim()} are ${below} and ${above}.`;
}

/** A name with its value, which is quoted as in JSON if it has commas, quotes or spaces around it. */
const pairForm = /([^=",\s]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^",]*)/y;

/** Returns the lines of the prices of values, without that of all others. */
function pricesText(list: PriceList): string {
  return list.flatMap(({ properties, unitPrice }) =>
    properties === undefined ? [] : [
      `${
        Object.entries(properties).map(([name, value]) => `${name}=${isPlain(value) ? value : quoted(value)}`)
          .join(", ")
      } ${unitPrice}`,
    ]
  ).join("\n");
}

function isPlain(value: string): boolean {
  return value !== "" && !/[",\p{Cc}]/u.test(value) && value.trim() === value;
}

function quoted(value: string): string {
  // Line ends other than those that JSON escapes would begin another line of a form.
  return JSON.stringify(value).replaceAll(
    /[\u0085\u2028\u2029]/g,
    (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Reads lines of {@linkcode pricesText}. @returns Null for a line in another form. */
export function parsePrices(
  text: string,
): { properties: Record<string, string>; unitPrice: string }[] | null {
  const lines = text.split(/\r\n|\r|\n/).map((line) => line.trim()).filter((line) => line !== "");
  const prices = lines.map((line) => {
    const [, pairs = "", unitPrice = ""] = /^(.*\S)\s+(\S+)$/.exec(line) ?? [];
    const properties = parsePairs(pairs);
    return properties && { properties, unitPrice };
  });
  return prices.includes(null) ? null : prices.filter((price) => price !== null);
}

function parsePairs(text: string): Record<string, string> | null {
  const pairs: [string, string][] = [];
  for (let at = 0; at === 0 || at < text.length;) {
    pairForm.lastIndex = at;
    const [pair = "", name = "", value = ""] = pairForm.exec(text) ?? [];
    const [end] = /^\s*(,\s*|$)/.exec(text.slice(at + pair.length)) ?? [];
    const parsed = value.startsWith('"') ? unquoted(value) : value.trim();
    if (name === "" || end === undefined || parsed === null) return null;
    pairs.push([name, parsed]);
    at += pair.length + end.length;
  }
  return Object.fromEntries(pairs);
}

function unquoted(value: string): string | null {
  try {
    return JSON.parse(value);
  } catch {
    return null;
  }
}

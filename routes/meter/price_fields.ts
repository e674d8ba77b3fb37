// Prices as people edit them: one of all values, and those of some values on a line each, such as `model=large, type=output 0.000012`.
import { isPriceList, type PriceList } from "../../domain/billing/price.ts";
import { validationError } from "../../domain/errors.ts";
import type { ProductMetric } from "../../domain/meter/product.ts";

interface PriceFields {
  readonly unitPrice: string;
  readonly valuePrices: string;
}

/** Returns the fields of a price. @param sent Those of a rejected form. */
export function priceFields(price: ProductMetric["unitPrice"], sent: PriceFields | undefined): PriceFields {
  if (sent !== undefined) return { unitPrice: sent.unitPrice, valuePrices: sent.valuePrices };
  return isPriceList(price)
    ? { unitPrice: price.at(-1)?.unitPrice ?? "", valuePrices: pricesText(price) }
    : { unitPrice: price ?? "", valuePrices: "" };
}

/** @throws {AppError} `validation_failed` for prices by value in another form, or without one of all other values. */
export function requirePrices(rows: readonly PriceFields[]): void {
  const faults = rows.flatMap(({ unitPrice, valuePrices }, index) => {
    const at = `metrics[${index}]`;
    if (parsePrices(valuePrices) === null) {
      return [{
        path: `${at}.valuePrices`,
        message: "must have lines such as model=large, type=output 0.000012.",
      }];
    }
    return valuePrices.trim() !== "" && unitPrice.trim() === ""
      ? [{ path: `${at}.unitPrice`, message: "is required: it is the price of all other values." }]
      : [];
  });
  if (faults.length > 0) throw validationError(faults);
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

// Quantities and their sums, exact: whole numbers and millionths are kept as integers, in parts that cannot overflow.

/** A quantity in parts: `whole` up to 2^53−1, `micro` millionths from 0 to 999,999. */
export interface Quantity {
  readonly whole: number;
  readonly micro: number;
}

/** A sum in the parts that the database adds up, as decimal texts: (high · 2^26 + low) + micro / 10^6. */
export interface SumParts {
  readonly high: string;
  readonly low: string;
  readonly micro: string;
}

const microPerWhole = 1_000_000;
/** `high` and `low` are split here: a low part needs 2^37 records to overflow 64 bits. */
export const lowBits = 26;

/**
 * Splits a number into parts, by the decimal number that it prints as: 0.1 is one tenth.
 *
 * @param value Any number.
 * @returns The parts, or null when it is negative, not finite, above 2^53−1 or has more than six decimal places.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * assert.deepEqual(splitQuantity(2.5), { whole: 2, micro: 500_000 });
 * assert.equal(splitQuantity(0.1234567), null);
 * ```
 */
export function splitQuantity(value: number): Quantity | null {
  if (!(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) return null;
  // `+ 0` turns −0 into 0.
  if (Number.isInteger(value)) return { whole: value + 0, micro: 0 };
  // A number under 10^-6 prints with an exponent, and has more places than six.
  const decimal = /^(\d+)\.(\d{1,6})$/.exec(String(value));
  if (decimal === null) return null;
  return { whole: Number(decimal[1]), micro: Number((decimal[2] ?? "").padEnd(6, "0")) };
}

/** The form of quantities that are sent as a text: whole digits, and places. */
export const decimalForm = /^(\d{1,16})(?:\.(\d{1,6})0*)?$/;

/**
 * Reads a quantity that was sent as a text, digit by digit: nothing is rounded on the way.
 *
 * @param text Decimal digits, with at most six places that are not zero: `12`, `0.25`, `1.50000000`.
 * @returns The parts, or null when it is none, or above 2^53−1.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * assert.deepEqual(parseQuantity("2.50"), { whole: 2, micro: 500_000 });
 * assert.equal(parseQuantity("1e3"), null);
 * ```
 */
export function parseQuantity(text: string): Quantity | null {
  const decimal = decimalForm.exec(text);
  if (decimal === null) return null;
  const whole = Number(decimal[1]);
  const micro = Number((decimal[2] ?? "").padEnd(6, "0"));
  return whole > Number.MAX_SAFE_INTEGER || (whole === Number.MAX_SAFE_INTEGER && micro > 0)
    ? null
    : { whole, micro };
}

/** @returns The number nearest to a quantity; for what {@linkcode splitQuantity} split, the same number. */
export function joinQuantity(quantity: Quantity): number {
  return quantity.micro === 0 ? quantity.whole : Number(`${quantity.whole}.${pad(quantity.micro, 6)}`);
}

/** From this whole number on a quantity in millionths may not fit into 64 bits. */
export const millionthsWholeMax = 9_000_000_000_000;

/**
 * @param parts As the database added them up.
 * @returns The whole sum in millionths.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * const micros = sumMicros({ high: "0", low: "3", micro: "1500000" });
 * assert.equal(microsToDecimal(micros), "4.5");
 * ```
 */
export function sumMicros(parts: SumParts): bigint {
  const whole = (BigInt(parts.high) << BigInt(lowBits)) + BigInt(parts.low);
  return whole * BigInt(microPerWhole) + BigInt(parts.micro);
}

/**
 * @param micros A sum in millionths, not negative.
 * @returns The number nearest to it: exact up to 2^53−1 for whole numbers.
 */
export function microsToNumber(micros: bigint): number {
  return Number(microsToDecimal(micros));
}

/** @returns The exact sum as a decimal text without needless zeros, such as `1` or `0.25`. */
export function microsToDecimal(micros: bigint): string {
  const whole = micros / BigInt(microPerWhole);
  const rest = micros % BigInt(microPerWhole);
  return rest === 0n ? String(whole) : `${whole}.${pad(Number(rest), 6).replace(/0+$/, "")}`;
}

function pad(value: number, digits: number): string {
  return String(value).padStart(digits, "0");
}

// Exact quantities and sums: wholes and millionths are stored as integers, in parts that cannot overflow.

/** A quantity in parts: `whole` up to 2^53−1, `micro` millionths from 0 to 999,999. */
export interface Quantity {
  readonly whole: number;
  readonly micro: number;
}

/** A sum in the parts that the database adds up, as decimal texts: high · 2^26 + low + micro / 10^6. */
export interface SumParts {
  readonly high: string;
  readonly low: string;
  readonly micro: string;
}

const microPerWhole = 1_000_000;
/** The width of `low`, which needs 2^37 records to overflow 64 bits. */
export const lowBits = 26;

/**
 * Splits a number into parts by its decimal notation: 0.1 is exactly one tenth. Returns null when it is negative, not finite,
 * above 2^53−1 or has more than six decimal places.
 */
export function splitQuantity(value: number): Quantity | null {
  if (!(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) return null;
  // `+ 0` turns −0 into 0.
  if (Number.isInteger(value)) return { whole: value + 0, micro: 0 };
  // Numbers below 10^-6 print with an exponent, and have more than six decimal places.
  const decimal = /^(\d+)\.(\d{1,6})$/.exec(String(value));
  if (decimal === null) return null;
  return { whole: Number(decimal[1]), micro: Number((decimal[2] ?? "").padEnd(6, "0")) };
}

export const decimalForm = /^(\d{1,16})(?:\.(\d{1,6})0*)?$/;

/**
 * Reads a quantity that was sent as a string, such as `12`, `0.25` or `1.50000000`, without rounding. Returns null when it has
 * another form, more than six significant decimal places, or is above 2^53−1.
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

/** Returns the nearest number to a quantity; the inverse of {@linkcode splitQuantity}. */
export function joinQuantity(quantity: Quantity): number {
  return quantity.micro === 0 ? quantity.whole : Number(`${quantity.whole}.${pad(quantity.micro, 6)}`);
}

/** From this whole number on, a quantity in millionths may not fit into 64 bits. */
export const millionthsWholeMax = 9_000_000_000_000;

export function quantityMicros({ whole, micro }: Quantity): bigint {
  return BigInt(whole) * BigInt(microPerWhole) + BigInt(micro);
}

/** Returns the exact sum in millionths. */
export function sumMicros(parts: SumParts): bigint {
  const whole = (BigInt(parts.high) << BigInt(lowBits)) + BigInt(parts.low);
  return whole * BigInt(microPerWhole) + BigInt(parts.micro);
}

/** Splits a sum in millionths, which may be negative; the inverse of {@linkcode sumMicros}. */
export function sumParts(micros: bigint): SumParts {
  const whole = micros / BigInt(microPerWhole);
  const high = whole >> BigInt(lowBits);
  return {
    high: String(high),
    low: String(whole - (high << BigInt(lowBits))),
    micro: String(micros % BigInt(microPerWhole)),
  };
}

/** Returns the nearest number to a sum in millionths: exact for integers up to 2^53−1. */
export function microsToNumber(micros: bigint): number {
  return Number(microsToDecimal(micros));
}

/** Returns a sum in millionths as an exact decimal text without trailing zeros, such as `1`, `0.25` or `-3`. */
export function microsToDecimal(micros: bigint): string {
  return scaledToDecimal(micros, 6);
}

/** Returns `value` / 10^`places` as an exact decimal text without trailing zeros. */
export function scaledToDecimal(value: bigint, places: number): string {
  if (value < 0n) return `-${scaledToDecimal(-value, places)}`;
  const digits = String(value).padStart(places + 1, "0");
  const decimals = digits.slice(-places).replace(/0+$/, "");
  return digits.slice(0, -places) + (decimals && `.${decimals}`);
}

function pad(value: number, digits: number): string {
  return String(value).padStart(digits, "0");
}

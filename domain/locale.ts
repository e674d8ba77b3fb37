// Number and date formats. The list is closed, so that no header makes a new one; digits are latin and the calendar Gregorian.

/** English names, as people choose them. */
export const localeNames = {
  "en-US": "English (United States)",
  "en-AU": "English (Australia)",
  "en-CA": "English (Canada)",
  "en-GB": "English (United Kingdom)",
  "en-IN": "English (India)",
  "cs": "Czech",
  "da": "Danish",
  "de": "German",
  "de-AT": "German (Austria)",
  "de-CH": "German (Switzerland)",
  "es": "Spanish",
  "es-MX": "Spanish (Mexico)",
  "fi": "Finnish",
  "fr": "French",
  "fr-CA": "French (Canada)",
  "fr-CH": "French (Switzerland)",
  "it": "Italian",
  "ja": "Japanese",
  "ko": "Korean",
  "nb": "Norwegian",
  "nl": "Dutch",
  "pl": "Polish",
  "pt-BR": "Portuguese (Brazil)",
  "pt-PT": "Portuguese (Portugal)",
  "sv": "Swedish",
  "uk": "Ukrainian",
  "zh-CN": "Chinese (Simplified)",
  "zh-TW": "Chinese (Traditional)",
} as const;
export type Locale = keyof typeof localeNames;

export const locales = Object.keys(localeNames) as Locale[];
export const defaultLocale: Locale = "en-US";

/** Returns a stored locale; null for none, or one that is no longer listed. */
export function listedLocale(text: string | null): Locale | null {
  return locales.find((locale) => locale === text) ?? null;
}

/** Languages of which only locales with a region are listed, or that have another name. */
const aliases: Readonly<Record<string, Locale>> = {
  "no": "nb",
  "nn": "nb",
  "pt": "pt-BR",
  "zh": "zh-CN",
  "zh-hant": "zh-TW",
  "zh-hk": "zh-TW",
  "zh-mo": "zh-TW",
};
const headerCharactersMax = 200;
const languagesMax = 10;

/**
 * Returns the listed locale that is nearest to the first understood language of `Accept-Language`.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * assert.equal(negotiatedLocale("gsw, de-LI;q=0.8, en;q=0.9"), "en-US");
 * assert.equal(negotiatedLocale("de-DE,de;q=0.9"), "de");
 * ```
 */
export function negotiatedLocale(header: string | undefined): Locale {
  if (header === undefined) return defaultLocale;
  const wanted = header.slice(0, headerCharactersMax).split(",").slice(0, languagesMax).map((part) => {
    const [tag = "", ...parameters] = part.toLowerCase().split(";").map((text) => text.trim());
    const weight = parameters.find((text) => text.startsWith("q="));
    const quality = weight === undefined ? 1 : Number(weight.slice(2));
    return { tag, quality };
  });
  const known = wanted.filter(({ quality }) => quality > 0).sort((a, b) => b.quality - a.quality);
  for (const { tag } of known) {
    const nearest = nearestLocale(tag);
    if (nearest !== undefined) return nearest;
  }
  return defaultLocale;
}

/** Drops the end of a tag in lower case until it is listed: `de-li` becomes `de`. */
export function nearestLocale(tag: string): Locale | undefined {
  const parts = tag.split("-");
  for (let length = parts.length; length > 0; length--) {
    const shorter = parts.slice(0, length).join("-");
    const found = locales.find((locale) => locale.toLowerCase() === shorter) ?? aliases[shorter];
    if (found !== undefined) return found;
  }
  if (parts[0] !== "en") return undefined;
  // English outside of North America mostly follows the British form.
  return parts.length === 1 || !/^[a-z]{2}$/.test(parts.at(-1) ?? "") ? defaultLocale : "en-GB";
}

/** Formatters take tens of kilobytes, so that only the last used ones are kept. */
const formattersMax = 32;
const formatters = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat>();

/** Returns a formatter, made when it is first needed. @param name Identifies it within a locale. */
function formatter<T extends Intl.NumberFormat | Intl.DateTimeFormat>(
  locale: Locale,
  name: string,
  create: (tag: string) => T,
): T {
  const key = `${locale} ${name}`;
  const known = formatters.get(key) as T | undefined;
  if (known !== undefined) return known;
  const [oldest] = formatters.keys();
  if (formatters.size >= formattersMax && oldest !== undefined) formatters.delete(oldest);
  const created = create(`${locale}-u-ca-gregory-nu-latn`);
  formatters.set(key, created);
  return created;
}

/** Groups the digits of a decimal text without changing any: `-1234567.50` becomes `-1.234.567,50`. */
export function localDecimal(text: string, locale: Locale): string {
  const [, sign = "", whole = "", fraction] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  const number = formatter(locale, "number", (tag) => new Intl.NumberFormat(tag));
  const grouped = sign + number.format(BigInt(whole));
  if (fraction === undefined) return grouped;
  const point = number.formatToParts(0.5).find(({ type }) => type === "decimal")?.value ?? ".";
  return grouped + point + fraction;
}

/** Adds the percent sign to a number that is already written in the locale: `12,4` becomes `12,4 %`. */
export function localPercent(number: string, locale: Locale): string {
  const parts = formatter(locale, "percent", (tag) => new Intl.NumberFormat(tag, { style: "percent" }))
    .formatToParts(1);
  return parts.map(({ type, value }) => type === "integer" ? number : value).join("");
}

/** Adds the sign of a currency to a number that is already written in the locale: `€1,234.50`, `1.234,50 €`. A minus stays in front. */
export function localCurrency(number: string, currency: string, locale: Locale): string {
  const options = { style: "currency", currency, currencyDisplay: "narrowSymbol" } as const;
  const parts = formatter(locale, currency, (tag) => new Intl.NumberFormat(tag, options)).formatToParts(1);
  const minus = number.startsWith("−") ? "−" : "";
  return minus +
    parts.map(({ type, value }) =>
      type === "integer" ? number.slice(minus.length) : type === "currency" || type === "literal" ? value : ""
    ).join("");
}

/** Ways to write a date, by the parts it names. */
export const dateStyles = {
  shortDay: { month: "short", day: "numeric" },
  shortDate: { year: "numeric", month: "short", day: "numeric" },
  longDay: { month: "long", day: "numeric" },
  longDate: { year: "numeric", month: "long", day: "numeric" },
  shortMonth: { year: "numeric", month: "short" },
  longMonth: { year: "numeric", month: "long" },
  weekday: { weekday: "short" },
} as const satisfies Readonly<Record<string, Intl.DateTimeFormatOptions>>;
export type DateStyle = keyof typeof dateStyles;

/** Returns the formatter of dates, by the clock of UTC. */
export function dateFormat(locale: Locale, style: DateStyle): Intl.DateTimeFormat {
  const options = { ...dateStyles[style], timeZone: "UTC" };
  return formatter(locale, style, (tag) => new Intl.DateTimeFormat(tag, options));
}

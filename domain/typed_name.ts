// A name that somebody types to confirm what cannot be taken back. It takes care, not a typographer's keyboard.

/** What keyboards have for the signs that names are set with. */
const plainSigns: readonly (readonly [RegExp, string])[] = [
  [/[\u2018\u2019\u201a\u201b\u2032\u00b4`]/g, "'"],
  [/[\u201c-\u201f\u2033]/g, '"'],
  [/[\u2010-\u2015\u2212]/g, "-"],
  // Marks of direction and joiners, which nobody sees.
  [/[\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g, ""],
  [/\s+/g, " "],
];

/**
 * @param typed As a person typed it.
 * @param name The name that is meant.
 * @returns Whether they are the same letters in the same case: quotation marks, dashes and spaces may be plain ones.
 */
export function isTypedName(typed: string, name: string): boolean {
  return plain(typed) === plain(name);
}

function plain(text: string): string {
  return plainSigns.reduce((rest, [signs, sign]) => rest.replace(signs, sign), text.normalize("NFKC")).trim();
}

// Names that people type to confirm something that can't be undone. Typographic characters may be typed as plain ones.

/** The plain characters on keyboards for typographic ones. */
const plainSigns: readonly (readonly [RegExp, string])[] = [
  [/[\u2018\u2019\u201a\u201b\u2032\u00b4`]/g, "'"],
  [/[\u201c-\u201f\u2033]/g, '"'],
  [/[\u2010-\u2015\u2212]/g, "-"],
  // Invisible direction marks and joiners.
  [/[\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g, ""],
  [/\s+/g, " "],
];

/** True if a typed name matches. Case matters; quotation marks, dashes and spaces may be plain ones. */
export function isTypedName(typed: string, name: string): boolean {
  return plain(typed) === plain(name);
}

function plain(text: string): string {
  return plainSigns.reduce((rest, [signs, sign]) => rest.replace(signs, sign), text.normalize("NFKC")).trim();
}

// Several names in a sentence.

/** @returns Such as `“Northwind”`, `“Northwind” and “Tiles”`, `“A”, “B”, and “C”`. */
export function namesInWords(names: readonly string[]): string {
  return new Intl.ListFormat("en").format(names.map((name) => `“${name}”`));
}

// Several names in a sentence.

/** @returns Such as `“Northwind”`, `“Northwind” and “Tiles”`, `“A”, “B” and “C”`. */
export function namesInWords(names: readonly string[]): string {
  const quoted = names.map((name) => `“${name}”`);
  const last = quoted.at(-1) ?? "";
  return quoted.length < 2 ? last : `${quoted.slice(0, -1).join(", ")} and ${last}`;
}

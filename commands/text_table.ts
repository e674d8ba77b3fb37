// Tables on standard output. They are printed page by page, so a column is as wide as its widest cell so far.

/** Returns a function that turns the next rows into lines. The first call's lines begin with the titles. */
export function textTable(titles: readonly string[]): (rows: readonly (readonly string[])[]) => string[] {
  const widths = titles.map((title) => title.length);
  let isFirst = true;
  return (given) => {
    const rows = [...(isFirst ? [titles] : []), ...given.map((row) => row.map(withoutControls))];
    isFirst = false;
    for (const row of rows) {
      row.forEach((cell, column) => widths[column] = Math.max(widths[column] ?? 0, [...cell].length));
    }
    return rows.map((row) =>
      row.map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - [...cell].length)).join("  ")
        .trimEnd()
    );
  };
}

/** Cuts a time in ISO 8601 UTC to the minute. Returns a dash for none. */
export function minute(time: string | null): string {
  return time === null ? "-" : `${time.slice(0, 16).replace("T", " ")}Z`;
}

/** Puts a text on one line, and replaces characters that would move the cursor or change the direction of text. */
function withoutControls(text: string): string {
  // Words of some languages and emoji need joiners (U+200C and U+200D).
  return text.replaceAll(/[\t\r\n]+/g, " ").replaceAll(
    /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    "\u{fffd}",
  );
}

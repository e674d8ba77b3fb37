// Names: which characters they may have.
import assert from "node:assert/strict";
import { nameFault } from "../../domain/name.ts";

Deno.test("a name must not contain characters that change the direction of text", () => {
  const ranges = [[0x202a, 0x202e], [0x2066, 0x2069]] as const;
  for (const [first, last] of ranges) {
    for (let code = first; code <= last; code++) {
      const name = `invoice${String.fromCodePoint(code)}gnp.exe`;
      assert.match(nameFault(name) ?? "", /direction of text \(U\+202A–U\+202E, U\+2066–U\+2069\)/);
    }
  }
});

Deno.test("names in scripts that are written from right to left are allowed", () => {
  for (const name of ["דנה כהן", "شركة النور", "Nord\u200f (תל אביב)", "👩‍🚀"]) {
    assert.equal(nameFault(name), null);
  }
});

Deno.test("a name needs a visible character", () => {
  assert.match(nameFault("\u200b\u3164") ?? "", /visible character/);
});

// Names that are typed to confirm: typographic characters may be plain, and nothing else may differ.
import assert from "node:assert/strict";
import { isTypedName } from "../../domain/typed_name.ts";

for (
  const [typed, name, isAccepted] of [
    ["Northwind Maps", "Northwind Maps", true],
    ["Ada's organization", "Ada’s organization", true],
    ["Ada`s organization", "Ada’s organization", true],
    ["Ada’s organization", "Ada's organization", true],
    ['The "Engines" - 1', "The “Engines” – 1", true],
    ["  Northwind   Maps\n", "Northwind\u00a0Maps", true],
    ["jose\u0301", "jos\u00e9", true],
    ["مؤسسة الخرائط", "\u2067مؤسسة الخرائط\u2069", true],
    ["", "Northwind Maps", false],
    ["northwind maps", "Northwind Maps", false],
    ["Northwind", "Northwind Maps", false],
    ["NorthwindMaps", "Northwind Maps", false],
    ["Adas organization", "Ada’s organization", false],
    ["Ada's organization", "Ada\u0301’s organization", false],
  ] as const
) {
  Deno.test(`isTypedName() ${isAccepted ? "accepts" : "rejects"} ${JSON.stringify(typed)} for ${name}`, () => {
    assert.equal(isTypedName(typed, name), isAccepted);
  });
}

// Names that are typed to confirm: typographic characters may be plain, and nothing else may differ.
import assert from "node:assert/strict";
import { isTypedName } from "../../domain/typed_name.ts";

for (
  const [typed, name] of [
    ["Northwind Maps", "Northwind Maps"],
    ["Ada's organization", "Ada’s organization"],
    ["Ada`s organization", "Ada’s organization"],
    ["Ada’s organization", "Ada's organization"],
    ['The "Engines" - 1', "The “Engines” – 1"],
    ["  Northwind   Maps\n", "Northwind\u00a0Maps"],
    ["jose\u0301", "jos\u00e9"],
    ["مؤسسة الخرائط", "\u2067مؤسسة الخرائط\u2069"],
  ] as const
) {
  Deno.test(`isTypedName() accepts ${JSON.stringify(typed)} for ${name}`, () => {
    assert.equal(isTypedName(typed, name), true);
  });
}

for (
  const [typed, name] of [
    ["", "Northwind Maps"],
    ["northwind maps", "Northwind Maps"],
    ["Northwind", "Northwind Maps"],
    ["NorthwindMaps", "Northwind Maps"],
    ["Adas organization", "Ada’s organization"],
    ["Ada's organization", "Ada\u0301’s organization"],
  ] as const
) {
  Deno.test(`isTypedName() rejects ${JSON.stringify(typed)} for ${name}`, () => {
    assert.equal(isTypedName(typed, name), false);
  });
}

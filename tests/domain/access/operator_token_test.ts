// Operator tokens share the format of API keys, whose tests are in api_key_test.ts, but never pass for one.
import assert from "node:assert/strict";
import { generateOperatorToken, isWellFormedOperatorToken } from "../../../domain/access/operator_token.ts";

Deno.test("generateOperatorToken() generates tokens of the documented format", () => {
  const { fullToken, tokenPrefix } = generateOperatorToken();
  assert.match(fullToken, /^service_operator_[0-9A-Za-z]{38}$/);
  assert.ok(isWellFormedOperatorToken(fullToken));
  assert.equal(tokenPrefix, `${fullToken.slice(0, "service_operator_".length + 8)}\u2026`);
  assert.notEqual(generateOperatorToken().fullToken, fullToken);
});

Deno.test("an operator token with a wrong checksum is not well-formed", () => {
  const { fullToken } = generateOperatorToken();
  assert.ok(!isWellFormedOperatorToken(fullToken.slice(0, -1) + (fullToken.endsWith("0") ? "1" : "0")));
});

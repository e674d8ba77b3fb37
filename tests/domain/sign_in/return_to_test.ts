// Where people may be led after signing in.
import assert from "node:assert/strict";
import { portalReturnTo, safeReturnTo, withReturnTo } from "../../../domain/sign_in/return_to.ts";
import { returnToCharactersMax, urlCharactersMax } from "../../../domain/limits.ts";
import fc from "../../support/fast_check.ts";
import { accepted } from "../../config_assert.ts";
import { badReturns, goodReturns, returnToSettings } from "../../support/return_to.ts";
import { holds } from "../properties.ts";

const { baseUrl: base, allowedOrigins } = accepted(returnToSettings);
const isAllowedOrigin = (origin: string) => allowedOrigins.some((allowed) => allowed.matches(origin));
const go = (text: string | undefined) => safeReturnTo(text, { base, isAllowedOrigin });

Deno.test("safeReturnTo() leads to own paths and allowed origins, in the form that browsers have of them", () => {
  for (const [text, target] of Object.entries(goodReturns)) assert.equal(go(text), target, text);
});

Deno.test("safeReturnTo() leads nowhere else, however it is written", () => {
  assert.equal(go(undefined), null);
  for (const text of badReturns) assert.equal(go(text), null, JSON.stringify(text));
});

Deno.test("portalReturnTo() leads to the portal alone", () => {
  for (const [text, target] of Object.entries(goodReturns)) {
    const isPortal = target.startsWith("/portal");
    assert.equal(portalReturnTo(text, base), isPortal ? target : null, text);
  }
  for (const text of [...badReturns, "/portalx", "/portal%2f..", "/portal.evil", "/portal/../sign-in"]) {
    assert.equal(portalReturnTo(text, base), null, JSON.stringify(text));
  }
});

Deno.test("safeReturnTo() of whatever text is null or leads, as a browser reads it, to us or to an allowed origin", () => {
  const piece = fc.constantFrom(
    ...[
      "/",
      "\\",
      "//",
      ":",
      "@",
      "?",
      "#",
      ".",
      "..",
      "%2f",
      "%5c",
      "%00",
      "\t",
      "\n",
      " ",
      "https",
      "http:",
    ],
    ...[
      "https://",
      "evil.example",
      "app.example.com",
      "auth.example.com",
      ".products.example.com",
      "443",
      "a",
    ],
    ...["javascript:", "\u3002", "\uff0f", "\u2028", "\ud800", "é", "[", "]", "*", "|", "<", "'", '"'],
  );
  const texts = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));
  holds(texts, (text) => {
    const target = go(text);
    if (target === null) return;
    const { origin } = new URL(target, base);
    assert.ok(origin === base.origin || isAllowedOrigin(origin), target);
    assert.match(target, /^(\/(?!\/)|https?:\/\/)[\x21-\x7e]*$/);
    assert.doesNotMatch(target, /^[^?#]*\\/);
    // What it gives passes again, unchanged: it goes through forms and addresses.
    assert.equal(go(target), target);
  }, { runs: 3_000 });
});

Deno.test("an address to return to fits into the address of every page that carries it", () => {
  const longest = `/${"%".repeat(returnToCharactersMax - 1)}`;
  assert.equal(go(longest), longest);
  assert.ok(withReturnTo(`${base.origin}/sign-in/second-step`, longest).length < urlCharactersMax);
});

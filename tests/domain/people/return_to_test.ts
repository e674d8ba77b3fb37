// Where people can be redirected after signing in.
import assert from "node:assert/strict";
import {
  portalReturnTo,
  safeReturnTo,
  withinReturnTo,
  withReturnTo,
} from "../../../domain/people/return_to.ts";
import { returnToCharactersMax, urlCharactersMax } from "../../../domain/limits.ts";
import fc from "../../support/runner/fast_check.ts";
import { accepted } from "../../config_assert.ts";
import { badReturns, goodReturns, returnToSettings } from "../../support/people/return_to.ts";
import { holds } from "../properties.ts";

const { baseUrl: base, allowedOrigins } = accepted(returnToSettings);
const isAllowedOrigin = (origin: string) => allowedOrigins.some((allowed) => allowed.matches(origin));
const go = (text: string | undefined) => safeReturnTo(text, { base, isAllowedOrigin });

Deno.test("withinReturnTo() drops the query of a long URL, and then its path", () => {
  const state = "a".repeat(returnToCharactersMax);
  const board = "https://app.example.com/board";
  assert.equal(withinReturnTo(`${board}?state=${state}`), board);
  assert.equal(withinReturnTo(`https://app.example.com/${state}`), "https://app.example.com/");
  assert.equal(withinReturnTo(`${board}?a`), `${board}?a`);
});

Deno.test("portalReturnTo() accepts only the portal", () => {
  for (const [text, target] of Object.entries(goodReturns)) {
    const isPortal = target.startsWith("/portal");
    assert.equal(portalReturnTo(text, base), isPortal ? target : null, text);
  }
  for (const text of [...badReturns, "/portalx", "/portal%2f..", "/portal.evil", "/portal/../sign-in"]) {
    assert.equal(portalReturnTo(text, base), null, JSON.stringify(text));
  }
});

Deno.test("safeReturnTo() returns null or an allowed address for any text, as a browser parses it", () => {
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
    // The result must pass again unchanged, because it travels through forms and URLs.
    assert.equal(go(target), target);
  }, { runs: 3_000 });
});

Deno.test("a return address fits into the URL of every page that passes it on", () => {
  const longest = `/${"%".repeat(returnToCharactersMax - 1)}`;
  assert.equal(go(longest), longest);
  assert.ok(withReturnTo(`${base.origin}/sign-in/second-step`, longest).length < urlCharactersMax);
});

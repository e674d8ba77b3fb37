// Names that people give: to themselves, to organizations, keys and passkeys.
import { nameCharactersMax } from "./limits.ts";

/** What leaves no mark: spaces, what only joins or turns other characters, accents without a letter, the empty Braille cell. */
const unseen = /[\p{Z}\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/**
 * @returns Whether there is anything to see of a name. Without it nobody could tell who did something, or type the name.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * assert.equal(isVisibleName("\u200b\u3164"), false);
 * assert.equal(isVisibleName("👩‍🚀"), true);
 * ```
 */
export function isVisibleName(name: string): boolean {
  return name.replaceAll(unseen, "") !== "";
}

/** Characters that turn the direction of the text around them: explicit embeddings, overrides and isolates (UAX #9). */
const directionControls = /[\u202a-\u202e\u2066-\u2069]/;

/**
 * @returns What is wrong with a name beyond its length, as the end of a sentence, or null.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * assert.equal(nameFault("דנה"), null);
 * assert.match(nameFault("invoice\u202egnp.exe") ?? "", /U\+202A/);
 * ```
 */
export function nameFault(name: string): string | null {
  if (directionControls.test(name)) {
    return "must not contain characters that change the direction of text (U+202A–U+202E, U+2066–U+2069).";
  }
  return name === "" || isVisibleName(name) ? null : "must have a character that can be seen.";
}

/**
 * @param person What its owner is called.
 * @returns The name of an organization that was given none; cut where it would be longer than a name may be.
 */
export function ownOrganizationName(person: string): string {
  const end = "’s organization";
  const characters = [...person];
  const room = nameCharactersMax - end.length;
  return (characters.length <= room ? person : `${characters.slice(0, room - 1).join("").trimEnd()}…`) + end;
}

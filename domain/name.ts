// Names that people choose: for themselves, organizations, keys and passkeys.
import { nameCharactersMax } from "./limits.ts";

/** Invisible characters: spaces, joiners, direction marks, combining accents, the empty Braille cell. */
const invisible = /[\s\p{Z}\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Characters that change the direction of the text around them: embeddings, overrides and isolates (UAX #9). */
const directionControls = /[\u202a-\u202e\u2066-\u2069]/;

/** Returns the problem with a name apart from its length, as the end of a sentence, or null. */
export function nameFault(name: string): string | null {
  if (directionControls.test(name)) {
    return "must not contain characters that change the direction of text (U+202A–U+202E, U+2066–U+2069).";
  }
  // Otherwise people could not see who did something, or type the name.
  const isVisible = name === "" || name.replaceAll(invisible, "") !== "";
  return isVisible ? null : "must have a visible character.";
}

/** Names an organization after its owner, shortened to the maximum length. */
export function ownOrganizationName(person: string): string {
  const end = "’s organization";
  const characters = [...person];
  const room = nameCharactersMax - end.length;
  return (characters.length <= room ? person : `${characters.slice(0, room - 1).join("").trimEnd()}…`) + end;
}

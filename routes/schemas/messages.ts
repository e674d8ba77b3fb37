// What is wrong with a field, in words that follow its name: “name” is required. Forms and tests use them too.
import { nameCharactersMax } from "../../domain/limits.ts";

export const required = "is required.";
export const tooLong = "is too long.";
export const reservedName = "is not allowed as a name.";

/** @param type A JSON type, such as `object`. */
export function mustBe(type: string): string {
  return `must be ${/^[aeio]/.test(type) ? "an" : "a"} ${type}.`;
}

/** @param min The smallest length; for 0, only the largest is named. */
export function characters(max: number, min = 0): string {
  return `must be ${min === 0 ? "at most" : `${min} to`} ${max} characters.`;
}

/** @param things What there is at most one of, or `max`: `records`. */
export function atMost(max: number, things: string): string {
  return `must have at most ${max} ${things}.`;
}

/** What forms say about a name that is empty or too long. */
export const enterName = `Enter a name of up to ${nameCharactersMax} characters.`;

/** @returns A message as forms show it below the field. */
export function formMessage(message: string): string {
  if (message === characters(nameCharactersMax, 1)) return enterName;
  return /^[a-z]/.test(message) ? `This ${message}` : message;
}

// Messages about fields, which follow the name: “name” is required. Forms and tests use them too.
import { nameCharactersMax } from "../../domain/limits.ts";

export const required = "is required.";
export const tooLong = "is too long.";
export const reservedName = "is not allowed as a name.";

/** @param type A JSON type, such as `object`. */
export function mustBe(type: string): string {
  return `must be ${/^[aeio]/.test(type) ? "an" : "a"} ${type}.`;
}

/** @param values What a field accepts. */
export function oneOf(values: readonly string[]): string {
  return `must be ${values.length === 1 ? "" : "one of "}${values.join(", ")}.`;
}

/** @param min The smallest length; for 0, only the largest is named. */
export function characters(max: number, min = 0): string {
  return `must be ${min === 0 ? "at most" : `${min} to`} ${max} characters.`;
}

/** @param things Such as `records`. */
export function atMost(max: number, things: string): string {
  return `must have at most ${max} ${things}.`;
}

export const enterName = `Enter a name of up to ${nameCharactersMax} characters.`;

/** Returns a message as forms show it below the field. */
export function formMessage(message: string): string {
  if (message === characters(nameCharactersMax, 1)) return enterName;
  return /^[a-z]/.test(message) ? `This ${message}` : message;
}

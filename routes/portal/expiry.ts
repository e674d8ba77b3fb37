// Times that forms name by how far ahead they are.
import { validationError } from "../../domain/errors.ts";

const dayMs = 24 * 3_600_000;

/** The choices of `ExpiryField` in milliseconds. Null: never. */
const lifetimes: ReadonlyMap<string, number | null> = new Map([
  ["never", null],
  ["7d", 7 * dayMs],
  ["30d", 30 * dayMs],
  ["90d", 90 * dayMs],
  ["365d", 365 * dayMs],
]);

/** @returns When something expires, as chosen in the field `expires`; null for never. @throws {AppError} `validation_failed`. */
export function expiryOf(input: Readonly<Record<string, string>>, now: number): number | null {
  return timeAfter(now, lifetimes, { expires: input["expires"] ?? "never" });
}

/**
 * @param field A field's name and its value, one of the choices.
 * @returns The time that it stands for, or null.
 * @throws {AppError} `validation_failed`.
 */
export function timeAfter(
  now: number,
  choices: ReadonlyMap<string, number | null>,
  field: Readonly<Record<string, string>>,
): number | null {
  const [[path = "", value = ""] = []] = Object.entries(field);
  const duration = choices.get(value);
  if (duration === undefined) {
    throw validationError([{ path, message: `must be one of ${[...choices.keys()].join(", ")}.` }]);
  }
  return duration === null ? null : now + duration;
}

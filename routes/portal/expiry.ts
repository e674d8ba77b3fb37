// Times that forms name by how far ahead they are.
import { presentation } from "../../domain/presentation.ts";
import { validationError } from "../../domain/errors.ts";
import { parseDay } from "../../domain/meter/usage_period.ts";
import { expiryValue, lifetimes } from "../../views/components/expiry_field.tsx";

/** Returns the time chosen in an `ExpiryField`; null for never. @throws {AppError} `validation_failed`. */
export function expiryOf(input: Readonly<Record<string, string>>, now: number): number | null {
  const { expires, expiresOn } = expiryValue(input);
  if (expires !== "date") return timeAfter(now, lifetimes, { expires });
  const day = parseDay(expiresOn);
  const time = typeof day === "string" ? 0 : day.toZonedDateTime(presentation().timezone).epochMilliseconds;
  if (time > now) return time;
  throw validationError([{
    path: "expiresOn",
    message: typeof day === "string" ? "must be a date such as 2026-11-01." : "must be in the future.",
  }]);
}

/** Returns the time of a field's choice, or null. @throws {AppError} `validation_failed`. */
export function timeAfter(
  now: number,
  choices: ReadonlyMap<string, { readonly ms: number | null }>,
  field: Readonly<Record<string, string>>,
): number | null {
  const [[path = "", value = ""] = []] = Object.entries(field);
  const choice = choices.get(value);
  if (choice === undefined) {
    throw validationError([{ path, message: `must be one of ${[...choices.keys()].join(", ")}.` }]);
  }
  return choice.ms === null ? null : now + choice.ms;
}

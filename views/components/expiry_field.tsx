// The choice of when a key or token expires: after a while, on a date, or never.
import { presentation } from "../../domain/presentation.ts";
import { zoneCity } from "../text/time.ts";
import { isoTime } from "../../domain/time.ts";
import { type Choice, DateField, SelectField } from "./field.tsx";
import type { FormErrors } from "./form.tsx";

export interface ExpiryValue {
  readonly expires: string;
  /** A day such as `2026-11-01`, for the choice of a date. */
  readonly expiresOn: string;
}

export function expiryValue(
  { expires = "never", expiresOn = "" }: Readonly<Record<string, string>> = {},
): ExpiryValue {
  return { expires, expiresOn: expiresOn.trim() };
}

const dayMs = 24 * 3_600_000;
/** The choices besides a date. Null: never. */
export const lifetimes: ReadonlyMap<string, { readonly label: string; readonly ms: number | null }> = new Map(
  [
    ["never", { label: "Never", ms: null }],
    ["7d", { label: "In 7 days", ms: 7 * dayMs }],
    ["30d", { label: "In 30 days", ms: 30 * dayMs }],
    ["90d", { label: "In 90 days", ms: 90 * dayMs }],
    ["365d", { label: "In a year", ms: 365 * dayMs }],
  ],
);
const choices: readonly Choice[] = [
  ...[...lifetimes].map(([value, { label }]) => ({ value, label })),
  { value: "date", label: "On a date…" },
];
const lastDay = "9999-12-31";

/** `kept`: the label of the choice `keep`, which changes nothing. */
export function ExpiryField(
  { value, fields, now, kept = null }:
    & { value: ExpiryValue; now: number; kept?: string | null }
    & Pick<FormErrors, "fields">,
) {
  return (
    <div class="expiry">
      <SelectField
        label="Expires"
        name="expires"
        value={value.expires}
        choices={kept === null ? choices : [{ value: "keep", label: kept }, ...choices]}
        error={fields["expires"]}
      />
      <DateField
        label="Date"
        name="expiresOn"
        value={value.expiresOn}
        min={isoTime(now + dayMs).slice(0, 10)}
        max={lastDay}
        isOptional
        hint={`Expires at 00:00 ${zoneCity(presentation().timezone)} on this day.`}
        error={fields["expiresOn"]}
      />
    </div>
  );
}

/** When an old key or secret can stop working after a rotation. Null: immediately. */
export const graces: ReadonlyMap<string, Pick<Choice, "label" | "hint"> & { ms: number | null }> = new Map([
  ["1h", { label: "In 1 hour", ms: dayMs / 24 }],
  ["24h", { label: "In 24 hours", ms: dayMs, hint: "Leaves time to update your programs." }],
  ["7d", { label: "In 7 days", ms: 7 * dayMs }],
  ["now", { label: "Immediately", ms: null }],
]);
export const defaultGrace = "24h";

/** @param now What happens if it stops immediately. */
export function graceChoices(now: string): readonly Choice[] {
  return [...graces].map(([value, { ms, ...choice }]) =>
    ms === null ? { value, ...choice, hint: now, isDanger: true } : { value, ...choice }
  );
}

// The choice of when a key or token expires.
import { type Choice, SelectField } from "./field.tsx";

const choices: readonly Choice[] = [
  { value: "never", label: "Never" },
  { value: "7d", label: "In 7 days" },
  { value: "30d", label: "In 30 days" },
  { value: "90d", label: "In 90 days" },
  { value: "365d", label: "In a year" },
];

/** The field `expires`. */
export function ExpiryField({ value, error }: { value: string; error: string | undefined }) {
  return <SelectField label="Expires" name="expires" value={value} choices={choices} error={error} />;
}

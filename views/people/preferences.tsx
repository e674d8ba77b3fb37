// The card of the account page for the time zone, the number and date format, and the theme.
import { localeNames } from "../../domain/locale.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { type Theme, themes } from "../../domain/presentation.ts";
import { SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { SelectField } from "../components/field.tsx";
import { Form } from "../components/form.tsx";
import type { PageForm } from "../components/form_page.tsx";
import { timezoneChoices } from "../meter/mod.ts";
import { fullDate, zoneWords } from "../text/time.ts";
import { timezoneNames } from "../text/zone.ts";

const themeNames: Readonly<Record<Theme, string>> = {
  system: "Same as the system",
  light: "Light",
  dark: "Dark",
};
const exampleNumber = 1234567.8;

export function PreferencesCard({ frame, action, error, field }: PageForm) {
  const { preferences: { timezone, locale, theme }, organization } = frame.session;
  const followed = organization === null
    ? "The organization's"
    : `Your organization's (${zoneWords(organization.timezone)})`;
  const locales = Object.entries(localeNames).map(([value, label]) => ({ value, label }));
  return (
    <Card title="Preferences">
      <Form class="parts" action={action} error={error}>
        <div class="row three">
          <SelectField
            label="Time zone"
            {...field("timezone", timezone ?? "")}
            choices={[{ value: "", label: followed }, ...timezoneChoices(timezoneNames(), timezone ?? "UTC")]}
            hint="Limits always reset in the organization's time zone."
          />
          <SelectField
            label="Number and date format"
            {...field("locale", locale ?? "")}
            choices={[{ value: "", label: "Same as the browser" }, ...locales]}
            hint={`Now: ${groupDigits(exampleNumber)} · ${fullDate(frame.now)}`}
          />
          <SelectField
            label="Theme"
            {...field("theme", theme)}
            choices={themes.map((value) => ({ value, label: themeNames[value] }))}
          />
        </div>
        <div>
          <SubmitButton tone="plain">Save preferences</SubmitButton>
        </div>
      </Form>
    </Card>
  );
}

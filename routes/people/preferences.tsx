// A person's own preferences: their shapes, their API, and their card on the account page.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { localeNames, locales, nearestLocale } from "../../domain/locale.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { type Theme, themes } from "../../domain/presentation.ts";
import { timezoneFault, timezoneName } from "../../domain/time.ts";
import { changePreferences } from "../../services/people/mod.ts";
import { SubmitButton } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { SelectField } from "../../views/components/field.tsx";
import { Form } from "../../views/components/form.tsx";
import type { PageForm } from "../../views/components/form_page.tsx";
import { timezoneChoices } from "../../views/meter/mod.ts";
import { fullDate, zoneWords } from "../../views/text/time.ts";
import { timezoneNames } from "../../views/text/zone.ts";
import { sessionRoutes } from "../api/endpoint.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { parsed } from "../schemas/common.ts";

const tagCharactersMax = 64;
const nullable = ["string", "null"] as ["string", "null"];
const timezone = {
  type: nullable,
  description: "The IANA time zone of pages; null follows the organization.",
  example: "Europe/Berlin",
};
const locale = {
  type: nullable,
  description: `The number and date format of pages; null follows the browser. One of ${locales.join(", ")}.`,
  example: "de",
};
const theme = z.enum(themes).openapi({
  description: "The colors of pages; `system` follows the browser.",
  example: "system",
});

const schema = z.object({
  timezone: z.string().nullable().openapi(timezone),
  locale: z.string().nullable().openapi(locale),
  theme,
}).openapi("Preferences");

export const changePreferencesSchema = z.strictObject({
  timezone: parsed(z.string().max(tagCharactersMax, timezoneFault), timezoneName, () => timezoneFault)
    .nullish().openapi(timezone),
  locale: parsed(
    z.string().max(tagCharactersMax),
    (tag) => nearestLocale(tag.toLowerCase()) ?? null,
    () => `must be a language tag such as de or en-GB. Supported are ${locales.join(", ")}.`,
  ).nullish().openapi({
    ...locale,
    description: `${locale.description} Other tags mean the nearest one: \`de-LI\` is \`de\`.`,
  }),
  theme: theme.optional(),
}).openapi("ChangePreferences");

const path = "/api/auth/preferences";

export function preferencesRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const route = sessionRoutes(app, parts, { tag: "Account" });
  const responses = { 200: { description: "Your preferences.", schema } };

  route({
    route: `GET ${path}`,
    operationId: "getPreferences",
    summary: "Get your preferences",
    responses,
  }, (_c, _input, actor) => actor.preferences);

  route({
    route: `PATCH ${path}`,
    operationId: "changePreferences",
    summary: "Change your preferences",
    description:
      "Pages show numbers, dates and times accordingly. Responses of the API, CSV files and emails don't change.",
    body: changePreferencesSchema,
    responses,
  }, (_c, { body }, actor) => changePreferences(parts.services, actor, body));
}

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

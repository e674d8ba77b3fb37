// The shapes of a person's preferences.
import { z } from "@hono/zod-openapi";
import { locales, nearestLocale } from "../../../domain/locale.ts";
import { themes } from "../../../domain/presentation.ts";
import { timezoneFault, timezoneName } from "../../../domain/time.ts";
import { parsed } from "../../schemas/common.ts";

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

export const preferencesSchema = z.object({
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

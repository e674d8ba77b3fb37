// How operators name an organization, and search lists.
import { z } from "@hono/zod-openapi";
import { externalIdPrefix } from "../../domain/console/organization.ts";
import { externalIdCharactersMax, searchCharactersMax } from "../../domain/limits.ts";
import { exampleId } from "./common.ts";
import { characters } from "./messages.ts";

const id = z.string().max(externalIdPrefix.length + externalIdCharactersMax).openapi({
  description: `The organization's id, or \`${externalIdPrefix}\` and its external id, percent-encoded.`,
  example: exampleId("org"),
});
export const organizationParamsSchema = z.object({ id });

/** The filter `organizationId` of a list. @param rest The end of its description, such as its default. */
export function organizationFilter(rest: string) {
  const description = `An organization, by its id or as \`external:\` and its external id. ${rest}`;
  return id.optional().openapi({ description, example: exampleId("org") });
}

/** The schema of a search. @param description What it finds. */
export function searchSchema(description: string) {
  return z.string().max(searchCharactersMax, characters(searchCharactersMax)).transform((text) =>
    text.trim() || undefined
  ).optional().openapi({ type: "string", maxLength: searchCharactersMax, description });
}

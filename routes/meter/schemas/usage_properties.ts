// Parameters of usage queries that name properties, such as `properties.region=eu`.
import { z } from "@hono/zod-openapi";
import { usageFilterValuesMax, usagePropertyValueCharactersMax } from "../../../domain/limits.ts";
import { dimensionPropertiesMax, dimensionPropertyForm } from "../../../domain/meter/dimension.ts";
import { atMost, characters } from "../../schemas/messages.ts";

const prefix = "properties.";
type Values = string | string[];

/**
 * Gathers the values of each property in a query as `properties`. They are parameters such as `properties.region=eu`, or values of the
 * parameter `properties` such as `region=eu`. Those of another form stay as they are, for the schema to reject.
 */
export function foldProperties(
  query: Readonly<Record<string, Values>>,
): Record<string, Values | Record<string, Values>> {
  const entries = Object.entries(query);
  const isProperty = (name: string) => name.startsWith(prefix);
  const texts = entries.flatMap(([name, values]) => {
    if (isProperty(name)) return [values].flat().map((text) => `${name.slice(prefix.length)}=${text}`);
    return name === "properties" ? values : [];
  });
  // Schemas of records leave `__proto__` out, so it stays an unknown parameter.
  const pairs = texts.map((text) => /^(?!__proto__=)([^=]*)=(.*)$/s.exec(text));
  if (pairs.length === 0 || pairs.includes(null)) return { ...query };
  const properties: Record<string, string[]> = Object.create(null);
  for (const [, name = "", value = ""] of pairs.filter((pair) => pair !== null)) {
    (properties[name] ??= []).push(value);
  }
  return {
    ...Object.fromEntries(entries.filter(([name]) => !isProperty(name))),
    properties: { ...properties },
  };
}

/** A property to group by, such as `properties.region`. */
export type PropertyGroup = `${typeof prefix}${string}`;

export const propertyGroupForm = new RegExp(`^properties\\.${dimensionPropertyForm.source.slice(1)}`, "u");

export function isPropertyGroup(group: string): group is PropertyGroup {
  return propertyGroupForm.test(group);
}

const value = z.string().max(usagePropertyValueCharactersMax, characters(usagePropertyValueCharactersMax));

/** Says in descriptions of parameters what a filter by property looks like. */
export const propertyFilterWords =
  "such as `region=eu`. Repeat it for several values. The parameter `properties.region=eu` does the same. `(none)` stands for records " +
  "without the property";

export const propertyFilters = z.record(
  z.string().regex(dimensionPropertyForm, "must be the name of a property that a dimension can have."),
  z.array(value).max(usageFilterValuesMax, atMost(usageFilterValuesMax, "values")),
  {
    error: ({ code }) =>
      code === "invalid_type" ? "must be a property with its value, such as region=eu." : undefined,
  },
).refine((filters) => Object.keys(filters).length <= dimensionPropertiesMax, {
  message: atMost(dimensionPropertiesMax, "properties"),
}).optional().openapi({
  type: "array",
  items: { type: "string", pattern: `${dimensionPropertyForm.source.slice(0, -1)}=` },
  description:
    `Only usage with these values of properties that are in a dimension, ${propertyFilterWords}, \`(other)\` for values beyond the first ` +
    "1,000 of an organization and month. Metrics without such a dimension are left out.",
  example: ["region=eu"],
});

// Parameters of usage queries that name properties, such as `properties.region=eu`.
import { z } from "@hono/zod-openapi";
import { usageFilterValuesMax, usagePropertyValueCharactersMax } from "../../domain/limits.ts";
import { dimensionPropertiesMax, dimensionPropertyForm } from "../../domain/meter/dimension.ts";
import { atMost, characters } from "./messages.ts";

const prefix = "properties.";
type Values = string | string[];

/** Gathers the parameters `properties.<name>` of a query as one value, `properties`. */
export function foldProperties(
  query: Readonly<Record<string, Values>>,
): Record<string, Values | Record<string, Values>> {
  const entries = Object.entries(query);
  // Schemas of records leave `__proto__` out, so it stays an unknown parameter.
  const isProperty = (name: string) => name.startsWith(prefix) && name !== `${prefix}__proto__`;
  const properties = entries.filter(([name]) => isProperty(name));
  if (properties.length === 0) return { ...query };
  return Object.fromEntries([
    ...entries.filter(([name]) => !isProperty(name)),
    [
      "properties",
      Object.fromEntries(properties.map(([name, values]) => [name.slice(prefix.length), values])),
    ],
  ]);
}

/** A property to group by, such as `properties.region`. */
export type PropertyGroup = `${typeof prefix}${string}`;

export const propertyGroupForm = new RegExp(`^properties\\.${dimensionPropertyForm.source.slice(1)}`, "u");

export function isPropertyGroup(group: string): group is PropertyGroup {
  return propertyGroupForm.test(group);
}

const value = z.string().max(usagePropertyValueCharactersMax, characters(usagePropertyValueCharactersMax));

export const propertyFilters = z.record(
  z.string().regex(dimensionPropertyForm, "must be the name of a property that a dimension can have."),
  z.union([value.transform((text) => [text]), z.array(value)])
    .refine((values) => values.length <= usageFilterValuesMax, atMost(usageFilterValuesMax, "values")),
).refine((filters) => Object.keys(filters).length <= dimensionPropertiesMax, {
  message: atMost(dimensionPropertiesMax, "properties"),
}).optional().openapi({
  param: { style: "form", explode: true },
  type: "object",
  additionalProperties: { type: "string" },
  description:
    "Only usage with these values of properties that are in a dimension: the parameter `properties.region=eu` for the property `region`. " +
    "Repeat it for several values. `(none)` stands for records without the property, `(other)` for values beyond the first 1,000 of an " +
    "organization and month. Metrics without such a dimension are left out.",
  example: { "properties.region": "eu" },
});

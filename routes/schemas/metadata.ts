// The metadata that operators keep about organizations and API keys.
import { z } from "@hono/zod-openapi";
import * as limits from "../../domain/limits.ts";
import { atMost, characters } from "./messages.ts";

const keyFault = characters(limits.metadataKeyCharactersMax, 1);
const metadataKey = z.string().min(1, keyFault).max(limits.metadataKeyCharactersMax, keyFault);
const metadataValue = z.string().max(
  limits.metadataValueCharactersMax,
  characters(limits.metadataValueCharactersMax),
);
const metadataFault = atMost(limits.metadataKeysMax, "keys");
const metadataWords =
  `up to ${limits.metadataKeysMax} keys of up to ${limits.metadataKeyCharactersMax} characters, with values of up to ` +
  `${limits.metadataValueCharactersMax}. Customers don't see it`;
const fitsMetadata = (value: object) => Object.keys(value).length <= limits.metadataKeysMax;
export const metadataExample = { accountManager: "grace" };

export const metadataSchema = z.record(metadataKey, metadataValue).refine(fitsMetadata, metadataFault)
  .openapi({
    description: `Your own data: ${metadataWords}.`,
    example: metadataExample,
  });

export const metadataChangeSchema = z.record(metadataKey, metadataValue.nullable()).openapi({
  description:
    `Values to set by key, and null for keys to remove. Other keys stay. In all, ${metadataWords}.`,
  example: metadataExample,
});

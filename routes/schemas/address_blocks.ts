// Lists of addresses that clients may come from, in JSON and in forms.
import { z } from "@hono/zod-openapi";
import { parseAddressBlock } from "../../domain/address_block.ts";

export const exampleBlock = "198.51.100.0/24";

export const addressBlock = z.string().refine((text) => parseAddressBlock(text) !== null, {
  error: "must be an IP address or a CIDR block.",
});

/** Returns the blocks that a field of a form has, separated by spaces or commas. */
export function typedBlocks(text = ""): string[] {
  return text.split(/[\s,]+/).filter((block) => block !== "");
}

/** Returns the error of a field of blocks, which may name one of them. */
export function blocksFault(fields: Readonly<Record<string, string>>): string | undefined {
  return Object.entries(fields).find(([name]) => name.startsWith("addresses"))?.[1];
}

// API keys that another system issued. Gatehouse has their hashes, and recognizes them by nothing else.
import { Buffer } from "node:buffer";
import { hashApiKey, isWellFormedApiKey } from "./api_key.ts";
import { operatorTokenTag } from "../access/operator_token.ts";
import { hasSecretTokenForm } from "../secret_token.ts";

/** Why a key of a batch was not imported. */
export const importFaults = [
  "organization_not_found",
  "hash_taken",
  "hash_repeated",
  "key_limit_reached",
  "expired",
] as const;
export type ImportFault = (typeof importFaults)[number];

/** Printable ASCII without spaces, as it can stand in an `Authorization` header. */
const foreignForm = /^[!-~]{16,255}$/;

/** With another `KEY_PREFIX`, a key could also be one that another system issued. */
const ownTags = ["service_live_", "service_test_", operatorTokenTag];

/** The shown beginning of an imported key. */
export const importedPrefixForm = /^[A-Za-z0-9_.:-]{1,16}$/;

/** The hash of a key, as it is looked up. */
export interface KeyLookup {
  readonly keyHash: string;
  /** True for a key of another form than those that Gatehouse issues: only an imported one can be meant. */
  readonly isForeign: boolean;
}

/** Returns the hash to look up for a key. Null if it is mistyped or can't be a key: there is nothing to look up. */
export function keyLookup(text: string): KeyLookup | null {
  const isForeign = !isWellFormedApiKey(text);
  const isMistyped = () => ownTags.some((tag) => hasSecretTokenForm(tag, text));
  if (isForeign && (!foreignForm.test(text) || isMistyped())) return null;
  return { keyHash: hashApiKey(text), isForeign };
}

/**
 * Reads a SHA-256 in hexadecimal, in base64 or in base64url, padded or not.
 *
 * @returns It in lower-case hexadecimal, or null for anything else.
 */
export function parseSha256(text: string): string | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return text.toLowerCase();
  // The last of 43 characters has two bits that no byte uses: they are zero.
  if (!/^[A-Za-z0-9+/_-]{42}[AEIMQUYcgkosw048]=?$/.test(text)) return null;
  return Buffer.from(text, "base64").toString("hex");
}

// Operator tokens and their format.
import type { ApiKeyStatus } from "../keys/api_key.ts";
import type { OperatorScope } from "./operator_scope.ts";
import { generateSecretToken, isWellFormedSecretToken } from "../secret_token.ts";

/** The start of every operator token. */
export const operatorTokenTag = "service_operator_";

/** A token as operators see it, with times in ISO 8601 UTC. */
export interface OperatorToken {
  readonly id: string;
  readonly name: string;
  readonly tokenPrefix: string;
  readonly scopes: readonly OperatorScope[];
  /** CIDR blocks; none for any address. */
  readonly addresses: readonly string[];
  readonly createdAt: string;
  /** The operator who created it, or null if that was on the command line or their account was deleted. */
  readonly createdBy: { readonly id: string; readonly name: string } | null;
  readonly lastUsedAt: string | null;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  readonly status: ApiKeyStatus;
}

/** Generates a token, and the prefix that may be shown later. */
export function generateOperatorToken(): { fullToken: string; tokenPrefix: string } {
  const { token, prefix } = generateSecretToken(operatorTokenTag);
  return { fullToken: token, tokenPrefix: prefix };
}

/** True if a text begins as operator tokens do. */
export const isOperatorToken = (text: string): boolean => text.startsWith(operatorTokenTag);

/** True if a text has the form and checksum of an operator token. */
export function isWellFormedOperatorToken(text: string): boolean {
  return isWellFormedSecretToken(operatorTokenTag, text);
}

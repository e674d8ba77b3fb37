// The format of operator tokens.
import { generateSecretToken, isWellFormedSecretToken } from "../secret_token.ts";

/** The start of every operator token. */
export const operatorTokenTag = "service_operator_";

/** @returns A new operator token, and the prefix that may be shown later. */
export function generateOperatorToken(): { fullToken: string; tokenPrefix: string } {
  const { token, prefix } = generateSecretToken(operatorTokenTag);
  return { fullToken: token, tokenPrefix: prefix };
}

/** Checks an operator token's form and checksum. @returns False for anything that Gatehouse never issues as one. */
export function isWellFormedOperatorToken(text: string): boolean {
  return isWellFormedSecretToken(operatorTokenTag, text);
}

// What operator tokens can be allowed to do.

/** Every scope of operator tokens. */
export const operatorScopes = [
  "organizations:read",
  "organizations:write",
  "keys:read",
  "keys:write",
  "keys:verify",
  "usage:read",
  "usage:write",
  "usage:void",
  "statements:read",
  "statements:write",
  "users:read",
  "users:write",
  "audit:read",
] as const;

/** One of {@linkcode operatorScopes}. */
export type OperatorScope = (typeof operatorScopes)[number];

/** @returns Whether a text is the name of a scope. */
export function isOperatorScope(text: string): text is OperatorScope {
  return operatorScopes.some((scope) => scope === text);
}

/** @returns What is wrong with the name of a scope that doesn't exist. */
export function unknownScope(text: string): string {
  return `“${text.slice(0, 100)}” is not a scope. The scopes are ${operatorScopes.join(", ")}.`;
}

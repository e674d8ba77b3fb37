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
  "usage:collect",
  "statements:read",
  "statements:write",
  "users:read",
  "users:write",
  "audit:read",
  "webhooks:read",
  "webhooks:write",
  "events:read",
  "portal_sessions:write",
  "tokens:introspect",
] as const;

/** One of {@linkcode operatorScopes}. */
export type OperatorScope = (typeof operatorScopes)[number];

/** Descriptions of scopes, for people who choose them. */
export const scopeMeanings: Readonly<Record<OperatorScope, string>> = {
  "organizations:read": "See organizations, members and notes",
  "organizations:write":
    "Create, change and delete organizations and plans, and invite anyone as an OWNER, including yourself",
  "keys:read": "See API keys",
  "keys:write": "Change and revoke API keys, and create keys with every permission for any organization",
  "keys:verify": "Verify API keys, and record or hold their usage",
  "usage:read": "Read the usage of all organizations",
  "usage:write": "Record usage for organizations",
  "usage:void": "Void usage records",
  "usage:collect": "Send events of gateways, which are recorded by their mappings",
  "statements:read": "Read statements and products",
  "statements:write": "Close statements, change products",
  "users:read": "See users",
  "users:write": "Disable users, reset passwords",
  "audit:read": "Read the audit log",
  "webhooks:read": "See webhook endpoints and deliveries",
  "webhooks:write": "Create, change and delete webhook endpoints, and send deliveries again",
  "events:read": "Read the events of all organizations",
  "portal_sessions:write":
    "Open the portal for anyone as any organization, with all of its API keys, usage and webhooks",
  "tokens:introspect": "See whom tokens of applications belong to, and whether they work",
};

export function isOperatorScope(text: string): text is OperatorScope {
  return operatorScopes.some((scope) => scope === text);
}

/** Returns the message about a scope that doesn't exist. */
export function unknownScope(text: string): string {
  return `“${text.slice(0, 100)}” is not a scope. The scopes are ${operatorScopes.join(", ")}.`;
}

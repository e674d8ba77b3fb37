// Scopes: those of signing in, and those that resources define.

/** The scopes of signing in. Resources may not define them. */
export const signInScopes = ["openid", "profile", "email", "groups", "offline_access"] as const;

/** True for a scope that a resource may define (RFC 6749, section 3.3). */
export function isValidScope(scope: string): boolean {
  return /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/.test(scope) && !isSignInScope(scope);
}

export function isSignInScope(scope: string): boolean {
  return (signInScopes as readonly string[]).includes(scope);
}

/** Returns the scopes in a parameter, each once. */
export function parseScopes(text: string | undefined): string[] {
  return [...new Set((text ?? "").split(" ").filter((scope) => scope !== ""))];
}

/**
 * Returns the scopes that a request gets. Unknown ones are dropped; without any, it gets all of the resource.
 *
 * @param allowed `ofClient`: scopes of signing in that the application may have; `ofResource`: those of the resource.
 */
export function grantedScopes(
  asked: readonly string[],
  { ofClient, ofResource }: { readonly ofClient: readonly string[]; readonly ofResource: readonly string[] },
): string[] {
  if (asked.length === 0) return [...ofResource];
  return asked.filter((scope) =>
    isSignInScope(scope) ? ofClient.includes(scope) : ofResource.includes(scope)
  );
}

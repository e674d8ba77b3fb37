// Identities as people and programs see them: the accounts at providers that a person signs in with.
import type { OfferedProvider } from "./identity_provider.ts";

/** An identity in its owner's list. Times are ISO 8601 UTC. */
export interface Identity {
  readonly id: string;
  /** Null if no provider here signs the person in with it. */
  readonly provider: OfferedProvider | null;
  readonly issuer: string;
  /** As the provider named it last; null if it never did. */
  readonly email: string | null;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
}

/** Names an identity in a list: its provider, or the host of its issuer. */
export function identityName({ provider, issuer }: Pick<Identity, "provider" | "issuer">): string {
  return provider?.name ?? (URL.canParse(issuer) ? new URL(issuer).host : issuer);
}

/** Returns each provider once that signs a person in. */
export function usableProviders(identities: readonly Identity[]): OfferedProvider[] {
  const found = new Map(identities.map(({ provider }) => [provider?.slug, provider]));
  return [...found.values()].filter((provider) => provider !== null);
}

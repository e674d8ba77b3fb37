// A provider of the whole service, as operators see it: without its secret.
import type { IdentityProvider } from "../people/identity_provider.ts";

type Shown = "id" | "slug" | "kind" | "name" | "issuer" | "clientId" | "trustEmail" | "signUp" | "position";

export interface ServiceProvider extends Pick<IdentityProvider, Shown> {
  /** The address to register at the provider. */
  readonly redirectUri: string;
  /** ISO 8601 UTC. */
  readonly createdAt: string;
  readonly updatedAt: string;
}

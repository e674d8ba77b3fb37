// Checks whether people can sign in with each provider, as far as its discovery document and the stored secret tell.
import type { Config } from "../../config.ts";
import type { Database } from "../../db/engine/database.ts";
import { findCheckedProviders } from "../../db/people/mod.ts";
import type { StoredProvider } from "../../db/access/mod.ts";
import { checkedProvidersMax } from "../../domain/check_limits.ts";
import { type CheckResult, resultsOf } from "../../domain/check_result.ts";
import { redirectUri } from "../../domain/people/provider_metadata.ts";
import { AddressGuard } from "../../services/outbox/mod.ts";
import { Secrets, SecretsError } from "../../services/secrets.ts";
import { findProviderFault } from "../../services/people/mod.ts";

export type CheckedConfig = Pick<Config, "baseUrl" | "secretsKeys" | "webhookAllowedHosts">;

/** Checks the providers of the service, and then those of organizations, up to a limit. */
export async function checkProviders(database: Database, config: CheckedConfig): Promise<CheckResult[]> {
  const providers = await findCheckedProviders(database, { limit: checkedProvidersMax });
  const parts = { addressGuard: new AddressGuard(config), secrets: new Secrets(config.secretsKeys) };
  return await Promise.all(providers.map((provider) => checkProvider(provider, { ...parts, config })));
}

async function checkProvider(
  provider: StoredProvider,
  { addressGuard, secrets, config }: {
    addressGuard: AddressGuard;
    secrets: Secrets;
    config: CheckedConfig;
  },
): Promise<CheckResult> {
  const { id, slug, clientSecret, organizationId } = provider;
  const result = resultsOf(`Provider ${slug}`);
  // The people who run the service can't repair a customer's provider.
  const problem = organizationId === null ? result.wrong : result.warning;
  try {
    secrets.open(id, clientSecret);
  } catch (error) {
    if (!(error instanceof SecretsError)) throw error;
    return problem(
      `Its client secret can't be read: ${error.message}.`,
      "Add that key, or enter the secret again.",
    );
  }
  const fault = await findProviderFault({ addressGuard }, provider);
  if (fault !== null) {
    return problem(`${fault}.`, "No one can sign in with it until this is fixed at the provider.");
  }
  return result.ok(`Reachable. The redirect URI to register there is ${redirectUri(config.baseUrl, slug)}.`);
}

// The context of verbs. A verb is an exported function `revokeApiKey(context, actor, id)` in the file of its noun.
import type { DatabaseReader } from "../db/engine/database.ts";
import type { BaseContext } from "./base_context.ts";
import type { GithubKeys } from "./keys/github_keys.ts";
import type { Mail } from "./outbox/mail.ts";
import type { MailBudgets } from "./outbox/mail_budgets.ts";
import type { CredentialSearch } from "./meter/credential_search.ts";
import type { LastRequests } from "./meter/last_requests.ts";
import type { RequestOutcomes } from "./meter/request_outcomes.ts";
import type { ClientDocuments } from "./oauth/client_documents.ts";
import type { TokenSearch } from "./oauth/introspection.ts";
import type { SigningKeys } from "./oauth/signing_keys.ts";
import type { Recorder } from "./meter/recorder.ts";
import type { AddressGuard } from "./outbox/address_guard.ts";
import type { RateLimits } from "./rate_limits.ts";
import type { Secrets } from "./secrets.ts";
import type { Reports } from "./reports/reports.ts";
import type { Credentials } from "./access/credentials.ts";
import type { ProviderClient } from "./people/provider_client.ts";
import type { SecondStepCodes } from "./people/second_step_codes.ts";
import type { SessionSearch } from "./access/session_search.ts";
import type { WriteAs } from "./access/session_writes.ts";
import type { WebhookAccess } from "./outbox/webhook_worker.ts";

/** The settings, the database, the clock and the long-lived parts, for all verbs. */
export interface Context extends BaseContext {
  readonly writeAs: WriteAs;
  readonly rateLimits: RateLimits;
  readonly credentials: Credentials;
  readonly secondStepCodes: SecondStepCodes;
  readonly sessionSearch: SessionSearch;
  readonly secrets: Secrets;
  /** Checks the URLs that customers choose. */
  readonly addressGuard: AddressGuard;
  readonly providerClient: ProviderClient;
  readonly signingKeys: SigningKeys;
  readonly clientDocuments: ClientDocuments;
  /** Finds tokens of applications. */
  readonly tokenSearch: TokenSearch;
  readonly githubKeys: GithubKeys;
  readonly mail: Mail;
  readonly mailBudgets: MailBudgets;
  readonly recorder: Recorder;
  readonly lastRequests: LastRequests;
  readonly requestOutcomes: RequestOutcomes;
  readonly reports: Reports;
  readonly webhooks: WebhookAccess;
  readonly credentialSearch: CredentialSearch;
  /** Receives errors that no request waits for. */
  readonly onBackgroundError: (error: unknown) => void;
}

/** For verbs that act for a session or an operator. They can read the database, but write only with `writeAs`. */
export interface SessionContext extends Omit<Context, "database"> {
  readonly database: DatabaseReader;
}

// The context of all verbs in one thread, with the parts of this thread: created at start and closed at the end.
import type { BaseContext } from "./base_context.ts";
import { BodyRoom } from "./body_room.ts";
import type { Context } from "./context.ts";
import { Deadlines } from "./deadlines.ts";
import { GithubKeys } from "./keys/github_keys.ts";
import { Mail } from "./outbox/mail.ts";
import { MailBudgets } from "./outbox/mail_budgets.ts";
import { CredentialSearch } from "./meter/credential_search.ts";
import { LastRequests } from "./meter/last_requests.ts";
import { RequestOutcomes } from "./meter/request_outcomes.ts";
import { Recorder } from "./meter/recorder.ts";
import type { ProcessParts } from "./process_parts.ts";
import { DatabaseReadiness, type UnreadyReason } from "./readiness.ts";
import { Reports } from "./reports/reports.ts";
import { AddressGuard } from "./outbox/address_guard.ts";
import { Secrets } from "./secrets.ts";
import { Credentials } from "./access/credentials.ts";
import { ProviderClient } from "./people/provider_client.ts";
import { ClientDocuments } from "./oauth/client_documents.ts";
import { TokenSearch } from "./oauth/introspection.ts";
import { SigningKeys } from "./oauth/signing_keys.ts";
import { SecondStepCodes } from "./people/second_step_codes.ts";
import { SessionSearch } from "./access/session_search.ts";
import { createWriteAs } from "./access/session_writes.ts";

/** The context of verbs, and the state of the thread, for routes and the server. */
export interface Services extends Context {
  /** The server sweeps them about once a second. */
  readonly deadlines: Deadlines;
  /** For bodies with API keys or operator tokens, and for those with sessions: neither takes the other's room. */
  readonly bodyRooms: Readonly<Record<"keys" | "sessions", BodyRoom>>;
  /** Returns the reason for a 503 of `/health/ready`. See {@linkcode DatabaseReadiness.unreadyReason}. */
  unreadyReason(options?: { mayWrite: boolean }): Promise<UnreadyReason | null>;
  /** Makes {@linkcode unreadyReason} return `stopping`, and starts no more reports, except for recording. */
  drain(): void;
  /** Writes accepted records and ends the reports of this thread; the database stays open. */
  close(): Promise<void>;
}

interface ServicesOptions {
  /** Shared by all threads. It stays open. */
  readonly parts: ProcessParts;
  /** Receives errors that no request waits for. */
  readonly onBackgroundError: (error: unknown) => void;
  /** The number of threads that create services; 1 by default. */
  readonly httpThreads?: number;
  /** See {@linkcode ProviderClient}. */
  readonly providerTimeoutMs?: number;
  /** See {@linkcode ClientDocuments}. */
  readonly documents?: ConstructorParameters<typeof ClientDocuments>[1];
}

export function createServices(
  base: BaseContext,
  { parts, onBackgroundError, httpThreads = 1, documents, ...provider }: ServicesOptions,
): Services {
  const { rateLimits } = parts;
  const reports = new Reports(parts.reportsThread);
  const recorder = new Recorder({ ...base, reports }, { httpThreads, onBackgroundError });
  const credentials = new Credentials(base, { ...parts, onBackgroundError });
  const mail = new Mail(base.config, parts.mailWorker);
  const secrets = new Secrets(base.config.secretsKeys);
  const addressGuard = new AddressGuard(base.config);
  const context: Context = {
    ...base,
    writeAs: createWriteAs(base, rateLimits),
    rateLimits,
    credentials,
    secondStepCodes: new SecondStepCodes(base, { credentials, mail }),
    sessionSearch: new SessionSearch(base, { onBackgroundError }),
    secrets,
    addressGuard,
    providerClient: new ProviderClient({ ...base, secrets, addressGuard }, provider),
    tokenSearch: new TokenSearch(base),
    signingKeys: new SigningKeys(base, { secrets }),
    clientDocuments: new ClientDocuments({ ...base, addressGuard, rateLimits }, documents),
    githubKeys: new GithubKeys(base),
    mail,
    mailBudgets: new MailBudgets(base, rateLimits),
    recorder,
    lastRequests: new LastRequests(base, { onBackgroundError }),
    requestOutcomes: new RequestOutcomes(base, { onBackgroundError }),
    reports,
    webhooks: parts.webhooks,
    credentialSearch: new CredentialSearch(base),
    onBackgroundError,
  };
  const readiness = new DatabaseReadiness(base);
  let isDraining = false;
  return {
    ...context,
    deadlines: new Deadlines(base.clock),
    bodyRooms: { keys: new BodyRoom(), sessions: new BodyRoom() },
    unreadyReason: async (options) => isDraining ? "stopping" : await readiness.unreadyReason(options),
    drain: () => {
      isDraining = true;
      reports.drain();
    },
    close: async () => {
      // Recording may need sums of limits.
      await Promise.all([recorder.close(), context.lastRequests.close()]);
      await context.requestOutcomes.close();
      await reports.close();
    },
  };
}

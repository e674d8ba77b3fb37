// The server's background work: deletions, emails and other upkeep.
import type { WithheldMails } from "../../domain/outbox/limit_mail_reach.ts";
import { accessWork } from "../../services/access/mod.ts";
import { type BackgroundWork, runBackgroundWork, upkeep } from "../../services/background_work.ts";
import { billingWork } from "../../services/billing/mod.ts";
import { keysWork } from "../../services/keys/mod.ts";
import { meterWork } from "../../services/meter/mod.ts";
import { oauthWork } from "../../services/oauth/mod.ts";
import { outboxWork } from "../../services/outbox/mod.ts";
import { peopleWork } from "../../services/people/mod.ts";
import { createResealing } from "../../services/secrets_upkeep.ts";
import type { Services } from "../../services/services.ts";

interface BackgroundLog {
  info(message: string, values: Record<string, unknown>): void;
  warn(message: string, values: Record<string, unknown>): void;
}

interface BackgroundOptions {
  readonly log: BackgroundLog;
  readonly withheld: WithheldMails;
  readonly signal: AbortSignal;
  /** For tests. */
  readonly dueIntervalMs?: number;
}

/** Runs background work until the signal aborts. */
export async function workInBackground(services: Services, options: BackgroundOptions): Promise<void> {
  const { database, clock } = services;
  await runBackgroundWork(backgroundWork(services, options), { database, clock, ...options });
}

/** Returns the work of all subjects. */
export function backgroundWork(
  services: Services,
  options: Pick<BackgroundOptions, "log" | "withheld">,
): BackgroundWork[] {
  const reseal = createResealing();
  return [
    ...accessWork(services),
    ...outboxWork(services),
    ...meterWork(services, options),
    ...keysWork(services),
    ...billingWork(services, options),
    ...peopleWork(services),
    ...oauthWork(services),
    upkeep("secrets under an older key", () => reseal(services)),
  ];
}

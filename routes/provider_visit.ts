// Begins visits to providers of people who are signed in, and ties them to the browser.
import type { SessionActor } from "../domain/actor.ts";
import type { VisitPurpose } from "../domain/sign_in/identity_provider.ts";
import { beginProviderVisit, type ProviderVisit } from "../services/sign_in/provider_visit.ts";
import { providerVisitTokens, setProviderVisitCookie } from "./cookies.ts";
import type { AppContext, AppParts } from "./env.ts";

interface OwnVisit extends Pick<ProviderVisit, "provider"> {
  readonly purpose: Exclude<VisitPurpose, "sign_in">;
  /** The page to continue at, checked by the caller. */
  readonly returnTo: string;
}

/** Returns the address to visit. @throws {AppError} `rate_limited`, `provider_unavailable`. */
export async function beginOwnVisit(
  c: AppContext,
  { config, services }: AppParts,
  { session, ...visit }: OwnVisit & { session: SessionActor },
): Promise<URL> {
  const browserTokens = providerVisitTokens(c.get("headers")["cookie"], config);
  const { url, browserToken } = await beginProviderVisit(services, session.client, {
    ...visit,
    session,
    browserTokens,
  });
  setProviderVisitCookie(c, config, browserToken);
  return url;
}

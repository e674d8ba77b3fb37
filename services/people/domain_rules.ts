// Where people with addresses of an organization's verified domains sign in. Only the domain of an address is looked at, so that no
// response shows whether there is an account.
import { type DomainProvider, findDomainProvider, isPasskeyPermitted } from "../../db/access/mod.ts";
import { AppError } from "../../domain/errors.ts";
import { canonicalEmail } from "../../domain/outbox/email.ts";
import { ssoRequiredError } from "../../domain/people/company_sign_in.ts";
import type { SessionContext } from "../context.ts";

type Reading = Pick<SessionContext, "database" | "config">;

/** Requires that an address may be used with a provider; null for none. @param own That of its domain. @throws {AppError} `sso_required`. */
export function requirePermitted(
  { baseUrl }: Pick<Reading["config"], "baseUrl">,
  own: DomainProvider | undefined,
  provider: { readonly id: string } | null,
): void {
  if (own === undefined || own.enforced === 0 || own.id === provider?.id) return;
  const signInUrl = new URL(`/sign-in/with/${own.slug}`, baseUrl).href;
  throw ssoRequiredError({ name: own.name, signInUrl });
}

/** Requires that an address may be used without a provider. @throws {AppError} `sso_required`. */
export async function requireDomainPermits({ database, config }: Reading, email: string): Promise<void> {
  requirePermitted(config, await findDomainProvider(database, email), null);
}

/** Requires that someone may sign in with a passkey alone, which owners always may. @throws {AppError} `sso_required`. */
export async function requirePasskeyPermitted(
  context: Reading,
  { id, email }: { readonly id: string; readonly email: string },
): Promise<void> {
  if (!await isPasskeyPermitted(context.database, id)) await requireDomainPermits(context, email);
}

/** Requires that an account may change its address. @throws {AppError} `sso_required`. */
export async function requireMayLeaveDomain(
  { database }: Reading,
  change: { readonly from: string; readonly to: string },
): Promise<void> {
  const own = await findDomainProvider(database, change.from);
  if (own?.enforced !== 1 || (await findDomainProvider(database, change.to))?.id === own.id) return;
  throw new AppError(
    "sso_required",
    `${own.name} requires single sign-on for your address. You can only change it to one of another domain of ${own.name}.`,
  );
}

/** Finds the provider for a typed address; undefined if its domain has none. */
export async function findProviderForEmail(
  { database }: Pick<Reading, "database">,
  typed: string,
): Promise<DomainProvider | undefined> {
  const email = canonicalEmail(typed);
  return email === null ? undefined : await findDomainProvider(database, email);
}

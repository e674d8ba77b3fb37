// Applications to which a person has given access.
import {
  type ApplicationRow,
  confirmAccess,
  endAccess,
  findApplications,
} from "../../db/oauth/managed_clients.ts";
import type { SessionActor } from "../../domain/access/actor.ts";
import { notFoundError } from "../../domain/errors.ts";
import { documentHost } from "../../domain/oauth/client_document.ts";
import { hostOfRedirect } from "../../domain/oauth/client.ts";
import { writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";

/** The access of an application to a person's account. */
export interface Application extends Omit<ApplicationRow, "redirectUris" | "consent" | "scopes"> {
  /** The host that describes it, and the hosts and schemes of its redirect addresses. */
  readonly hosts: readonly string[];
  /** False for an application that gets access without asking. */
  readonly asks: boolean;
  readonly scopes: readonly string[];
}

const applicationsShownMax = 100;

/** Lists the access of applications to a person's account, the latest first, at most {@linkcode applicationsShownMax}. */
export async function listApplications(
  { database }: Pick<SessionContext, "database">,
  { user }: SessionActor,
): Promise<Application[]> {
  const rows = await findApplications(database, user.id, { limit: applicationsShownMax });
  return rows.map(({ redirectUris, consent, scopes, ...row }) => ({
    ...row,
    asks: consent === 1,
    hosts: hostsOf(row.clientId, JSON.parse(redirectUris)),
    scopes: scopes.split(" ").filter((scope) => scope !== ""),
  }));
}

function hostsOf(clientId: string, redirectUris: readonly string[]): string[] {
  const host = documentHost(clientId);
  return [...new Set([...host === null ? [] : [host], ...redirectUris.map(hostOfRedirect)])];
}

/** Ends an application's access to a person's account, and forgets what they allowed. @throws {AppError} `not_found`. */
export async function removeApplication(
  context: SessionContext,
  actor: SessionActor,
  id: string,
): Promise<void> {
  const found = (await listApplications(context, actor)).find((one) => one.id === id);
  if (found === undefined) throw notFoundError();
  const { clientId, name } = found;
  const isRemoved = await writeChange(context, actor, {
    statement: confirmAccess(actor.user.id, clientId),
    entry: { action: "application.removed", organizationId: null, target: { id, name } },
    after: ({ audited }) => endAccess(actor.user.id, clientId, audited),
  });
  if (!isRemoved) throw notFoundError();
}

// Forward authentication: decides whom a reverse proxy may let through, and meters requests with API keys.
import { AppError } from "../../domain/errors.ts";
import {
  type ForwardConditions,
  type ForwardDenial,
  type ForwardIdentity,
  judgeSession,
} from "../../domain/meter/forward_auth.ts";
import type { ClientInfo } from "../../domain/access/actor.ts";
import type { Session } from "../../domain/access/session.ts";
import type { Context } from "../context.ts";
import { requireApiKey } from "./usage_access.ts";

/** Each admitted request is recorded with a quantity of 1. */
export interface Meter {
  readonly productSlug: string;
  readonly metric: string;
}

export interface KeyConditions extends ForwardConditions {
  /** A permission that the key must have. */
  readonly permission?: string | undefined;
}

/**
 * Admits the request of a signed-in person.
 *
 * @returns Their identity, in the required organization or else in their active one.
 * @throws {AppError} `forbidden` or `email_unverified` when they don't meet the conditions.
 */
export function admitSession(session: Session, conditions: ForwardConditions): ForwardIdentity {
  const judged = judgeSession(session, conditions);
  if ("reason" in judged) throw denialError(judged);
  const { membership } = judged;
  const { id, name, email, emailVerified } = session.user;
  return {
    userId: id,
    name,
    email,
    emailVerified,
    organizationId: membership?.organizationId,
    role: membership?.role,
    features: membership?.features ?? [],
  };
}

/**
 * Admits a request with an API key, given by its hash. With a meter, one record is on disk before this returns; a denied
 * request leaves none.
 *
 * @returns The key's id, environment, organization and permissions.
 * @throws {AppError} `invalid_api_key`, `organization_suspended`; `forbidden` when a role is required, which no key has, or
 *   another organization; `permission_missing`; `limit_exceeded` or `unavailable` when the record cannot be written.
 */
export async function admitApiKey(
  context: Context,
  keyHash: string,
  { client, conditions, meter }: { client: ClientInfo; conditions: KeyConditions; meter: Meter | null },
): Promise<ForwardIdentity> {
  const { organization, role, permission = null } = conditions;
  const key = await requireApiKey(context, keyHash, { client, permission });
  if (organization !== undefined && organization !== key.organizationId) throw otherOrganizationError();
  if (role !== undefined) {
    throw new AppError("forbidden", `This requires the role ${role}, and API keys have no role.`);
  }
  if (meter !== null) {
    // Every request counts, so an idempotency key that the client may have sent is ignored.
    const input = {
      ...meter,
      quantity: { whole: 1, micro: 0 },
      timestamp: null,
      idempotencyKey: null,
      properties: null,
    };
    const bytes = meter.productSlug.length + meter.metric.length;
    await context.recorder.record({ keyHash, client, asks: true, inputs: [input], bytes });
  }
  const { organizationId, id, environment, permissions, features } = key;
  return { organizationId, apiKeyId: id, environment, permissions, features };
}

function denialError(denial: ForwardDenial): AppError {
  switch (denial.reason) {
    case "organization":
      return otherOrganizationError();
    case "role":
      return new AppError("forbidden", `This requires at least the role ${denial.role}.`);
    case "email":
      return new AppError("email_unverified", "Confirm your email address first: open the link we sent you.");
  }
}

function otherOrganizationError(): AppError {
  return new AppError("forbidden", "This requires membership in another organization.");
}

// Forward authentication: who a reverse proxy may let through, and metering what it lets through.
import { findActiveApiKey, updateApiKeyUsed } from "../../db/api_keys.ts";
import { AppError, invalidApiKeyError } from "../../domain/errors.ts";
import {
  type ForwardConditions,
  type ForwardDenial,
  type ForwardIdentity,
  judgeSession,
} from "../../domain/meter/forward_auth.ts";
import { apiKeyUsedIntervalMs } from "../../domain/limits.ts";
import type { Session } from "../../domain/sign_in/session.ts";
import type { BaseContext } from "../base_context.ts";
import type { Recorder } from "./recorder.ts";

/** What each request that is let through counts for: 1. */
export interface Meter {
  readonly productSlug: string;
  readonly metric: string;
}

/** The verbs of forward authentication. */
export interface ForwardAuthService {
  /**
   * Lets a signed-in person through.
   *
   * @returns Who they are, in the organization that is asked for, or else in their active one.
   * @throws {AppError} `forbidden` or `email_unverified` to those who do not meet the conditions.
   */
  admitSession(session: Session, conditions: ForwardConditions): ForwardIdentity;
  /**
   * Lets an API key through, which is given by its hash. With a meter, one record is on disk before this returns; a
   * request that is refused leaves none.
   *
   * @returns Which key it is, and its organization.
   * @throws {AppError} `invalid_api_key`; `forbidden` when a role is asked for, which no key has, or another organization;
   *   `unavailable` when the record cannot be written.
   */
  admitApiKey(
    keyHash: string,
    options: { conditions: ForwardConditions; meter: Meter | null },
  ): Promise<ForwardIdentity>;
}

/**
 * @param context See {@linkcode BaseContext}.
 * @param parts `recorder`: where records go. `onBackgroundError`: told when noting a key's last use failed.
 */
export function createForwardAuthService(
  context: BaseContext,
  parts: { recorder: Recorder; onBackgroundError: (error: unknown) => void },
): ForwardAuthService {
  const { database, clock } = context;
  const { recorder, onBackgroundError } = parts;
  /** Keys whose last use is being noted: of many requests at once, one does it. */
  const beingUsed = new Set<string>();

  function noteUse(key: { id: string; lastUsedAt: number | null }, now: number): void {
    if (now - (key.lastUsedAt ?? 0) < apiKeyUsedIntervalMs || beingUsed.has(key.id)) return;
    beingUsed.add(key.id);
    database.write([updateApiKeyUsed(key.id, now)])
      .catch(onBackgroundError)
      .finally(() => beingUsed.delete(key.id));
  }

  return {
    admitSession(session, conditions) {
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
      };
    },

    async admitApiKey(keyHash, { conditions, meter }) {
      const now = clock();
      const key = await findActiveApiKey(database, keyHash, now);
      if (key === undefined) throw invalidApiKeyError();
      const { organization, role } = conditions;
      if (organization !== undefined && organization !== key.organizationId) throw otherOrganizationError();
      if (role !== undefined) throw new AppError("forbidden", `This needs the role ${role}; a key has none.`);
      if (meter === null) noteUse(key, now);
      else {
        // Without an idempotency key, whatever the client sent: each request counts.
        const input = {
          ...meter,
          quantity: { whole: 1, micro: 0 },
          timestamp: null,
          idempotencyKey: null,
          properties: null,
        };
        const bytes = meter.productSlug.length + meter.metric.length;
        await recorder.record({ keyHash, inputs: [input], bytes });
      }
      return { organizationId: key.organizationId, apiKeyId: key.id };
    },
  };
}

function denialError(denial: ForwardDenial): AppError {
  switch (denial.reason) {
    case "organization":
      return otherOrganizationError();
    case "role":
      return new AppError("forbidden", `This needs at least the role ${denial.role}.`);
    case "email":
      return new AppError(
        "email_unverified",
        "Confirm your address first: open the link that we mailed you.",
      );
  }
}

function otherOrganizationError(): AppError {
  return new AppError("forbidden", "This is for members of another organization.");
}

// Limits of mails that are hit, in the audit log: somebody who asks for so many is worth a look.
import { insertAuditEvent } from "../../db/audit.ts";
import type { Actor } from "../../domain/actor.ts";
import { AppError } from "../../domain/errors.ts";
import { addressWindowMs } from "../../domain/limits.ts";
import type { BaseContext } from "../base_context.ts";
import type { About } from "../sign_in/credentials.ts";
import { RateLimiter } from "../rate_limiter.ts";

/** Whose limit it is. */
export interface LimitedMails {
  /** A name for it: of one that is hit again and again there is one entry in ten minutes. */
  readonly subject: string;
  readonly actor: Actor;
  /** What the entry is about; asked for when there is one. */
  readonly about: () => About | Promise<About>;
}

/**
 * Takes a mail from a budget, and may write it too.
 *
 * @throws {AppError} What `take` throws; when that is `rate_limited`, the audit log says so.
 */
export type LimitMails = <T>(take: () => T | Promise<T>, of: LimitedMails) => Promise<T>;

/** @param context See {@linkcode BaseContext}. */
export function createLimitedMails({ database, clock }: BaseContext): LimitMails {
  const noted = new RateLimiter({ points: 1, windowMs: addressWindowMs, clock });
  return async (take, { subject, actor, about }) => {
    try {
      return await take();
    } catch (error) {
      if (error instanceof AppError && error.code === "rate_limited" && noted.take(subject).isAllowed) {
        const entry = { action: "mail.limited", ...await about() } as const;
        await database.write([insertAuditEvent(actor, entry, { now: clock(), always: true }).statement]);
      }
      throw error;
    }
  };
}

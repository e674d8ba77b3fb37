// Rotates the signing keys before their time.
import { ifAudited } from "../../db/access/mod.ts";
import { deleteOtherSigningKeys, insertSigningKey } from "../../db/oauth/signing_keys.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { unavailableError } from "../../domain/errors.ts";
import { keyAheadMs } from "../../domain/oauth/oauth_limits.ts";
import { writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { requireSecretsKey } from "./clients.ts";

/**
 * Makes the next signing keys. Returns when they begin to sign.
 *
 * @param options `isStolen`: they sign immediately, and all others are rejected.
 * @throws {AppError} `secrets_key_missing`; `unavailable` if another server just made the next keys.
 */
export async function rotateSigningKeys(
  context: SessionContext,
  actor: OperatorActor,
  { isStolen }: { isStolen: boolean },
): Promise<number> {
  requireSecretsKey(context);
  const now = context.clock();
  const keys = await context.signingKeys.nextKeys(isStolen ? now : now + keyAheadMs);
  const [first, ...others] = keys;
  if (first === undefined) throw new Error("there is no algorithm");
  const isMade = await writeChange(context, actor, {
    statement: insertSigningKey(first),
    entry: {
      action: "signing_keys.rotated",
      organizationId: null,
      details: { change: isStolen ? "the old ones are rejected" : "the new ones sign in 24 hours" },
    },
    after: ({ audited }) => [
      ...others.map((key) => insertSigningKey(key, ifAudited(audited))),
      ...(isStolen ? keys.map((key) => deleteOtherSigningKeys(key, ifAudited(audited))) : []),
    ],
  });
  if (!isMade) throw unavailableError("Another server just made the next keys. Try again.");
  return first.signsFrom;
}

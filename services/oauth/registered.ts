// The verbs that clients and resources share. A secret leaves the service once and is never stored.
import { deleteRegistered, type RegisteredNoun, updateSecret } from "../../db/oauth/registered.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { notFoundError } from "../../domain/errors.ts";
import { generateSecretToken, hashSecretToken } from "../../domain/secret_token.ts";
import { type Change, writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";

interface Registered {
  readonly noun: RegisteredNoun;
  readonly id: string;
  readonly name: string;
}

export const registeredEntry = (
  { noun, id, name }: Registered,
  act: "created" | "changed" | "deleted" | "secret_rotated",
) => ({ action: `${noun}.${act}`, organizationId: null, target: { id, name } }) as const;

export const newSecret = ({ config }: Pick<SessionContext, "config">): string =>
  generateSecretToken(`${config.keyPrefix}_client_`).token;

/** Returns the new secret, effective immediately. @throws {AppError} `not_found`, also for a public client. */
export async function rotateSecret(
  context: SessionContext,
  actor: OperatorActor,
  one: Registered,
): Promise<string> {
  const secret = newSecret(context);
  const isChanged = await writeChange(context, actor, {
    statement: updateSecret(one.noun, one.id, hashSecretToken(secret)),
    entry: registeredEntry(one, "secret_rotated"),
  });
  if (!isChanged) throw notFoundError();
  return secret;
}

/** @throws {AppError} `not_found`. */
export async function removeRegistered(
  context: SessionContext,
  actor: OperatorActor,
  one: Registered & Pick<Change, "after">,
): Promise<void> {
  const { noun, id, after } = one;
  const entry = registeredEntry(one, "deleted");
  const isDeleted = await writeChange(context, actor, {
    statement: deleteRegistered(noun, id),
    entry,
    ...after && { after },
  });
  if (!isDeleted) throw notFoundError();
}

/** Returns the fields of a change that are given. */
export const givenOf = <Fields extends object>(change: Fields) =>
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Fields]?: Exclude<Fields[Name], undefined>;
  };

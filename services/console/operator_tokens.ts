// Operator tokens: create, list, revoke. The whole token leaves this file once and is never stored.
import {
  findOperatorToken,
  findOperatorTokens,
  insertOperatorToken,
  markOperatorTokenRevoked,
  type OperatorTokenRow,
  selectOperatorToken,
} from "../../db/access/mod.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { apiKeyStatus } from "../../domain/keys/api_key.ts";
import { notFoundError, validationError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import { type OperatorScope, operatorScopes } from "../../domain/access/operator_scope.ts";
import { generateOperatorToken, type OperatorToken } from "../../domain/access/operator_token.ts";
import { hashSecretToken } from "../../domain/secret_token.ts";
import { isoTime } from "../../domain/time.ts";
import { writeAndRead } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { type PageInput, readIdPage } from "../pages.ts";

export interface NewToken {
  readonly name: string;
  readonly scopes: readonly OperatorScope[];
  /** CIDR blocks from which it may be used; none for any address. */
  readonly addresses: readonly string[];
  /** In the future; null for never. */
  readonly expiresAt: number | null;
}

/** Creates a token, and returns the text that is never available again. @throws {AppError} `validation_failed`. */
export async function createOperatorToken(
  context: SessionContext,
  actor: OperatorActor,
  { name, scopes: given, addresses, expiresAt }: NewToken,
): Promise<{ token: OperatorToken; fullToken: string }> {
  const now = context.clock();
  if (expiresAt !== null && expiresAt <= now) {
    throw validationError([{ path: "expiresAt", message: "must be in the future." }]);
  }
  const { fullToken, tokenPrefix } = generateOperatorToken();
  const id = newId("opt");
  const scopes = operatorScopes.filter((scope) => given.includes(scope));
  const { credential } = actor;
  const { row } = await writeAndRead<OperatorTokenRow>(context, actor, {
    statement: insertOperatorToken({
      id,
      tokenHash: hashSecretToken(fullToken),
      tokenPrefix,
      name,
      scopes: JSON.stringify(scopes),
      addresses: JSON.stringify(addresses),
      createdBy: credential.kind === "account" ? credential.session.user.id : null,
      createdAt: now,
      expiresAt,
    }),
    entry: {
      action: "operator_token.created",
      organizationId: null,
      target: { id, name },
      details: {
        scopes: scopes.join(", "),
        ...(addresses.length === 0 ? {} : { addresses: addresses.join(", ") }),
        ...(expiresAt === null ? {} : { expiresAt: isoTime(expiresAt) }),
      },
    },
  }, selectOperatorToken(id));
  return { token: toToken(row(), now), fullToken };
}

/** Lists tokens, newest first, including inactive ones. @throws {AppError} `validation_failed`. */
export async function listOperatorTokens(
  { database, clock }: SessionContext,
  { limit, cursor }: PageInput,
): Promise<{ tokens: OperatorToken[]; nextCursor: string | null }> {
  const { rows, nextCursor } = await readIdPage(
    (page) => findOperatorTokens(database, page),
    { prefix: "opt", limit, cursor },
  );
  const now = clock();
  return { tokens: rows.map((row) => toToken(row, now)), nextCursor };
}

/** @throws {AppError} `not_found`. */
export async function getOperatorToken(
  { database, clock }: SessionContext,
  id: string,
): Promise<OperatorToken> {
  const row = isId("opt", id) ? await findOperatorToken(database, id) : undefined;
  if (row === undefined) throw notFoundError();
  return toToken(row, clock());
}

/** Revokes a token, effective immediately. Revoking it again changes nothing. @throws {AppError} `not_found`. */
export async function revokeOperatorToken(
  context: SessionContext,
  actor: OperatorActor,
  id: string,
): Promise<OperatorToken> {
  const { name } = await getOperatorToken(context, id);
  const { row } = await writeAndRead<OperatorTokenRow>(context, actor, {
    statement: markOperatorTokenRevoked(id, context.clock()),
    entry: { action: "operator_token.revoked", organizationId: null, target: { id, name } },
  }, selectOperatorToken(id));
  return toToken(row(), context.clock());
}

function toToken(row: OperatorTokenRow, now: number): OperatorToken {
  return {
    id: row.id,
    name: row.name,
    tokenPrefix: row.tokenPrefix,
    scopes: JSON.parse(row.scopes),
    addresses: JSON.parse(row.addresses),
    createdAt: isoTime(row.createdAt),
    createdBy: row.createdById === null ? null : { id: row.createdById, name: row.createdByName ?? "" },
    lastUsedAt: isoTime(row.lastUsedAt),
    expiresAt: isoTime(row.expiresAt),
    revokedAt: isoTime(row.revokedAt),
    status: apiKeyStatus(row, now),
  };
}

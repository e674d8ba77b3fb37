// Creates operators and their tokens directly in the database.
import assert from "node:assert/strict";
import { Connection } from "../../../db/engine/connection.ts";
import { sql, type Statement } from "../../../db/engine/database.ts";
import { generateOperatorToken } from "../../../domain/access/operator_token.ts";
import { type OperatorScope, operatorScopes } from "../../../domain/access/operator_scope.ts";
import { hashSecretToken } from "../../../domain/secret_token.ts";
import { newId } from "../../../domain/id.ts";
import type { OperatorActor } from "../../../domain/access/actor.ts";
import type { TestApp, TestPerson } from "../app/app.ts";
import { runCommand } from "../process/command.ts";
import { sendJson } from "../process/journey.ts";
import { run } from "../people/scene.ts";

/** What is unusual about an operator. */
export interface OperatorOptions {
  /** When they last used a second factor in their session. Default: now; null for never. */
  readonly secondFactorAt?: number | null;
  /** When they last confirmed their identity in it. Default: now. */
  readonly provedAt?: number;
}

/** Makes a signed-in person an operator who has a passkey. */
export async function makeOperator(
  test: TestApp,
  { userId }: Pick<TestPerson, "userId">,
  { secondFactorAt = test.now(), provedAt = test.now() }: OperatorOptions = {},
): Promise<void> {
  await test.opened.database.write([
    sql`UPDATE users SET operator_since = ${test.now()} WHERE id = ${userId}`,
    sql`UPDATE sessions SET second_factor_at = ${secondFactorAt}, proved_at = ${provedAt} WHERE user_id = ${userId}`,
    passkeyOf(userId, test.now())[1],
  ]);
}

/** Gives all keys every permission of usage. */
export const grantVoids: Statement = {
  sql: `UPDATE api_keys SET permissions = '["usage:read","usage:void","usage:write"]'`,
  args: [],
};

/** Changes the data file of a running program, which must not be killed: this process keeps the file open for a while. */
export function changeDataFile(folder: string, statement: Statement): unknown[] {
  const connection = new Connection(`${folder}/data/gatehouse.db`, { readOnly: false, isGuest: true });
  const { rows } = connection.run(statement);
  connection.close();
  return rows;
}

/**
 * Creates a token for a running program and gives keys every permission of usage, without opening the data file in this process.
 *
 * @returns The token, which may record usage and change products.
 */
export async function allowVoids(
  { folder, baseUrl, keyIds }: { folder: string; baseUrl: string; keyIds: readonly string[] },
): Promise<string> {
  const { stdout, stderr } = await runCommand(
    { folder },
    ...["token", "create", "Load", "--scope", "keys:write,statements:write,usage:write"],
  );
  const fullToken = stdout.trim();
  for (const id of keyIds) {
    const response = await sendJson(baseUrl, `/api/operator/api-keys/${id}`, {
      method: "PATCH",
      apiKey: fullToken,
      json: { permissions: ["usage:read", "usage:void", "usage:write"] },
    });
    assert.equal(response.status, 200, `${stderr}${await response.text()}`);
  }
  return fullToken;
}

/** Adds a passkey that can't be used. @returns Its id. */
export async function newPasskey(test: TestApp, userId: string): Promise<string> {
  const [id, statement] = passkeyOf(userId, test.now());
  await test.opened.database.write([statement]);
  return id;
}

function passkeyOf(userId: string, now: number): [id: string, statement: Statement] {
  const id = newId("pas");
  return [
    id,
    sql`INSERT INTO passkeys (id, user_id, credential_id, public_key, counter, transports, name, created_at)
      VALUES (${id}, ${userId}, ${id}, 'x', 0, '[]', 'Phone', ${now})`,
  ];
}

/**
 * Creates an operator token.
 *
 * @param scopes Default: all.
 * @param more `addresses`: CIDR blocks. `expiresAt`: milliseconds since 1970.
 * @returns Its id, and the token for `apiKey` of `test.send()`.
 */
export async function newOperatorToken(
  test: TestApp,
  scopes: readonly OperatorScope[] = operatorScopes,
  { addresses = [], expiresAt = null }: { addresses?: readonly string[]; expiresAt?: number | null } = {},
): Promise<{ id: string; fullToken: string }> {
  const { fullToken, tokenPrefix } = generateOperatorToken();
  const id = newId("opt");
  await run(
    test,
    `INSERT INTO operator_tokens (id, token_hash, token_prefix, name, scopes, addresses, created_at, expires_at)
     VALUES (?, ?, ?, 'Invoices', ?, ?, ?, ?)`,
    id,
    hashSecretToken(fullToken),
    tokenPrefix,
    JSON.stringify(scopes),
    JSON.stringify(addresses),
    test.now(),
    expiresAt,
  );
  return { id, fullToken };
}

/** Someone who runs commands on the server. */
export const commandLineActor: OperatorActor = {
  type: "operator",
  client: { address: "", userAgent: "", requestId: null },
  credential: { kind: "commandLine" },
};

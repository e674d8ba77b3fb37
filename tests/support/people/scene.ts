// Inserts an organization with people in every role directly into the database, so that hundreds of them are cheap.
import { hash, randomBytes } from "node:crypto";
import { generateApiKey, hashApiKey } from "../../../domain/api_key.ts";
import { type IdPrefix, newId } from "../../../domain/id.ts";
import type { Role } from "../../../domain/sign_in/session.ts";
import type { TestApp, TestPerson } from "../app/app.ts";

/** Customers, and those who are no one's customer. */
export const customers = ["nobody", "stranger", "removed", "member", "admin", "owner", "apiKey"] as const;
export type Customer = (typeof customers)[number];

/** Everyone who tries to use a route. */
export type Caller =
  | Customer
  | "operator"
  /** Operators who lack a precondition. */
  | "operatorWithoutSecondFactor"
  | "operatorWithOldSecondFactor"
  | "operatorWithoutProof"
  /** A token with all scopes, and one with all but the route's. */
  | "operatorToken"
  | "tokenWithoutScope";

/** An organization to try routes on. */
export interface Scene {
  readonly test: TestApp;
  readonly organizationId: string;
  readonly organizationName: string;
  /** The person who makes the attempt, with their own session. Not used by `nobody` and `apiKey`. */
  readonly me: TestPerson;
  readonly apiKey: string;
  /** @returns A well-formed id that doesn't exist. */
  unknownId(prefix: IdPrefix): string;
  /** Adds a member to the organization. */
  newMember(role: Role): Promise<TestPerson>;
  /** Creates a key of the organization. @param createdBy Default: the person who makes the attempt, so that a MEMBER can see it. */
  newApiKey(createdBy?: string): Promise<{ id: string; fullKey: string }>;
  newInvitation(
    role?: Role,
    more?: { email?: string; organizationId?: string },
  ): Promise<{ id: string; token: string }>;
  /** Creates a link token. */
  newLink(purpose: string, subject: string, email: string): Promise<string>;
}

/** Creates an organization without members. */
export async function newOrganization(test: TestApp, name: string): Promise<string> {
  const id = newId("org");
  await run(test, "INSERT INTO organizations (id, name, created_at) VALUES (?, ?, ?)", id, name, test.now());
  return id;
}

/** Creates keys of an organization that can also void records. @returns Them, in their order. */
export async function newKeys(test: TestApp, organizationId: string, count: number) {
  const keys = Array.from({ length: count }, () => ({ id: newId("key"), ...generateApiKey() }));
  await test.opened.database.write(keys.map(({ id, fullKey, keyPrefix }) => ({
    sql: `INSERT INTO api_keys (id, organization_id, key_hash, key_prefix, name, permissions, created_at)
      VALUES (?, ?, ?, ?, 'Key', '["usage:read","usage:void","usage:write"]', ?)`,
    args: [id, organizationId, hashApiKey(fullKey), keyPrefix, test.now()],
  })));
  return keys;
}

/** Hash of a discarded random password. */
const noPassword =
  "$argon2id$v=19$m=19456,t=2,p=1$U5hXNoi3j8Cjtw6/xyGXxw$Qm6GKzPm4TFaCziKqrzVdtWu01TFdLOPNrZLx2E2bPI";

/** Creates a user with a session and an optional membership. */
export async function newPerson(
  test: TestApp,
  membership: { organizationId: string; role: Role } | null,
): Promise<TestPerson> {
  const userId = newId("usr");
  const email = `${userId}@example.com`;
  const now = test.now();
  await run(
    test,
    `INSERT INTO users (id, email, name, password_hash, email_verified_at, last_organization_id, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    userId,
    email,
    `Person ${userId.slice(-4)}`,
    noPassword,
    now,
    membership?.organizationId ?? null,
    now,
  );
  if (membership !== null) {
    await run(
      test,
      "INSERT INTO memberships (user_id, organization_id, role, created_at) VALUES (?, ?, ?, ?)",
      userId,
      membership.organizationId,
      membership.role,
      now,
    );
  }
  const organizationId = membership?.organizationId ?? "";
  return { email, cookie: await newSession(test, { userId, organizationId }), userId, organizationId };
}

/** Creates a session of a user. @param more `organizationId`: the active organization; "" for none. @returns The `Cookie` header. */
export async function newSession(
  test: TestApp,
  { userId, organizationId }: Pick<TestPerson, "userId" | "organizationId">,
): Promise<string> {
  const now = test.now();
  const token = randomBytes(32).toString("base64url");
  await run(
    test,
    `INSERT INTO sessions (token_hash, id, user_id, organization_id, created_at, last_seen_at, proved_at, address, user_agent)
     VALUES (?, ?, ?, ?, ?, ?, ?, '127.0.0.1', 'test')`,
    hash("sha256", token, "hex"),
    newId("ses"),
    userId,
    organizationId || null,
    now,
    now,
    now,
  );
  return `access_token=${token}`;
}

/** Creates a new scene for one attempt. */
export async function newScene(test: TestApp, caller: Caller): Promise<Scene> {
  const organizationName = "Scene";
  const organizationId = await newOrganization(test, organizationName);
  const roles = { member: "MEMBER", admin: "ADMIN", owner: "OWNER" } as const;
  const owner = await newPerson(test, { organizationId, role: "OWNER" });
  const me = caller === "stranger"
    ? await newPerson(test, { organizationId: await newOrganization(test, "Elsewhere"), role: "OWNER" })
    : caller === "member" || caller === "admin" || caller === "owner"
    ? await newPerson(test, { organizationId, role: roles[caller] })
    : await newPerson(test, { organizationId, role: "MEMBER" });
  if (caller === "removed") {
    await run(test, "DELETE FROM memberships WHERE user_id = ?", me.userId);
  }
  const newApiKey = async (createdBy?: string) => {
    const { fullKey, keyPrefix } = generateApiKey();
    const id = newId("key");
    await run(
      test,
      `INSERT INTO api_keys (id, organization_id, key_hash, key_prefix, name, created_by, created_at)
       VALUES (?, ?, ?, ?, 'Key', ?, ?)`,
      id,
      organizationId,
      hashApiKey(fullKey),
      keyPrefix,
      createdBy ?? (caller === "stranger" ? owner.userId : me.userId),
      test.now(),
    );
    return { id, fullKey };
  };
  const newLink = async (purpose: string, subject: string, email: string) => {
    const token = randomBytes(32).toString("base64url");
    await run(
      test,
      `INSERT INTO link_tokens (token_hash, purpose, subject, email, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)`,
      hash("sha256", token, "hex"),
      purpose,
      subject,
      email,
      test.now(),
      test.now() + 3_600_000,
    );
    return token;
  };
  return {
    test,
    organizationId,
    organizationName,
    me,
    apiKey: (await newApiKey()).fullKey,
    unknownId: (prefix) => `${prefix}_${"0".repeat(32)}`,
    newMember: (role) => newPerson(test, { organizationId, role }),
    newApiKey,
    newLink,
    async newInvitation(role = "MEMBER", more = {}) {
      const id = newId("inv");
      const email = more.email ?? `${id}@example.com`;
      await run(
        test,
        `INSERT INTO invitations (id, organization_id, email, role, invited_by, created_at, sent_at, expires_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        id,
        more.organizationId ?? organizationId,
        email,
        role,
        owner.userId,
        test.now(),
        test.now(),
        test.now() + 3_600_000,
      );
      return { id, token: await newLink("invitation", id, email) };
    },
  };
}

/** Runs one statement. */
export async function run(test: TestApp, sql: string, ...args: (string | number | null)[]): Promise<void> {
  await test.opened.database.write([{ sql, args }]);
}

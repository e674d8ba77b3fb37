// Inserts an organization with people in every role directly into the database, so that hundreds of them are cheap.
import { hash, randomBytes } from "node:crypto";
import { sql, type Statement } from "../../../db/engine/database.ts";
import { generateApiKey, hashApiKey } from "../../../domain/keys/api_key.ts";
import { newId } from "../../../domain/id.ts";
import type { Role } from "../../../domain/access/session.ts";
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
  const [id, statement] = organizationNamed(name, test.now());
  await test.opened.database.write([statement]);
  return id;
}

function organizationNamed(name: string, now: number): [id: string, statement: Statement] {
  const id = newId("org");
  return [id, sql`INSERT INTO organizations (id, name, created_at) VALUES (${id}, ${name}, ${now})`];
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

interface Membership {
  readonly organizationId: string;
  readonly role: Role;
}

/** Creates a user with a session and an optional membership. */
export async function newPerson(test: TestApp, membership: Membership | null): Promise<TestPerson> {
  const [person, statements] = personIn(membership, test.now());
  await test.opened.database.write(statements);
  return person;
}

function personIn(membership: Membership | null, now: number): [person: TestPerson, statements: Statement[]] {
  const userId = newId("usr");
  const email = `${userId}@example.com`;
  const organizationId = membership?.organizationId ?? "";
  const session = sessionOf({ userId, organizationId }, now);
  return [{ email, cookie: session.cookie, userId, organizationId }, [
    sql`INSERT INTO users (id, email, name, password_hash, email_verified_at, last_organization_id, created_at)
      VALUES (${userId}, ${email}, ${`Person ${userId.slice(-4)}`}, ${noPassword}, ${now}, ${
      organizationId || null
    }, ${now})`,
    ...(membership === null ? [] : [
      sql`INSERT INTO memberships (user_id, organization_id, role, created_at)
        VALUES (${userId}, ${organizationId}, ${membership.role}, ${now})`,
    ]),
    session.statement,
  ]];
}

/** Creates a session of a user. @param more `organizationId`: the active organization; "" for none. @returns The `Cookie` header. */
export async function newSession(
  test: TestApp,
  person: Pick<TestPerson, "userId" | "organizationId">,
): Promise<string> {
  const { cookie, statement } = sessionOf(person, test.now());
  await test.opened.database.write([statement]);
  return cookie;
}

function sessionOf(
  { userId, organizationId }: Pick<TestPerson, "userId" | "organizationId">,
  now: number,
): { cookie: string; statement: Statement } {
  const token = randomBytes(32).toString("base64url");
  return {
    cookie: `access_token=${token}`,
    statement:
      sql`INSERT INTO sessions (token_hash, id, user_id, organization_id, created_at, last_seen_at, proved_at,
        address, user_agent)
      VALUES (${hash("sha256", token, "hex")}, ${newId("ses")}, ${userId}, ${
        organizationId || null
      }, ${now}, ${now},
        ${now}, '127.0.0.1', 'test')`,
  };
}

/** Creates a new scene for one attempt. */
export async function newScene(test: TestApp, caller: Caller): Promise<Scene> {
  const organizationName = "Scene";
  const [organizationId, organization] = organizationNamed(organizationName, test.now());
  const [elsewhereId, elsewhere] = organizationNamed("Elsewhere", test.now());
  const roles = { member: "MEMBER", admin: "ADMIN", owner: "OWNER" } as const;
  const [owner, insertOwner] = personIn({ organizationId, role: "OWNER" }, test.now());
  const [me, insertMe] = personIn(
    caller === "stranger"
      ? { organizationId: elsewhereId, role: "OWNER" }
      : { organizationId, role: caller in roles ? roles[caller as keyof typeof roles] : "MEMBER" },
    test.now(),
  );
  const keyOf = (createdBy = caller === "stranger" ? owner.userId : me.userId) => {
    const { fullKey, keyPrefix } = generateApiKey();
    const id = newId("key");
    const statement =
      sql`INSERT INTO api_keys (id, organization_id, key_hash, key_prefix, name, created_by, created_at)
        VALUES (${id}, ${organizationId}, ${
        hashApiKey(fullKey)
      }, ${keyPrefix}, 'Key', ${createdBy}, ${test.now()})`;
    return { id, fullKey, statement };
  };
  const key = keyOf();
  await test.opened.database.write([
    organization,
    ...(caller === "stranger" ? [elsewhere] : []),
    ...insertOwner,
    ...insertMe,
    ...(caller === "removed" ? [sql`DELETE FROM memberships WHERE user_id = ${me.userId}`] : []),
    key.statement,
  ]);
  const newLink = async (purpose: string, subject: string, email: string) => {
    const token = randomBytes(32).toString("base64url");
    await test.opened.database.write([
      sql`INSERT INTO link_tokens (token_hash, purpose, subject, email, created_at, expires_at)
        VALUES (${hash("sha256", token, "hex")}, ${purpose}, ${subject}, ${email}, ${test.now()}, ${
        test.now() + 3_600_000
      })`,
    ]);
    return token;
  };
  return {
    test,
    organizationId,
    organizationName,
    me,
    apiKey: key.fullKey,
    newMember: (role) => newPerson(test, { organizationId, role }),
    async newApiKey(createdBy) {
      const { id, fullKey, statement } = keyOf(createdBy);
      await test.opened.database.write([statement]);
      return { id, fullKey };
    },
    newLink,
    async newInvitation(role = "MEMBER", more = {}) {
      const id = newId("inv");
      const email = more.email ?? `${id}@example.com`;
      const now = test.now();
      await test.opened.database.write([
        sql`INSERT INTO invitations (id, organization_id, email, role, invited_by, created_at, sent_at, expires_at)
          VALUES (${id}, ${more.organizationId ?? organizationId}, ${email}, ${role}, ${owner.userId}, ${now},
            ${now}, ${now + 3_600_000})`,
      ]);
      return { id, token: await newLink("invitation", id, email) };
    },
  };
}

/** Runs one statement. */
export async function run(
  test: TestApp,
  text: string,
  ...args: (string | number | null)[]
): Promise<void> {
  await test.opened.database.write([{ sql: text, args }]);
}

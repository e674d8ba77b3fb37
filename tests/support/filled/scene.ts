// What people of a filled app do: sign up, invite each other, and create and use keys.
import assert from "node:assert/strict";
import type { Role } from "../../../domain/access/session.ts";
import { cookieOf, type SendOptions, type TestApp, testPassword, type TestPerson } from "../app/app.ts";
import { makeOperator } from "../operators/operators.ts";
import { mailedToken } from "../people/people.ts";
import { turnOnTwoStep } from "../people/second_step.ts";
import { recordAll } from "../meter/usage.ts";
import { newSession, run } from "../people/scene.ts";

const dayMs = 24 * 3_600_000;

/** An API key with its secret. */
export interface Key {
  readonly id: string;
  readonly fullKey: string;
}

type Person = Pick<TestPerson, "userId" | "organizationId">;

/** An app at some time, and those who are in it by then. */
export interface Scene {
  readonly test: TestApp;
  /** Changes the names that people see. */
  readonly named: (name: string) => string;
  readonly operatorToken: string;
  readonly people: Map<string, Person>;
  readonly keys: Map<string, Key>;
  organizationId: string;
  /** The owner's authenticator secret. */
  secret: string;
}

/** Creates a key. @param more By default with the default permissions, by the owner. */
export async function createKey(
  scene: Scene,
  name: string,
  { by = "Ada Lovelace", ...more }: { by?: string; permissions?: readonly string[]; expiresAt?: string } = {},
): Promise<Key> {
  const { apiKey, fullKey } = await as(scene, by, "/api/portal/api-keys", {
    json: { name: scene.named(name), ...more },
  });
  const key = { id: apiKey.id, fullKey };
  scene.keys.set(name, key);
  return key;
}

/** Replaces a key; the old one keeps working for a day. */
export async function rotateKey(scene: Scene, name: string): Promise<void> {
  const path = `/api/portal/api-keys/${keyOf(scene, name).id}/rotate`;
  const json = { expireOldAt: new Date(scene.test.now() + dayMs).toISOString() };
  const { apiKey, fullKey } = await as(scene, "Ada Lovelace", path, { json });
  scene.keys.set(name, { id: apiKey.id, fullKey });
}

/** Records usage once, now. */
export async function useOnce(scene: Scene, name: string): Promise<void> {
  const records = [{ productSlug: "tiles", metric: "requests", quantity: 12 }];
  await recordAll(scene.test, { apiKey: keyOf(scene, name).fullKey, records });
}

/** Invites someone who signs up, most of them with two-step sign-in. */
export async function join(scene: Scene, name: string, role: Role): Promise<void> {
  const email = `${name.split(" ")[0]?.toLowerCase()}@northwind.example`;
  await invite(scene, email, role);
  const { cookie } = await signUp(scene, name, { invitationToken: await mailedToken(scene.test, email) });
  if (!["Jonas Weber", "Katherine Johnson"].includes(name)) await turnOnTwoStep(scene.test, cookie);
}

/** Sends an invitation to the company. */
export async function invite(scene: Scene, email: string, role: Role): Promise<void> {
  const path = `/api/portal/organizations/${scene.organizationId}/invitations`;
  await as(scene, "Ada Lovelace", path, { json: { email, role } });
}

/** Creates an account with a confirmed address. */
export async function signUp(
  { test, people, named }: Scene,
  name: string,
  by: { email: string } | { invitationToken: string },
): Promise<TestPerson> {
  const response = await test.send("/api/auth/sign-up", {
    json: { name: named(name), password: testPassword, ...by },
    peerAddress: `10.3.0.${people.size + 1}`,
  });
  const body = await response.json();
  assert.equal(response.status, 201, JSON.stringify(body));
  const person = { userId: body.user.id, organizationId: body.organizationId };
  people.set(name, person);
  await run(test, "UPDATE users SET email_verified_at = created_at WHERE id = ?", person.userId);
  return { ...person, email: body.user.email, cookie: cookieOf(response) };
}

/** Creates an operator. */
export async function operator(scene: Scene): Promise<TestPerson> {
  const person = await signUp(scene, "Mara Rossi", { email: "mara@gatehouse.example" });
  await makeOperator(scene.test, person);
  return person;
}

/** Signs someone in. */
export async function signedIn({ test, people }: Scene, name: string): Promise<TestPerson> {
  const person = personOf({ people }, name);
  return { ...person, email: "", cookie: await newSession(test, person) };
}

/** Sends a request as someone with a new session. @returns The body of the response. */
export async function as(scene: Scene, name: string, path: string, options: SendOptions) {
  const cookie = await newSession(scene.test, personOf(scene, name));
  return await ok(scene.test, path, { ...options, cookie });
}

/** Sends a request that succeeds. @returns The body of the response; null if it is empty. */
export async function ok(test: TestApp, path: string, options: SendOptions) {
  const response = await test.send(path, options);
  const text = await response.text();
  assert.ok(response.ok, `${path}: ${response.status} ${text}`);
  return text === "" ? null : JSON.parse(text);
}

/** @returns Someone by name. */
export function personOf({ people }: Pick<Scene, "people">, name: string): Person {
  const person = people.get(name);
  assert.ok(person !== undefined, name);
  return person;
}

/** @returns A key by name. */
export function keyOf({ keys }: Pick<Scene, "keys">, name: string): Key {
  const key = keys.get(name);
  assert.ok(key !== undefined, name);
  return key;
}

/** Moves the clock to a time, in milliseconds since 1970. */
export function moveTo(test: TestApp, time: number): void {
  test.advance(time - test.now());
}

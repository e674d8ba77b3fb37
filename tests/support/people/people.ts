// Creates members of an organization, and reads the emails people get and the tokens in them.
import assert from "node:assert/strict";
import type { DevelopmentMail } from "../../../services/outbox/mail.ts";
import type { Role } from "../../../domain/access/session.ts";
import { cookieOf, type TestApp, testPassword, type TestPerson } from "../app/app.ts";

/** @returns The newest email to an address. @throws When there is none. */
export async function lastMail(test: TestApp, to: string): Promise<DevelopmentMail> {
  const mail = (await test.mails()).findLast((one) => one.to === to);
  assert.ok(mail, `no email to ${to}`);
  return mail;
}

/** @returns The token in the link of the newest email to an address. */
export async function mailedToken(test: TestApp, to: string): Promise<string> {
  const { link, subject } = await lastMail(test, to);
  const token = link === null ? null : new URL(link).searchParams.get("token");
  assert.ok(token, `no link in “${subject}”`);
  return token;
}

/** Creates an account with a confirmed email address. */
export async function verifiedPerson(test: TestApp, name?: string): Promise<TestPerson> {
  const person = await test.signUp(name);
  const token = await mailedToken(test, person.email);
  const response = await test.send("/api/auth/email/verify", { cookie: person.cookie, json: { token } });
  assert.equal(response.status, 200, await response.text());
  return person;
}

/** Invites an address to an organization. @returns The invitation's id, and the token and path of its link. */
export async function inviteTo(
  test: TestApp,
  by: Pick<TestPerson, "organizationId" | "cookie">,
  { email, role = "MEMBER" }: { email: string; role?: Role },
): Promise<{ id: string; token: string; path: string }> {
  const address = `/api/portal/organizations/${by.organizationId}/invitations`;
  const response = await test.send(address, { cookie: by.cookie, json: { email, role } });
  assert.equal(response.status, 201, await response.clone().text());
  const { invitation } = await response.json();
  const token = await mailedToken(test, email);
  return { id: invitation.id, token, path: `/invitations/accept?token=${token}` };
}

let invited = 0;

/** Invites a new address to the owner's organization, and creates an account from the invitation. */
export async function joinedPerson(test: TestApp, owner: TestPerson, role: Role): Promise<TestPerson> {
  const email = `joined${++invited}@example.com`;
  const { token: invitationToken } = await inviteTo(test, owner, { email, role });
  const signUp = await test.send("/api/auth/sign-up", {
    json: { name: `Joined ${invited}`, password: testPassword, invitationToken },
    peerAddress: `10.2.${invited >> 8}.${invited & 255}`,
  });
  assert.equal(signUp.status, 201, await signUp.clone().text());
  const body = await signUp.json();
  return { email, cookie: cookieOf(signUp), userId: body.user.id, organizationId: body.organizationId };
}

/** Signs in again. @returns The `Cookie` header. */
export async function signInAgain(
  test: TestApp,
  email: string,
  password: string = testPassword,
): Promise<string> {
  const response = await test.send("/api/auth/sign-in", { json: { email, password } });
  assert.equal(response.status, 200, await response.clone().text());
  return cookieOf(response);
}

/** Confirms the password again, as sensitive actions require. */
export async function reauthenticate(test: TestApp, cookie: string): Promise<void> {
  const response = await test.send("/api/portal/account/proof", { cookie, json: { password: testPassword } });
  assert.equal(response.status, 204, await response.text());
}

/** @returns The body of `GET /api/auth/me`. */
export async function me(test: TestApp, cookie: string) {
  const response = await test.send("/api/auth/me", { cookie });
  assert.equal(response.status, 200);
  return await response.json() as {
    authenticated: boolean;
    user: { id: string; name: string; email: string; emailVerified: boolean } | null;
    organizationId: string | null;
    role: Role | null;
    memberships: { organizationId: string; name: string; role: Role }[];
  };
}

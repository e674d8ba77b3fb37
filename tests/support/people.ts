// People who belong together: members of somebody's organization, mails to somebody, and the tokens in them.
import assert from "node:assert/strict";
import type { DevelopmentMail } from "../../services/mail/mail.ts";
import type { Role } from "../../domain/sign_in/session.ts";
import { cookieOf, type TestApp, testPassword, type TestPerson } from "./app.ts";

/** @returns The newest mail to an address, which there must be. */
export async function lastMail(test: TestApp, to: string): Promise<DevelopmentMail> {
  const mail = (await test.mails()).findLast((one) => one.to === to);
  assert.ok(mail, `a mail to ${to}`);
  return mail;
}

/** @returns The token in the link of the newest mail to an address. */
export async function mailedToken(test: TestApp, to: string): Promise<string> {
  const { link, subject } = await lastMail(test, to);
  const token = link === null ? null : new URL(link).searchParams.get("token");
  assert.ok(token, `a link in “${subject}”`);
  return token;
}

/** Makes an account without an invitation whose address is confirmed. */
export async function verifiedPerson(test: TestApp, name?: string): Promise<TestPerson> {
  const person = await test.signUp(name);
  const token = await mailedToken(test, person.email);
  const answer = await test.send("/api/auth/email/verify", { cookie: person.cookie, json: { token } });
  assert.equal(answer.status, 200, await answer.text());
  return person;
}

let invited = 0;

/** Invites a new address into somebody's organization, and makes an account from the invitation. */
export async function joinedPerson(test: TestApp, owner: TestPerson, role: Role): Promise<TestPerson> {
  const email = `joined${++invited}@example.com`;
  const path = `/api/portal/organizations/${owner.organizationId}/invitations`;
  const answer = await test.send(path, { cookie: owner.cookie, json: { email, role } });
  assert.equal(answer.status, 201, await answer.text());
  const signUp = await test.send("/api/auth/sign-up", {
    json: {
      name: `Joined ${invited}`,
      password: testPassword,
      invitationToken: await mailedToken(test, email),
    },
    peerAddress: `10.2.${invited >> 8}.${invited & 255}`,
  });
  assert.equal(signUp.status, 201, await signUp.clone().text());
  const body = await signUp.json();
  return { email, cookie: cookieOf(signUp), userId: body.user.id, organizationId: body.organizationId };
}

/** Signs in anew. @returns The `Cookie` header. */
export async function signInAgain(
  test: TestApp,
  email: string,
  password: string = testPassword,
): Promise<string> {
  const answer = await test.send("/api/auth/sign-in", { json: { email, password } });
  assert.equal(answer.status, 200, await answer.clone().text());
  return cookieOf(answer);
}

/** Gives the password once more, as sensitive acts ask for it. */
export async function proveAgain(test: TestApp, cookie: string): Promise<void> {
  const answer = await test.send("/api/portal/account/proof", { cookie, json: { password: testPassword } });
  assert.equal(answer.status, 204, await answer.text());
}

/** @returns What `GET /api/auth/me` says. */
export async function me(test: TestApp, cookie: string) {
  const answer = await test.send("/api/auth/me", { cookie });
  assert.equal(answer.status, 200);
  return await answer.json() as {
    authenticated: boolean;
    user: { id: string; name: string; email: string; emailVerified: boolean } | null;
    organizationId: string | null;
    role: Role | null;
    memberships: { organizationId: string; name: string; role: Role }[];
  };
}

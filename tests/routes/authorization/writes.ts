// Owners' requests that write for their session, for routes whose plain attempt does not.
import { randomBytes } from "node:crypto";
import { testPassword } from "../../support/app/app.ts";
import { newPasskey } from "../../support/operators/operators.ts";
import {
  addPasskey,
  codeOf,
  passkeyOptions,
  proofOptions,
  TestPasskey,
} from "../../support/people/second_step.ts";
import { newOrganization, run, type Scene } from "../../support/people/scene.ts";
import { type Attempt, keyParams, type Lost, type Write } from "./entry.ts";

/** Who is denied what only owners can do. */
export const belowOwner: readonly Lost[] = ["admin", "member", "removed"];
/** Who is denied what admins can do. */
export const belowAdmin: readonly Lost[] = ["member", "removed"];

/** @returns One write. */
export const write = (attempt: Write["attempt"], lost: readonly Lost[] = []): Write[] => [{ attempt, lost }];

/** @returns A write with the person's password, which is {@linkcode testPassword}. */
export const withPassword = (attempt: (password: string) => Attempt) =>
  write(async ({ test, me }) => {
    const known = await test.signUp();
    await run(
      test,
      "UPDATE users SET password_hash = (SELECT password_hash FROM users WHERE id = ?) WHERE id = ?",
      known.userId,
      me.userId,
    );
    return attempt(testPassword);
  });

/** @returns A write of someone who has not confirmed their address. */
export const unverified = (attempt: Attempt) =>
  write(async ({ test, me }) => {
    await run(test, "UPDATE users SET email_verified_at = NULL WHERE id = ?", me.userId);
    return attempt;
  });

/** @returns Writes with the links that confirm an address and that change it. */
export const withEmailLink = (attempt: (token: string) => Attempt) => [
  ...write(async ({ me, newLink }) => attempt(await newLink("verify_email", me.userId, me.email))),
  ...write(async ({ me, newLink }) => attempt(await newLink("change_email", me.userId, `new.${me.email}`))),
];

/** @returns A write about another session of the same person. */
export const onOtherSession = (more: Attempt) =>
  write(async ({ test, me }) => {
    const id = `ses_${randomBytes(16).toString("hex")}`;
    await run(
      test,
      `INSERT INTO sessions (token_hash, id, user_id, created_at, last_seen_at, address, user_agent)
       VALUES (?, ?, ?, ?, ?, '127.0.0.1', 'test')`,
      id,
      id,
      me.userId,
      test.now(),
      test.now(),
    );
    return { ...more, params: { id } };
  });

/** @returns A write with the first code of an authenticator app. */
export const withFirstCode = (attempt: (code: string) => Attempt) =>
  write(async ({ test, me }) => {
    const begun = await test.send("/api/portal/account/two-step/totp", { method: "POST", cookie: me.cookie });
    return attempt(codeOf((await begun.json()).secret, test.now()));
  });

/** @returns A write of someone who has two-step sign-in. */
export const withTwoStep = (attempt: Attempt) =>
  write(async ({ test, me }) => {
    await run(
      test,
      "INSERT INTO totp (user_id, secret, created_at, confirmed_at, last_step) VALUES (?, 'AAAA', ?, ?, 0)",
      me.userId,
      test.now() - 1,
      test.now() - 1,
    );
    return attempt;
  });

/** @returns The same with the person's password. */
export const withTwoStepAndPassword = (attempt: (password: string) => Attempt) =>
  write(async (scene) => {
    await withTwoStep({})[0]?.attempt(scene);
    return await withPassword(attempt)[0]?.attempt(scene) ?? {};
  });

/** @returns The same with a link that turns two-step sign-in off. */
export const withTurnOffLink = (attempt: (token: string) => Attempt) =>
  write(async (scene) => {
    await withTwoStep({})[0]?.attempt(scene);
    return attempt(await scene.newLink("turn_off_two_step", scene.me.userId, scene.me.email));
  });

/** @returns A write that adds a passkey. */
export const withNewPasskey = (attempt: (response: unknown) => Attempt) =>
  write(async ({ test, me }) => {
    const passkey = new TestPasskey(test.config.baseUrl.origin);
    return attempt(passkey.register(await passkeyOptions(test, me.cookie)));
  });

/** @returns A write with the answer of the person's passkey. */
export const withOwnPasskey = (attempt: (response: unknown) => Attempt) =>
  write(async ({ test, me: { cookie } }) => {
    const { passkey } = await addPasskey(test, cookie);
    return attempt(passkey.signIn(await proofOptions(test, cookie)));
  });

/** @returns A write about a passkey of the same person. */
export const onOwnPasskey = (more: Attempt) =>
  write(async ({ test, me }) => ({ ...more, params: { id: await newPasskey(test, me.userId) } }));

/** @returns Writes about the person's own key, and about another owner's. */
export const onKeys = (more: Attempt = {}): Write[] => [
  ...write(async (scene) => ({ ...more, params: keyParams(await scene.newApiKey()) }), ["removed"]),
  ...write(async (scene) => {
    const { userId } = await scene.newMember("OWNER");
    return { ...more, params: keyParams(await scene.newApiKey(userId)) };
  }, belowAdmin),
];

/** @returns A write that joins another organization. */
export const joining = (attempt: (token: string) => Attempt) =>
  write(async (scene) => {
    const organizationId = await newOrganization(scene.test, "Other");
    const { token } = await scene.newInvitation("MEMBER", { email: scene.me.email, organizationId });
    return attempt(token);
  });

/** @returns A write about another owner, which only owners can do. */
export const onOwner = (attempt: (scene: Scene, userId: string) => Attempt) =>
  write(async (scene) => attempt(scene, (await scene.newMember("OWNER")).userId), belowOwner);

/** @returns A write about an owner's invitation, which only owners can do. */
export const onOwnerInvitation = (attempt: (scene: Scene, id: string) => Attempt) =>
  write(async (scene) => attempt(scene, (await scene.newInvitation("OWNER")).id), belowOwner);

// Who is allowed to use the routes of identities at providers, and what they write for a session.
import { newId } from "../../../domain/id.ts";
import { run, type Scene } from "../../support/people/scene.ts";
import { type Attempt, type Entry, formOf, nobodyElses, open, signedIn, type Write } from "./entry.ts";
import { write } from "./writes.ts";

const password = "a fine 9 long password";
const slug = "github";
const issuer = "https://github.com";

/** Stores a provider, unless there is one: of a kind that needn't be reached to begin a visit. */
async function addProvider({ test }: Scene): Promise<void> {
  await run(
    test,
    `INSERT INTO identity_providers (id, slug, kind, name, issuer, client_id, client_secret, position, created_at,
      updated_at) VALUES ('idp_1', '${slug}', 'github', 'GitHub', '${issuer}', 'a', 'plain:a', 1, 0, 0)
      ON CONFLICT (slug) DO NOTHING`,
  );
}

/** Adds an identity. @returns Its id. */
async function identityOf(scene: Scene, { userId }: { userId: string }): Promise<string> {
  await addProvider(scene);
  const id = newId("idn");
  await run(
    scene.test,
    "INSERT INTO identities (id, user_id, issuer, subject, created_at) VALUES (?, ?, ?, ?, 0)",
    id,
    userId,
    issuer,
    id,
  );
  return id;
}

/** An identity of someone else. */
const aboutIdentity: Entry = {
  who: nobodyElses,
  attempt: async (scene) => ({ params: { id: await identityOf(scene, await scene.newMember("OWNER")) } }),
};

/** @returns A write that begins a visit to a provider. */
const visiting = (attempt: Attempt): Write[] =>
  write(async (scene) => {
    await identityOf(scene, scene.me);
    return attempt;
  });

/** @returns A write of someone who has no password. */
const withoutPassword = (attempt: Attempt): Write[] =>
  write(async ({ test, me }) => {
    await run(test, "UPDATE users SET has_password = 0 WHERE id = ?", me.userId);
    return attempt;
  });

export const identityApiEntries: Readonly<Record<string, Entry>> = {
  "GET /api/auth/identities": { who: signedIn },
  "POST /api/auth/identities": {
    who: signedIn,
    attempt: () => ({ json: { provider: "nope" } }),
    also: [422],
    writes: visiting({ json: { provider: slug } }),
  },
  "DELETE /api/auth/identities/:id": {
    ...aboutIdentity,
    writes: write(async (scene) => ({ params: { id: await identityOf(scene, scene.me) } })),
  },
  "POST /api/portal/account/password": {
    who: signedIn,
    attempt: () => ({ json: { password } }),
    also: [422],
    writes: withoutPassword({ json: { password } }),
  },
};

export const identityPortalEntries: Readonly<Record<string, Entry>> = {
  "GET /sign-in/with/:slug": { who: open, attempt: () => ({ params: { slug: "nope" } }), also: [404] },
  "POST /sign-in/with/:slug": {
    who: open,
    attempt: () => ({ params: { slug: "nope" }, form: {} }),
    also: [404],
    writes: [],
  },
  "GET /sign-in/with/:slug/callback": {
    who: open,
    attempt: () => ({ params: { slug: "nope" } }),
    also: [404],
  },
  "GET /portal/account/identities/link": { who: open },
  "POST /portal/account/identities/link": formOf(identityApiEntries["POST /api/auth/identities"]),
  "GET /portal/account/identities/:id/remove": aboutIdentity,
  "POST /portal/account/identities/:id/remove": formOf(identityApiEntries["DELETE /api/auth/identities/:id"]),
  "GET /portal/account/security/first-password": { who: signedIn },
  "POST /portal/account/security/first-password": {
    who: signedIn,
    attempt: () => ({ form: { newPassword: password } }),
    writes: withoutPassword({ form: { newPassword: password } }),
  },
  "GET /portal/confirm-password/provider": { who: signedIn },
  "POST /portal/confirm-password/provider": {
    who: signedIn,
    attempt: () => ({ form: { provider: "nope" } }),
    also: [404],
    writes: visiting({ form: { provider: slug } }),
  },
};

// Who gets into which route: every route of the app stands here, or tests/routes/authorization_test.ts fails.
import type { IdPrefix } from "../../domain/id.ts";
import type { Trier, World } from "../support/world.ts";

/**
 * What a route says to somebody: it lets them in, sends them to sign in, forbids it to their role, knows of nothing there, or
 * refuses the API key.
 */
export type Outcome = "in" | "signIn" | "forbidden" | "unknown" | "key";

/** What to send for a try that should work. */
export interface Attempt {
  /** Values of the path's parameters. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
}

/** A route with who gets in. */
export interface Entry {
  readonly who: Readonly<Record<Trier, Outcome>>;
  /** Made anew for every try, as some tries use things up. */
  readonly attempt?: (world: World) => Attempt | Promise<Attempt>;
  /** The parameter of the path that names an object, and what kind of id it is: somebody else's must look like an unknown one. */
  readonly object?: readonly [param: string, prefix: IdPrefix];
  /** Statuses beyond 2xx and 3xx that mean that somebody got in. */
  readonly also?: readonly number[];
}

const everybody = (outcome: Outcome): Record<Trier, Outcome> => ({
  nobody: outcome,
  stranger: outcome,
  removed: outcome,
  member: outcome,
  admin: outcome,
  owner: outcome,
  apiKey: outcome,
});
const open = everybody("in");
/** About oneself. */
const signedIn = { ...open, nobody: "signIn", apiKey: "signIn" } as const;
/** About the active organization: a stranger has one of their own, a removed member none. */
const inActive = { ...signedIn, removed: "forbidden" } as const;
/** About an object of the active organization, which is not the stranger's. */
const objectInActive = { ...inActive, stranger: "unknown" } as const;
/** About an organization that is named. */
const inNamed = { ...signedIn, stranger: "unknown", removed: "unknown" } as const;
const inNamedFromAdmin = { ...inNamed, member: "forbidden" } as const;
const inNamedForOwner = { ...inNamedFromAdmin, admin: "forbidden" } as const;
const byKey = { ...everybody("key"), apiKey: "in" } as const;

const organization = { object: ["id", "org"] } as const;
const record = { productSlug: "p", metric: "m", quantity: 1 };
const inOrganization =
  (rest: (world: World) => Attempt | Promise<Attempt> = () => ({})) => async (world: World) => {
    const more = await rest(world);
    return { ...more, params: { id: world.organizationId, ...more.params } };
  };
const withKey = (more: Attempt = {}) => async (world: World) => ({
  ...more,
  params: { id: (await world.newApiKey()).id },
});
const withInvitation = inOrganization(async (world) => ({
  params: { invitationId: (await world.newInvitation()).id },
}));
const withMember = (more: Attempt) =>
  inOrganization(async (world) => ({
    ...more,
    params: { userId: (await world.newMember("MEMBER")).userId },
  }));

/** Every route by method and path. Static files stand under one name. */
export const table: Readonly<Record<string, Entry>> = {
  "GET /": { who: open },
  "GET /static/*": { who: open },
  "GET /health/live": { who: open },
  "GET /health/ready": { who: open },
  "GET /metrics": { who: open },
  "GET /api/openapi.json": { who: open },

  "POST /api/auth/sign-up": {
    who: open,
    attempt: ({ me }) => ({
      json: { name: "N", email: `new.${me.userId}@example.com`, password: "a fine 9 long password" },
    }),
  },
  "POST /api/auth/sign-in": {
    who: open,
    attempt: () => ({ json: { email: "x@example.com", password: "not a password" } }),
    also: [401],
  },
  "POST /api/auth/sign-out": { who: open },
  "GET /api/auth/me": { who: open },
  "POST /api/auth/password/forgot": { who: open, attempt: ({ me }) => ({ json: { email: me.email } }) },
  "POST /api/auth/password/reset": {
    who: open,
    attempt: async ({ me, newLink }) => ({
      json: {
        token: await newLink("reset_password", me.userId, me.email),
        password: "a fine 9 long password",
      },
    }),
  },
  "POST /api/auth/password/change": {
    who: signedIn,
    attempt: () => ({ json: { currentPassword: "not it", newPassword: "a fine 9 long password" } }),
    also: [401],
  },
  "POST /api/auth/email/verification": { who: signedIn },
  "POST /api/auth/email/verify": {
    who: signedIn,
    attempt: async ({ me, newLink }) => ({
      json: { token: await newLink("verify_email", me.userId, me.email) },
    }),
  },
  "POST /api/auth/organization": {
    who: { ...signedIn, stranger: "unknown", removed: "unknown" },
    attempt: ({ organizationId }) => ({ json: { organizationId } }),
  },
  "GET /api/auth/sessions": { who: signedIn },
  "DELETE /api/auth/sessions": { who: signedIn },
  "DELETE /api/auth/sessions/:id": {
    // Nobody has a session with that id: everybody but its owner is told that it is unknown.
    who: {
      ...signedIn,
      stranger: "unknown",
      removed: "unknown",
      member: "unknown",
      admin: "unknown",
      owner: "unknown",
    },
    attempt: async (world) => ({ params: { id: await sessionOf(world, await world.newMember("OWNER")) } }),
    object: ["id", "ses"],
  },

  "PATCH /api/portal/account": { who: signedIn, attempt: () => ({ json: { name: "New Name" } }) },
  "DELETE /api/portal/account": { who: signedIn },
  "POST /api/portal/account/proof": {
    who: signedIn,
    attempt: () => ({ json: { password: "not it" } }),
    also: [401],
  },
  "POST /api/portal/account/email": {
    who: signedIn,
    attempt: ({ me }) => ({ json: { email: `other.${me.email}` } }),
  },

  "GET /api/portal/organizations": { who: signedIn },
  "POST /api/portal/organizations": { who: signedIn, attempt: () => ({ json: { name: "New" } }) },
  "GET /api/portal/organizations/:id": { who: inNamed, attempt: inOrganization(), ...organization },
  "PATCH /api/portal/organizations/:id": {
    who: inNamedForOwner,
    attempt: inOrganization(() => ({ json: { name: "Renamed" } })),
    ...organization,
  },
  "DELETE /api/portal/organizations/:id": {
    who: inNamedForOwner,
    attempt: inOrganization(({ organizationName }) => ({ json: { name: organizationName } })),
    ...organization,
  },
  "POST /api/portal/organizations/:id/transfer": {
    who: inNamedForOwner,
    attempt: inOrganization(async (world) => ({
      json: { userId: (await world.newMember("MEMBER")).userId },
    })),
    ...organization,
  },
  "GET /api/portal/organizations/:id/members": { who: inNamed, attempt: inOrganization(), ...organization },
  "PATCH /api/portal/organizations/:id/members/:userId": {
    who: inNamedForOwner,
    attempt: withMember({ json: { role: "ADMIN" } }),
    ...organization,
  },
  "DELETE /api/portal/organizations/:id/members/:userId": {
    who: inNamedFromAdmin,
    attempt: withMember({}),
    ...organization,
  },
  "GET /api/portal/organizations/:id/invitations": {
    who: inNamedFromAdmin,
    attempt: inOrganization(),
    ...organization,
  },
  "POST /api/portal/organizations/:id/invitations": {
    who: inNamedFromAdmin,
    attempt: inOrganization(({ me }) => ({ json: { email: `guest.${me.email}`, role: "MEMBER" } })),
    ...organization,
  },
  "POST /api/portal/organizations/:id/invitations/:invitationId/resend": {
    who: inNamedFromAdmin,
    attempt: withInvitation,
    ...organization,
  },
  "DELETE /api/portal/organizations/:id/invitations/:invitationId": {
    who: inNamedFromAdmin,
    attempt: withInvitation,
    ...organization,
  },
  "POST /api/portal/invitations/accept": {
    // An invitation is for one address, whoever else holds its link.
    who: {
      ...signedIn,
      stranger: "forbidden",
      removed: "forbidden",
      member: "forbidden",
      admin: "forbidden",
      owner: "forbidden",
    },
    attempt: async (world) => ({ json: { token: (await world.newInvitation()).token } }),
  },

  "GET /api/portal/api-keys": { who: inActive },
  "POST /api/portal/api-keys": { who: inActive, attempt: () => ({ json: { name: "Key" } }) },
  "PATCH /api/portal/api-keys/:id": {
    who: objectInActive,
    attempt: withKey({ json: { name: "Renamed" } }),
    object: ["id", "key"],
  },
  "DELETE /api/portal/api-keys/:id": { who: objectInActive, attempt: withKey(), object: ["id", "key"] },
  "POST /api/portal/api-keys/:id/rotate": { who: objectInActive, attempt: withKey(), object: ["id", "key"] },
  "GET /api/portal/usage": { who: inActive },
  "GET /api/portal/usage.csv": { who: inActive },

  "GET /api/v1/usage": { who: byKey },
  "POST /api/v1/usage": { who: byKey, attempt: () => ({ json: record }) },
  "POST /api/v1/usage/batch": { who: byKey, attempt: () => ({ json: { records: [record] } }) },
  "GET /api/v1/usage/records": { who: byKey },
  "POST /api/v1/usage/records/:id/void": {
    who: byKey,
    attempt: async (world) => ({ params: { id: await recordOf(world) }, json: { reason: "wrong" } }),
  },

  "GET /portal": { who: open },
  "GET /sign-in": { who: open },
  "POST /sign-in": {
    who: open,
    attempt: () => ({ form: { email: "x@example.com", password: "not a password" } }),
    also: [401],
  },
  "GET /sign-up": { who: open },
  "POST /sign-up": {
    who: open,
    attempt: ({ me }) => ({
      form: { name: "N", email: `new.${me.userId}@example.com`, password: "a fine 9 long password" },
    }),
  },
  "POST /sign-out": { who: open },
  "GET /portal/api-keys": { who: inActive },
  "POST /portal/api-keys": { who: inActive, attempt: () => ({ form: { name: "Key", expires: "never" } }) },
  "GET /portal/api-keys/:id/rename": { who: objectInActive, attempt: withKey(), object: ["id", "key"] },
  "POST /portal/api-keys/:id/rename": {
    who: objectInActive,
    attempt: withKey({ form: { name: "Renamed" } }),
    object: ["id", "key"],
  },
  "GET /portal/api-keys/:id/revoke": { who: objectInActive, attempt: withKey(), object: ["id", "key"] },
  "POST /portal/api-keys/:id/revoke": {
    who: objectInActive,
    attempt: withKey({ form: {} }),
    object: ["id", "key"],
  },
  "GET /portal/api-keys/:id/rotate": { who: objectInActive, attempt: withKey(), object: ["id", "key"] },
  "POST /portal/api-keys/:id/rotate": {
    who: objectInActive,
    attempt: withKey({ form: { expireOld: "now" } }),
    object: ["id", "key"],
  },
  "GET /portal/usage": { who: inActive },

  "GET /forgot-password": { who: open },
  "POST /forgot-password": { who: open, attempt: ({ me }) => ({ form: { email: me.email } }) },
  "GET /reset-password": { who: open, attempt: () => ({ query: "?token=x" }), also: [404] },
  "POST /reset-password": {
    who: open,
    attempt: async ({ me, newLink }) => ({
      form: {
        token: await newLink("reset_password", me.userId, me.email),
        password: "a fine 9 long password",
      },
    }),
  },
  "GET /verify-email": { who: open, attempt: () => ({ query: "?token=x" }), also: [404] },
  "POST /verify-email": {
    who: signedIn,
    attempt: async ({ me, newLink }) => ({
      form: { token: await newLink("verify_email", me.userId, me.email) },
    }),
  },
  "GET /portal/confirm-password": { who: signedIn },
  "POST /portal/confirm-password": {
    who: signedIn,
    attempt: () => ({ form: { password: "not it" } }),
    also: [401],
  },
  "GET /portal/account": { who: signedIn },
  // To the account's page, which asks who it is.
  "GET /portal/account/name": { who: open },
  "GET /portal/account/verification": { who: open },
  "POST /portal/account/name": { who: signedIn, attempt: () => ({ form: { name: "New Name" } }) },
  "POST /portal/account/verification": { who: signedIn, attempt: () => ({ form: {} }) },
  "GET /portal/account/email": { who: signedIn },
  "POST /portal/account/email": {
    who: signedIn,
    attempt: ({ me }) => ({ form: { email: `other.${me.email}` } }),
  },
  "GET /portal/account/delete": { who: signedIn },
  "POST /portal/account/delete": { who: signedIn, attempt: ({ me }) => ({ form: { email: me.email } }) },
  "GET /portal/account/security": { who: signedIn },
  "GET /portal/account/security/password": { who: open },
  "POST /portal/account/security/password": {
    who: signedIn,
    attempt: () => ({ form: { currentPassword: "not it", newPassword: "a fine 9 long password" } }),
    also: [401],
  },
  "POST /portal/account/security/sessions/:id/end": {
    who: {
      ...signedIn,
      stranger: "unknown",
      removed: "unknown",
      member: "unknown",
      admin: "unknown",
      owner: "unknown",
    },
    attempt: async (world) => ({
      params: { id: await sessionOf(world, await world.newMember("OWNER")) },
      form: {},
    }),
    object: ["id", "ses"],
  },
  "POST /portal/account/security/sessions/end-others": { who: signedIn, attempt: () => ({ form: {} }) },
};

async function sessionOf({ test }: World, { userId }: { userId: string }): Promise<string> {
  const rows = await test.opened.database.read<{ id: string }>({
    sql: "SELECT id FROM sessions WHERE user_id = ?",
    args: [userId],
  });
  return rows[0]?.id ?? "";
}

/** Recorded by the key that tries. */
async function recordOf({ test, apiKey }: World): Promise<string> {
  const answer = await test.send("/api/v1/usage", { apiKey, json: record });
  return (await answer.json()).usageRecord.id;
}

// Who gets into a route, in words that the tables of all routes share.
import { type IdPrefix, newId } from "../../../domain/id.ts";
import { run, type Trier, type World } from "../../support/world.ts";

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

/** What an OWNER can become while a request is on its way. */
export type Lost = "admin" | "member" | "removed";

/** A request of an OWNER that writes for their session. */
export interface Write {
  readonly attempt: (world: World) => Attempt | Promise<Attempt>;
  /** Those who may not do it. */
  readonly lost?: readonly Lost[];
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
  /**
   * Requests that write for a session, none for a route that writes nothing for one. Left out: `attempt`, by those who may not do
   * it according to `who`.
   */
  readonly writes?: readonly Write[];
}

/** @returns The same for everybody. */
export const everybody = (outcome: Outcome): Record<Trier, Outcome> => ({
  nobody: outcome,
  stranger: outcome,
  removed: outcome,
  member: outcome,
  admin: outcome,
  owner: outcome,
  apiKey: outcome,
});
/** Whoever comes. */
export const open = everybody("in");
/** About oneself. */
export const signedIn = { ...open, nobody: "signIn", apiKey: "signIn" } as const;
/** About the active organization: a stranger has one of their own, a removed member none. */
export const inActive = { ...signedIn, removed: "forbidden" } as const;
export const inActiveFromAdmin = { ...inActive, member: "forbidden" } as const;
export const inActiveForOwner = { ...inActiveFromAdmin, admin: "forbidden" } as const;
/** About an object of the active organization, which is not the stranger's. */
export const objectInActive = { ...inActive, stranger: "unknown" } as const;
export const objectFromAdmin = { ...objectInActive, member: "forbidden" } as const;
export const objectForOwner = { ...objectFromAdmin, admin: "forbidden" } as const;
/** About something of another person, which is nobody else's. */
export const nobodyElses = {
  ...signedIn,
  stranger: "unknown",
  removed: "unknown",
  member: "unknown",
  admin: "unknown",
  owner: "unknown",
} as const;
/** About an organization that is named. */
export const inNamed = { ...signedIn, stranger: "unknown", removed: "unknown" } as const;
export const inNamedFromAdmin = { ...inNamed, member: "forbidden" } as const;
export const inNamedForOwner = { ...inNamedFromAdmin, admin: "forbidden" } as const;
export const byKey = { ...everybody("key"), apiKey: "in" } as const;

/** @returns An attempt on a key of the organization, which whoever tries has made. */
export const withKey = (more: Attempt = {}) => async (world: World) => ({
  ...more,
  params: { id: (await world.newApiKey()).id },
});

/** @returns The id of a person's session. */
export async function sessionOf({ test }: World, { userId }: { userId: string }): Promise<string> {
  const rows = await test.opened.database.read<{ id: string }>({
    sql: "SELECT id FROM sessions WHERE user_id = ?",
    args: [userId],
  });
  return rows[0]?.id ?? "";
}

/** @returns The id of a record of the key that tries. */
export async function recordOf({ test, apiKey }: World): Promise<string> {
  const answer = await test.send("/api/v1/usage", {
    apiKey,
    json: { productSlug: "p", metric: "m", quantity: 1 },
  });
  return (await answer.json()).usageRecord.id;
}

/** @returns The id of a passkey of a person. */
export async function passkeyOf({ test }: World, { userId }: { userId: string }): Promise<string> {
  const id = newId("pas");
  await run(
    test,
    `INSERT INTO passkeys (id, user_id, credential_id, public_key, counter, transports, name, created_at)
     VALUES (?, ?, ?, 'x', 0, '[]', 'Phone', ?)`,
    id,
    userId,
    id,
    test.now(),
  );
  return id;
}

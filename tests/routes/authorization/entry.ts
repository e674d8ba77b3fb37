// Who is allowed to use a route, in terms that all tables share.
import { newId } from "../../../domain/id.ts";
import type { OperatorScope } from "../../../domain/access/operator_scope.ts";
import { type Caller, type Customer, customers, run, type Scene } from "../../support/people/scene.ts";

/**
 * What a route does: it allows the request, asks to sign in, denies the role, finds nothing, or rejects the API key. Of operators: it
 * asks for a second factor, or for a recent authentication, rejects the token, or finds that it lacks the scope.
 */
export type Outcome =
  | "in"
  | "signIn"
  | "forbidden"
  | "unknown"
  | "key"
  | "secondFactor"
  | "proof"
  | "token"
  | "scope";

/** A request that should work. */
export interface Attempt {
  /** The path's parameters. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
}

/** What an owner can become during a request. */
export type Lost = "admin" | "member" | "removed";

/** An owner's request that writes for their session. */
export interface Write {
  readonly attempt: (scene: Scene) => Attempt | Promise<Attempt>;
  /** Who is not allowed to do it. */
  readonly lost?: readonly Lost[];
}

/** A route, and who is allowed to use it. */
export interface Entry {
  readonly who: Readonly<Record<Customer, Outcome>>;
  /** Of routes for operators: the scope that a token needs, or that only accounts may use it. */
  readonly operators?: OperatorScope | "account";
  /** Operators can use it only with a token, not with their session. */
  readonly tokensOnly?: boolean;
  /** Of routes that also accept operator tokens: what is sent with one. */
  readonly tokenAttempt?: (scene: Scene) => Attempt | Promise<Attempt>;
  /** Operators confirm who they are before they see it: a page whose only purpose is a form. */
  readonly readsAfterProof?: boolean;
  /** Made for every try, as some requests use things up. */
  readonly attempt?: (scene: Scene) => Attempt | Promise<Attempt>;
  /** Further statuses, besides 2xx and 3xx, that mean that the request was allowed. */
  readonly also?: readonly number[];
  /** Of routes for operators: its attempt writes nothing as the operator. */
  readonly writesNothing?: boolean;
  /** Requests that write for a session; none if the route writes nothing. By default `attempt`, denied as in `who`. */
  readonly writes?: readonly Write[];
}

/** @returns The same for all customers. */
export const everybody = (outcome: Outcome): Record<Customer, Outcome> => ({
  nobody: outcome,
  stranger: outcome,
  removed: outcome,
  member: outcome,
  admin: outcome,
  owner: outcome,
  apiKey: outcome,
});
/** Everyone. */
export const open = everybody("in");
/** About the user's own account. */
export const signedIn = { ...open, nobody: "signIn", apiKey: "signIn" } as const;
/** About the active organization. A stranger has their own; a removed member has none. */
export const inActive = { ...signedIn, removed: "forbidden" } as const;
export const inActiveFromAdmin = { ...inActive, member: "forbidden" } as const;
export const inActiveForOwner = { ...inActiveFromAdmin, admin: "forbidden" } as const;
/** About an object of the active organization, which the stranger is not in. */
export const objectInActive = { ...inActive, stranger: "unknown" } as const;
export const objectFromAdmin = { ...objectInActive, member: "forbidden" } as const;
export const objectForOwner = { ...objectFromAdmin, admin: "forbidden" } as const;
/** About something that belongs to another person. */
export const nobodyElses = { ...everybody("unknown"), nobody: "signIn", apiKey: "signIn" } as const;
/** About an organization named in the path. */
export const inNamed = { ...signedIn, stranger: "unknown", removed: "unknown" } as const;
export const inNamedFromAdmin = { ...inNamed, member: "forbidden" } as const;
export const inNamedForOwner = { ...inNamedFromAdmin, admin: "forbidden" } as const;
/** For operators. To everyone else who is signed in, the route doesn't exist. @param operators As in {@linkcode Entry}. */
export const byOperator = (operators: OperatorScope | "account", attempt: Entry["attempt"] = () => ({})) => ({
  who: { ...everybody("unknown"), nobody: "signIn", apiKey: "token" } as const,
  operators,
  attempt,
  writes: [],
});
/** For operator tokens alone. */
export const byOperatorToken = (operators: OperatorScope, attempt: Entry["attempt"]) => ({
  ...byOperator(operators, attempt),
  who: everybody("token"),
  tokensOnly: true,
});
/** A page of the operator console: it doesn't exist for anyone else who is signed in. */
export const onlyOperators = { ...nobodyElses } as const;
export const byKey = { ...everybody("key"), apiKey: "in" } as const;
/** For API keys, and for operator tokens that may collect events. */
export const byKeyOrCollector = (attempt: NonNullable<Entry["attempt"]>): Entry => ({
  who: byKey,
  operators: "usage:collect",
  tokensOnly: true,
  attempt,
  tokenAttempt: async ({ test, organizationId }) => {
    await run(
      test,
      "INSERT OR IGNORE INTO event_mappings (id, name, type, source, metrics, properties, created_at) VALUES (?, 'A', 'a', '', ?, '{}', 0)",
      newId("map"),
      '[{"productSlug":"p","metric":"m","path":"n","scale":null,"round":null,"whenMissing":"reject","properties":{}}]',
    );
    return {
      json: {
        specversion: "1.0",
        type: "a",
        source: "b",
        id: newId("req"),
        subject: organizationId,
        data: { n: 1 },
      },
    };
  },
  writes: [],
});

/** @returns A page's form, which does the same as a route of the API with the same fields. @param more What differs. */
export function formOf(entry: Entry | undefined, more: Partial<Entry> = {}): Entry {
  const typed = (attempt: Write["attempt"]) => async (scene: Scene) => {
    const { json = {}, ...rest } = await attempt(scene);
    const fields = Object.entries(json as object)
      .map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]);
    return { ...rest, form: Object.fromEntries(fields) };
  };
  if (entry === undefined) throw new Error("there is no such route of the API");
  const { attempt = () => ({}), writes } = entry;
  const typedWrites = writes?.map((write) => ({ ...write, attempt: typed(write.attempt) }));
  return { ...entry, attempt: typed(attempt), ...(typedWrites && { writes: typedWrites }), ...more };
}

/** @returns An attempt on a key that the person who tries created. */
export const withKey = (more: Attempt = {}) => async (scene: Scene) => ({
  ...more,
  params: keyParams(await scene.newApiKey()),
});

/** @returns An attempt on a disabled key of the organization. */
export const withDisabledKey = (more: Attempt = {}) => async (scene: Scene) => {
  const { id } = await scene.newApiKey();
  await run(scene.test, "UPDATE api_keys SET disabled_at = 1 WHERE id = ?", id);
  return { ...more, params: keyParams({ id }) };
};

/** @returns The parameters of paths with a key, which call its id `id` in the API and `keyId` on pages. */
export const keyParams = ({ id }: { id: string }) => ({ id, keyId: id });

/** @returns An attempt on an alert of the organization. */
export const withAlert = (more: Attempt = {}) => async ({ test, organizationId }: Scene) => {
  const alertId = newId("lim");
  const insert =
    `INSERT INTO usage_limits (id, alert_of, product_slug, metric, per, quantity_whole, quantity_micro, mode,
    created_seq, created_at) SELECT ?, number, '', '', 'day', 1, 0, 'soft', 0, 0 FROM organizations WHERE id = ?`;
  await run(test, insert, alertId, organizationId);
  return { ...more, params: { id: organizationId, alertId } };
};

/** @returns The id of a person's session. */
export async function sessionOf({ test }: Scene, { userId }: { userId: string }): Promise<string> {
  const rows = await test.opened.database.read<{ id: string }>({
    sql: "SELECT id FROM sessions WHERE user_id = ?",
    args: [userId],
  });
  return rows[0]?.id ?? "";
}

/** @returns The id of a hold of the key. */
export async function holdOf({ test, apiKey }: Scene): Promise<string> {
  const response = await test.send("/api/v1/holds", {
    apiKey,
    json: { records: [{ productSlug: "p", metric: "m", quantity: 1 }] },
  });
  return (await response.json()).hold.id;
}

/** @returns The id of a record of the key. */
export async function recordOf({ test, apiKey }: Scene): Promise<string> {
  const response = await test.send("/api/v1/usage", {
    apiKey,
    json: { productSlug: "p", metric: "m", quantity: 1 },
  });
  return (await response.json()).usageRecord.id;
}

/** @returns Who uses a route as an operator: see {@linkcode Entry.operators}. Undefined for routes that are not for operators. */
export function operatorsOf({ who, operators }: Entry): OperatorScope | "account" | "page" | undefined {
  return who === onlyOperators ? "page" : operators;
}

/** @returns What a route does for a caller. @param isRead Whether the request is a GET. */
export function expectedOutcome(entry: Entry, caller: Caller, isRead: boolean): Outcome {
  const { who } = entry;
  if (isCustomer(caller)) return who[caller];
  const operators = operatorsOf(entry);
  const isToken = caller === "operatorToken" || caller === "tokenWithoutScope";
  // Elsewhere an operator is a member like any other, and a token is nobody.
  if (operators === undefined || (operators === "page" && isToken)) return isToken ? who.nobody : who.member;
  if (entry.tokensOnly && !isToken) return who.member;
  switch (caller) {
    case "operator":
      return "in";
    case "operatorWithoutProof":
      return isRead && !entry.readsAfterProof ? "in" : "proof";
    case "operatorWithoutSecondFactor":
    case "operatorWithOldSecondFactor":
      return operators === "page" ? "proof" : "secondFactor";
    case "operatorToken":
      return operators === "account" ? "scope" : "in";
    case "tokenWithoutScope":
      return "scope";
  }
}

function isCustomer(caller: Caller): caller is Customer {
  return customers.some((customer) => customer === caller);
}

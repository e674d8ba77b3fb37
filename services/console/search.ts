// The search of the portal and of the console.
import type { OperatorActor } from "../../domain/access/actor.ts";
import type { Found } from "../../domain/search.ts";
import { may, type MemberAccess } from "../access/mod.ts";
import { keysOpenTo } from "../keys/mod.ts";
import type { SessionContext } from "../context.ts";
import { readForOperator } from "./usage.ts";

export interface SearchInput {
  readonly text: string;
  readonly signal: AbortSignal;
}

/** Finds organizations, keys of any organization by prefix, and users. @throws {AppError} `unavailable`. */
export async function searchAsOperator(
  context: SessionContext,
  actor: OperatorActor,
  input: SearchInput,
): Promise<Found> {
  return await readForOperator(context, actor, { job: "search", ...input, scope: null, sees: null });
}

/** Finds what a member sees of the organization: keys by name or prefix, and what their role may read. @throws {AppError} `forbidden`, `unavailable`. */
export async function searchAsMember(
  { reports, clock }: SessionContext,
  access: MemberAccess,
  { text, signal }: SearchInput,
): Promise<Found> {
  const { scope } = keysOpenTo(access);
  const sees = {
    members: may(access, "members.read"),
    webhooks: may(access, "webhooks.read"),
    audit: may(access, "audit.read"),
  };
  return await reports.read("search", { text, scope, now: clock(), sees }, { reader: access.reader, signal });
}

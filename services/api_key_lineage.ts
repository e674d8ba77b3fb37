// A key with those that it replaced, or that replaced it: one lineage, of which pages show the current key.
import { findGenerations } from "../db/api_keys.ts";
import type { ApiKey } from "../domain/api_key.ts";
import { notFoundError } from "../domain/errors.ts";
import { isId } from "../domain/id.ts";
import type { Session } from "../domain/sign_in/session.ts";
import { readScope, toApiKey } from "./api_keys.ts";
import type { SessionContext } from "./context.ts";

const generationsMax = 20;

/** A lineage, as far as its reader can see it. */
export interface ApiKeyLineage {
  /** The newest active key or, without one, the newest key. */
  readonly current: ApiKey;
  /** With the current one first, then newest first, at most 20. */
  readonly generations: readonly ApiKey[];
}

/** @param id Of any key of the lineage. @throws {AppError} `not_found`, `forbidden`. */
export async function getApiKeyLineage(
  { database, clock }: SessionContext,
  session: Session,
  id: string,
): Promise<ApiKeyLineage> {
  const now = clock();
  const rows = isId("key", id)
    ? await findGenerations(database, readScope(session), { id, now, limit: generationsMax })
    : [];
  const generations = rows.map((row) => toApiKey(row, now));
  const [current] = generations;
  if (current === undefined) throw notFoundError();
  return { current, generations };
}

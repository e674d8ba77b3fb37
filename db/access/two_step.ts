// The condition that two-step sign-in is on, for the queries of several tables.
import { sql } from "../engine/database.ts";

/** A condition: two-step sign-in is on for the user `u`. */
export const hasTwoStep =
  sql`EXISTS (SELECT 1 FROM totp t WHERE t.user_id = u.id AND t.confirmed_at IS NOT NULL)`;

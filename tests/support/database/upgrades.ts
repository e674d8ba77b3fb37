// All migrations with their texts, for databases that begin with an older schema.
import { migrations } from "../../../db/engine/migrate.ts";
import schema from "./0030_schema.sql" with { type: "text" };

/** The program's migrations. The first one has its text, so that a new database gets one after the other. */
export const upgrades = migrations.map((one) => ({ ...one, text: one.text ?? schema }));

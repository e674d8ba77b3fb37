// `gatehouse migrate`: brings the database to this version's schema.
import type { Settings } from "../config.ts";
import { databaseName, openForCommand } from "./open_database.ts";
import { withProgress } from "./progress.ts";
import { readSettings } from "./settings.ts";
import { writeLine } from "./terminal.ts";

export async function migrateCommand(environment: Settings): Promise<number> {
  const config = readSettings(environment);
  const opened = await withProgress("Updating the schema", () => openForCommand(config));
  writeLine(`Database: ${databaseName(config)}`, "stderr");
  await opened.close();
  const { applied } = opened;
  return writeLine(applied.length === 0 ? "The database is up to date." : `Applied: ${applied.join(", ")}.`);
}

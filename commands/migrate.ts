// `gatehouse migrate`: brings the database to this program's schema, then ends.
import { openForCommand } from "./open.ts";
import { exitConfig, readSettings } from "./settings.ts";
import { writeLine } from "./terminal.ts";

/** @returns The exit status. */
export async function migrateCommand(): Promise<number> {
  const config = readSettings();
  if (config === null) return exitConfig;
  const opened = await openForCommand(config, () => {});
  if (typeof opened === "number") return opened;
  await opened.close();
  const { applied } = opened;
  return writeLine(applied.length === 0 ? "The database is up to date." : `Applied: ${applied.join(", ")}.`);
}

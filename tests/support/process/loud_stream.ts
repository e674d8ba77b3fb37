// Stands in for domain/stream_limits.ts in the parts of a continuous backup: says that they are loaded.
import { writeLine } from "../../../commands/terminal.ts";

export * from "../../../domain/stream_limits.ts";

writeLine("a part of the continuous backup is loaded", "stderr");

// What `gatehouse --help` says.
import { settings } from "../config.ts";

/** @returns Every command and every setting. */
export function help(): string {
  const width = Math.max(...Object.keys(settings).map((name) => name.length));
  const lines = Object.entries(settings).map(([name, { default: fallback, takes }]) =>
    `  ${name.padEnd(width)}  ${takes}${fallback === "" ? "" : `; default ${fallback}`}`
  );
  return [
    "Gatehouse: sign-in, API keys and usage metering in one program.",
    "",
    "Usage: gatehouse [COMMAND]",
    "",
    "  serve      run the server (also without a command)",
    "  migrate    bring the database to this program's schema, then end",
    "  openapi    print the OpenAPI document",
    "  --help     print this",
    "  --version  print the version",
    "",
    "Settings are read from the environment:",
    "",
    ...lines,
  ].join("\n");
}

// `gatehouse export records|statements`: prints NDJSON, without a server or alongside one.
import { countOf } from "../domain/number_text.ts";
import { exportRecords, exportStatements } from "../services/console/mod.ts";
import { type Subcommand, verbCommand } from "./administration.ts";
import { exportHelp } from "./help.ts";
import { ProgressLine } from "./progress.ts";
import { exitStatus } from "./settings.ts";
import { writeBytes } from "./terminal.ts";

const encoder = new TextEncoder();

const options = { since: "text" } as const;

export const exportCommand = verbCommand("gatehouse export", {
  verbs: {
    records: { options, onlyReads: true, act: (call) => print(call, exportRecords) },
    statements: { options, onlyReads: true, act: (call) => print(call, exportStatements) },
  },
  help: exportHelp,
  unknown: { message: "not found.", status: exitStatus.data },
});

async function print(
  { services, texts }: Subcommand,
  pagesOf: (context: Subcommand["services"], since?: string) => AsyncIterable<object[]>,
): Promise<void> {
  const progressLine = new ProgressLine();
  let lines = 0;
  try {
    for await (const page of pagesOf(services, texts.get("since"))) {
      writeBytes(encoder.encode(page.map((line) => `${JSON.stringify(line)}\n`).join("")));
      lines += page.length;
      progressLine.show(() => countOf(lines, "line"));
    }
  } finally {
    progressLine.clear();
  }
}

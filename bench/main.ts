// The benchmark. Measures the figures in turn and, because machines are noisy, a bare Hono server in the same rounds.
// Results go to standard output. docs/performance.md says how to run parts of it.
import { measureBinary } from "./binary.ts";
import { chosenFigures, figuresOf } from "./figures.ts";
import { requireWrk } from "./load.ts";
import { Measurement } from "./measure.ts";
import { figureLines, valueLine, verdict } from "./report.ts";
import { printLine, readSettings, runToEnd, type Settings, SetUpError } from "./settings.ts";
import { type Site, Sites } from "./sites.ts";

const warmUpSeconds = 1;
const bytesPerRecordMax = 200;
const sizeName = "size on disk";
const binaryName = "binary";

async function main(): Promise<void> {
  const settings = readSettings();
  await requireWrk();
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-bench-" });
  const sites = new Sites({ ...settings, folder, print: printLine });
  const end = async () => {
    await sites.close();
    await Deno.remove(folder, { recursive: true });
  };
  // Don't leave gigabytes behind.
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => void end().finally(() => Deno.exit(130)));
  }
  let isComplete = false;
  try {
    isComplete = await measureFigures(settings, sites);
    if (settings.only.test(sizeName)) printSize(await sites.open("full"));
  } finally {
    await end();
  }
  if (settings.only.test(binaryName)) await measureBinary(printLine);
  if (!isComplete) throw new SetUpError("a figure failed");
}

/** @returns Whether all figures could be measured. */
async function measureFigures(settings: Settings, sites: Sites): Promise<boolean> {
  const figures = chosenFigures(figuresOf(settings), settings.only);
  const measurement = await Measurement.prepare(figures, { sites, print: printLine });
  await measurement.round(warmUpSeconds);
  measurement.forget();
  printLine(
    `\n${navigator.hardwareConcurrency} cores, ${settings.rounds} rounds of ${settings.seconds} s for each figure, in turn; medians (all rounds)\n`,
  );
  for (let round = 0; round < settings.rounds; round++) await measurement.round(settings.seconds);
  const measured = measurement.ready.filter(({ failure }) => failure === undefined);
  const all = new Map(measured.map(({ figure, rounds }) => [figure.name, rounds]));
  for (const { figure, rounds, failure } of measurement.ready) {
    if (failure !== undefined) printLine(`${figure.name}: FAILED: ${failure}`);
    else figureLines(figure, rounds, all).forEach(printLine);
  }
  const records = await measurement.compareRecords();
  printLine(`\n${records.toLocaleString("en")} acknowledged records, all stored`);
  return measured.length === measurement.ready.length;
}

function printSize({ filled }: Site): void {
  if (filled === undefined) return;
  const bytes = filled.bytes / filled.records;
  const aim = verdict({ atMost: bytesPerRecordMax }, bytes);
  printLine(valueLine(sizeName, `${bytes.toFixed(1)} bytes per record with a key${aim}`));
  const parts = filled.parts.map(({ name, bytes }) => `${name} ${(bytes / filled.records).toFixed(1)}`);
  printLine(`  ${parts.join(", ")}`);
}

if (import.meta.main) await runToEnd(main);

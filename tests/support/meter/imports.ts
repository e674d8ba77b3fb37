// Runs imports in the test's process, against the test's app on a real port.
import { OperatorApi } from "../../../commands/import/operator_api.ts";
import { openInput, rehearseImport, runImport } from "../../../commands/import/run.ts";
import type { ImportMapping } from "../../../routes/meter/schemas/imported_usage.ts";
import type { TestApp } from "../app/app.ts";
import { run } from "../people/scene.ts";

/** How to import a file. */
export interface ImportOfFile extends Partial<ImportMapping> {
  readonly file: string;
  readonly url: string;
  readonly token: string;
  readonly skipsInvalid?: boolean;
}

function optionsOf(test: TestApp, { file, skipsInvalid = false, ...mapping }: ImportOfFile) {
  return {
    input: openInput(file),
    mapping: {
      source: mapping.source ?? "gatehouse",
      product: mapping.product,
      quantityProperties: mapping.quantityProperties ?? new Map(),
      properties: mapping.properties,
      customers: mapping.customers,
    },
    ...{ now: test.now(), skipsInvalid, progressPath: `${file}.progress` },
  };
}

/** Imports a file as `gatehouse import usage` does, without printing. */
export async function importFile(test: TestApp, given: ImportOfFile) {
  const options = optionsOf(test, given);
  try {
    const { total, faults } = await runImport(new OperatorApi(given), options);
    return { ...total, faults: faults.lines };
  } finally {
    options.input.file?.close();
  }
}

/** Runs a dry run. @returns Its output, and the number of records that the server would reject. */
export async function rehearseFile(test: TestApp, given: ImportOfFile) {
  const options = optionsOf(test, given);
  try {
    const { counted, faults } = await rehearseImport(options);
    return { ...await counted.report(new OperatorApi(given)), faults: faults.lines };
  } finally {
    options.input.file?.close();
  }
}

/** Sets the external id of an organization. */
export async function setExternalId(test: TestApp, organizationId: string, externalId: string) {
  await run(test, "UPDATE organizations SET external_id = ? WHERE id = ?", externalId, organizationId);
}

/** Writes objects as NDJSON. */
export async function writeLines(file: string, lines: readonly unknown[]): Promise<void> {
  const texts = lines.map((line) => typeof line === "string" ? line : JSON.stringify(line));
  await Deno.writeTextFile(file, texts.map((text) => `${text}\n`).join(""));
}

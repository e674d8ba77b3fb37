// `gatehouse import usage FILE` sends usage from other systems' exports, or from ours, to a server.
import type { Settings } from "../../config.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import { slugForm } from "../../domain/meter/usage_record.ts";
import { type ImportMapping, importSources } from "../../routes/meter/schemas/imported_usage.ts";
import { parse } from "../../routes/schemas/issues.ts";
import { eventsQuerySchema } from "../../routes/meter/schemas/openmeter_event.ts";
import { importHelp } from "../help.ts";
import { exitStatus, readOptionFile, readSettings, usageError } from "../settings.ts";
import { writeLine } from "../terminal.ts";
import { parseVerbArguments, type VerbArguments } from "../verb_arguments.ts";
import { readCustomers } from "./customers.ts";
import { OperatorApi } from "./operator_api.ts";
import { type ImportOptions, openInput, rehearseImport, runImport } from "./run.ts";

const text = "text" as const;
const list = "list" as const;
const flag = "flag" as const;
const forms = {
  usage: {
    subject: "file",
    options: {
      ...{ from: text, url: text, "token-file": text, product: text, customers: text, progress: text },
      ...{ "quantity-property": list, properties: list, "dry-run": flag, "skip-invalid": flag },
    },
  },
};

export async function importCommand(args: readonly string[], environment: Settings): Promise<number> {
  const parsed = parseVerbArguments("gatehouse import", forms, args);
  if (parsed === "help") return writeLine(importHelp());
  const { given } = parsed;
  const mapping = readMapping(given);
  const isDry = given.flags.has("dry-run");
  const token = readToken(given, environment);
  if (token === undefined && !isDry) {
    throw usageError("an operator token is required: GATEHOUSE_OPERATOR_TOKEN or --token-file.");
  }
  const api = token === undefined ? undefined : new OperatorApi({ url: readUrl(given, environment), token });
  const input = openInput(given.subject);
  const options = {
    ...{ mapping, input, now: Date.now(), skipsInvalid: given.flags.has("skip-invalid") },
    progressPath: given.texts.get("progress") ?? `${given.subject}.progress`,
    onContinue: (line: number) => writeLine(`Continuing after line ${groupDigits(line)}.`, "stderr"),
  };
  try {
    return isDry || api === undefined ? await printRehearsal(api, options) : await printImport(api, options);
  } finally {
    input.progressLine.clear();
    input.file?.close();
  }
}

async function printRehearsal(
  api: OperatorApi | undefined,
  options: ImportOptions,
): Promise<number> {
  const { counted, faults, leftOut } = await rehearseImport(options);
  options.input.progressLine.clear();
  const { lines, rejected } = await counted.report(api);
  faults.print();
  writeLine(lines.join("\n"));
  if (faults.count > 0) writeLine(`${countOf(faults.count, "line")} can't be imported.`);
  if (leftOut > 0) writeLine(leftOutText(leftOut));
  writeLine("Nothing was recorded.");
  return rejected + faults.count === 0 ? 0 : exitStatus.data;
}

async function printImport(api: OperatorApi, options: ImportOptions): Promise<number> {
  const { total: { accepted, duplicates, invalid, leftOut }, faults } = await runImport(api, options);
  options.input.progressLine.clear();
  faults.print();
  const counts = `${groupDigits(accepted)} new, ${groupDigits(duplicates)} recorded before`;
  writeLine(`Imported ${countOf(accepted + duplicates, "record")}: ${counts}.`);
  if (invalid > 0) writeLine(`Skipped ${countOf(invalid, "line")} that can't be imported.`);
  if (leftOut > 0) writeLine(leftOutText(leftOut));
  return 0;
}

function leftOutText(records: number): string {
  return `Left out ${countOf(records, "record")} that were voided or made with test keys.`;
}

/** @throws {CommandError} */
function readMapping({ texts, lists }: VerbArguments): ImportMapping {
  const source = importSources.find((name) => name === texts.get("from"));
  if (source === undefined) throw usageError(`--from must be one of ${importSources.join(", ")}.`);
  const product = texts.get("product");
  const properties = lists.get("quantity-property") ?? [];
  const isEvent = source !== "gatehouse";
  if (!isEvent && (product !== undefined || properties.length > 0 || lists.has("properties"))) {
    throw usageError("--product, --quantity-property and --properties are for the exports of other systems.");
  }
  if (product === undefined && (source === "lago" || source === "stripe")) {
    throw usageError(`--product is required: events of ${source} don't name one.`);
  }
  if (product !== undefined && !slugForm.test(product)) throw usageError("--product is not a valid product.");
  const quantityProperties = new Map(properties.map((text) => {
    const [, metric = "", value = ""] = /^(?:([^=]*)=)?(.*)$/s.exec(text) ?? [];
    const { data, error } = parse(eventsQuerySchema, { value });
    if (error !== undefined) {
      throw usageError("--quantity-property takes PROPERTY, METRIC=PROPERTY or METRIC=1.");
    }
    return [metric, data.value.field ?? "1"] as const;
  }));
  const customers = texts.get("customers");
  return {
    source,
    product,
    quantityProperties,
    properties: lists.get("properties"),
    customers: customers === undefined ? undefined : readCustomers(customers),
  };
}

/** Never from an argument, which everyone on the machine can see. @throws {CommandError} */
function readToken({ texts }: VerbArguments, environment: Settings): string | undefined {
  const file = texts.get("token-file");
  if (file === undefined) return environment["GATEHOUSE_OPERATOR_TOKEN"]?.trim() || undefined;
  return readOptionFile("token-file", file).trim() || undefined;
}

/** @throws {CommandError} */
function readUrl({ texts }: VerbArguments, environment: Settings): string {
  const text = texts.get("url");
  if (text === undefined) return readSettings(environment).baseUrl.origin;
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.pathname !== "/") {
    throw usageError("--url must be the address of the server, such as https://auth.example.com.");
  }
  return url.origin;
}

// `gatehouse mapping …`: how events of gateways become usage records, alongside a running server.
import { AppError } from "../domain/errors.ts";
import { mappingPresets } from "../domain/meter/mapping_presets.ts";
import { parseJson } from "../routes/body.ts";
import {
  collectedEventSchema,
  createMappingSchema,
  newMapping,
} from "../routes/meter/schemas/event_mappings.ts";
import { check } from "../routes/schemas/check.ts";
import {
  createMapping,
  deleteMapping,
  getMapping,
  listMappings,
  type ShownMapping,
  tryMapping,
} from "../services/meter/mod.ts";
import { type Subcommand, verbCommand } from "./administration.ts";
import { mappingHelp } from "./help.ts";
import { CommandError, exitStatus, readOptionFile, usageError } from "./settings.ts";
import { writeLine } from "./terminal.ts";
import { minute, textTable } from "./text_table.ts";
import type { VerbArguments } from "./verb_arguments.ts";

const listPageItems = 100;
const subject = "mapping id";

export const mappingCommand = verbCommand("gatehouse mapping", {
  verbs: {
    add: { options: { preset: "text", file: "text" }, act: add, check: toNewMapping },
    list: { options: { json: "flag" }, act: list, onlyReads: true },
    try: { subject, options: { event: "text" }, act: tryEvent, check: toEvent, onlyReads: true },
    delete: { subject, options: {}, act: remove },
  },
  help: mappingHelp,
  unknown: { message: "no mapping has this id.", status: exitStatus.data },
});

async function add(call: Subcommand): Promise<void> {
  const { services, actor } = call;
  const { id, name } = await createMapping(services, actor, toNewMapping(call));
  writeLine(`Added “${name}”.`, "stderr");
  writeLine(id);
}

/** @throws {CommandError} */
function toNewMapping({ texts }: VerbArguments) {
  const [preset, file] = [texts.get("preset"), texts.get("file")];
  if ((preset === undefined) === (file === undefined)) throw usageError("give either --preset or --file.");
  if (preset !== undefined && !Object.hasOwn(mappingPresets, preset)) {
    throw usageError(`--preset must be one of ${Object.keys(mappingPresets).join(", ")}.`);
  }
  const read = file === undefined ? () => ({ preset }) : () => parseJson(readOptionFile("file", file), true);
  return withDetails("file", () => newMapping(check(createMappingSchema, read(), "body")));
}

/** Names everything that is wrong with a file. @throws {CommandError} */
function withDetails<T>(option: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const faults = error.details?.map(({ path, message }) => `${path} ${message}`) ?? [error.message];
    throw new CommandError(`--${option}: ${faults.join(" ")}`, exitStatus.data);
  }
}

async function list({ services, flags }: Subcommand): Promise<void> {
  const table = textTable(["ID", "TYPE", "SOURCE", "ADDED", "NAME", "RECORDS"]);
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const page = await listMappings(services, { limit: listPageItems, cursor });
    const { mappings } = page;
    const lines = flags.has("json") ? mappings.map((one) => JSON.stringify(one)) : table(mappings.map(cells));
    if (lines.length > 0) writeLine(lines.join("\n"));
    cursor = page.nextCursor;
  }
}

function cells({ id, type, source, createdAt, name, metrics }: ShownMapping): string[] {
  const records = [...new Set(metrics.map(({ productSlug, metric }) => `${productSlug}/${metric}`))];
  return [id, type, source ?? "any", minute(createdAt), name, records.join(",")];
}

async function tryEvent(call: Subcommand): Promise<void> {
  const { services, subject: id } = call;
  const event = toEvent(call);
  writeLine(JSON.stringify(await tryMapping(services, id, event), null, 2));
}

/** @throws {CommandError} */
function toEvent({ texts }: VerbArguments) {
  const file = texts.get("event");
  if (file === undefined) throw usageError("--event is required.");
  const text = readOptionFile("event", file);
  return withDetails("event", () => check(collectedEventSchema, parseJson(text, true), "body"));
}

async function remove({ services, actor, subject: id }: Subcommand): Promise<void> {
  const { name } = await getMapping(services, id);
  await deleteMapping(services, actor, id);
  writeLine(`Deleted “${name}”. Its events are rejected now.`);
}

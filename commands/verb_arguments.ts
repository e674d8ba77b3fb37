// Parses the arguments of commands with subcommands, such as `gatehouse user`. Errors name an option but never its value, which may
// be a secret.
import { parseArgs } from "node:util";
import { messageOf } from "../domain/errors.ts";
import { usageError } from "./settings.ts";

export interface VerbForm {
  /** Its only argument, such as `email address`; undefined for none. */
  readonly subject?: string;
  /** Its options: with a value, with a list (repeated, or joined by commas), or without a value. */
  readonly options: Readonly<Record<string, "text" | "list" | "flag">>;
}

export interface VerbArguments {
  /** As typed; empty for a subcommand without one. */
  readonly subject: string;
  readonly texts: ReadonlyMap<string, string>;
  readonly lists: ReadonlyMap<string, readonly string[]>;
  readonly flags: ReadonlySet<string>;
}

/** Parses the arguments after `command`, such as `gatehouse user`. Returns `help` for `--help`. @throws {CommandError} */
export function parseVerbArguments<Form extends VerbForm>(
  command: string,
  forms: Readonly<Record<string, Form>>,
  args: readonly string[],
): { readonly form: Form; readonly given: VerbArguments } | "help" {
  const [verb = "", ...rest] = args;
  if (args.includes("--help") || args.includes("-h")) return "help";
  const form = Object.hasOwn(forms, verb) ? forms[verb] : undefined;
  if (form === undefined) {
    const problem = verb === "" ? "a command is required." : `unknown command “${verb}”.`;
    throw usageError(`${problem} Try ${command} --help.`);
  }
  const { subject, options } = form;
  const { positionals, values } = parse(rest, { command, options });
  const texts = new Map<string, string>();
  const lists = new Map<string, readonly string[]>();
  const flags = new Set<string>();
  for (const [name, given] of Object.entries(values)) {
    const [value, ...more] = given;
    if (given.includes("")) throw usageError(`--${name} requires a value.`);
    if (options[name] === "list") {
      lists.set(name, given.flatMap((one) => String(one).split(",")).map((one) => one.trim()));
      continue;
    }
    if (more.length > 0) throw usageError(`--${name} is given more than once.`);
    if (typeof value === "string") texts.set(name, value);
    else flags.add(name);
  }
  if (positionals.length !== (subject === undefined ? 0 : 1)) {
    throw usageError(`${verb} takes ${subject === undefined ? "no argument" : `exactly one ${subject}`}.`);
  }
  return { form, given: { subject: positionals[0] ?? "", texts, lists, flags } };
}

function parse(
  args: string[],
  { command, options }: { command: string; options: VerbForm["options"] },
): { positionals: string[]; values: Record<string, (string | boolean)[]> } {
  const known = Object.entries(options).map(([name, kind]) => [
    name,
    { type: kind === "flag" ? "boolean" as const : "string" as const, multiple: true as const },
  ]);
  try {
    const { positionals, values } = parseArgs({
      args,
      options: Object.fromEntries(known),
      allowPositionals: true,
    });
    return { positionals, values: values as Record<string, (string | boolean)[]> };
  } catch (error) {
    // The rest of the message explains Node's rules.
    const [problem = ""] = messageOf(error).split(/\.?\s*(\n|\. )/);
    throw usageError(`${problem}. Try ${command} --help.`);
  }
}

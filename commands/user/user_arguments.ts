// Parses the arguments of `gatehouse user`. Errors name an option but never its value, which may be a secret.
import { parseArgs } from "node:util";
import { messageOf } from "../../domain/errors.ts";
import { CommandError, exitStatus } from "../settings.ts";

const text = { type: "string", multiple: true } as const;
const flag = { type: "boolean", multiple: true } as const;
const options = {
  create: { name: text, organization: text, join: text, role: text, "password-stdin": flag },
  list: { json: flag },
  disable: { "revoke-keys": flag },
  enable: {},
  "reset-password": { "password-stdin": flag, "turn-off-two-step": flag },
} as const;

/** A subcommand of `gatehouse user`. */
export type UserVerb = keyof typeof options;

/** Valid arguments. */
export interface UserArguments {
  readonly verb: UserVerb;
  /** As typed; empty for `list`. */
  readonly email: string;
  /** The options with a value, by name. */
  readonly texts: ReadonlyMap<string, string>;
  /** The options without a value. */
  readonly flags: ReadonlySet<string>;
}

/**
 * @param args As typed, without `gatehouse user`.
 * @returns The arguments, or `help` for `--help`.
 * @throws {CommandError}
 */
export function parseUserArguments(args: readonly string[]): UserArguments | "help" {
  const [verb = "", ...rest] = args;
  if (args.includes("--help") || args.includes("-h")) return "help";
  if (!isVerb(verb)) {
    const problem = verb === "" ? "a command is required." : `unknown command “${verb}”.`;
    throw usageError(`${problem} Try gatehouse user --help.`);
  }
  const texts = new Map<string, string>();
  const flags = new Set<string>();
  const { positionals, values } = parse(rest, verb);
  for (const [name, [value, ...more]] of Object.entries(values as Record<string, (string | boolean)[]>)) {
    if (more.length > 0) throw usageError(`--${name} is given more than once.`);
    if (value === "") throw usageError(`--${name} requires a value.`);
    if (typeof value === "string") texts.set(name, value);
    else flags.add(name);
  }
  if (positionals.length !== (verb === "list" ? 0 : 1)) {
    throw usageError(`${verb} takes ${verb === "list" ? "no" : "exactly one"} email address.`);
  }
  return { verb, email: positionals[0] ?? "", texts, flags };
}

function parse(args: string[], verb: UserVerb) {
  try {
    return parseArgs({ args, options: options[verb], allowPositionals: true });
  } catch (error) {
    // The rest of the message explains Node's rules.
    const [problem = ""] = messageOf(error).split(/\.?\s*(\n|\. )/);
    throw usageError(`${problem}. Try gatehouse user --help.`);
  }
}

function usageError(message: string): CommandError {
  return new CommandError(message, exitStatus.usage);
}

function isVerb(verb: string): verb is UserVerb {
  return Object.hasOwn(options, verb);
}

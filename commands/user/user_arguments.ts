// Parses the arguments of `gatehouse user`. Errors name an option but never its value, which may be a secret.
import { parseArgs } from "node:util";
import { messageOf } from "../../domain/errors.ts";

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
 * @returns The arguments; `help` for `--help`; or what is wrong, in one line.
 */
export function parseUserArguments(args: readonly string[]): UserArguments | "help" | { fault: string } {
  const [verb = "", ...rest] = args;
  if (args.includes("--help") || args.includes("-h")) return "help";
  if (!isVerb(verb)) {
    const problem = verb === "" ? "a command is required." : `unknown command “${verb}”.`;
    return { fault: `${problem} Try gatehouse user --help.` };
  }
  const texts = new Map<string, string>();
  const flags = new Set<string>();
  let positionals: string[];
  try {
    const parsed = parseArgs({ args: rest, options: options[verb], allowPositionals: true });
    positionals = parsed.positionals;
    const values = Object.entries(parsed.values as Record<string, (string | boolean)[]>);
    for (const [name, [value, ...more]] of values) {
      if (more.length > 0) return { fault: `--${name} is given more than once.` };
      if (value === "") return { fault: `--${name} requires a value.` };
      if (typeof value === "string") texts.set(name, value);
      else flags.add(name);
    }
  } catch (error) {
    // The rest of the message explains Node's rules.
    const [problem = ""] = messageOf(error).split(/\.?\s*(\n|\. )/);
    return { fault: `${problem}. Try gatehouse user --help.` };
  }
  if (positionals.length === (verb === "list" ? 0 : 1)) {
    return { verb, email: positionals[0] ?? "", texts, flags };
  }
  return { fault: verb === "list" ? "takes no email address." : "takes exactly one email address." };
}

function isVerb(verb: string): verb is UserVerb {
  return Object.hasOwn(options, verb);
}

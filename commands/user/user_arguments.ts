// What `gatehouse user …` was called with. A fault is told by the name of the option and never by its value, which may
// have been meant for another.
import { parseArgs } from "node:util";

/** A verb of `gatehouse user`. */
export type UserVerb = "create" | "list" | "disable" | "enable" | "reset-password";

/** What follows a verb: `text` options take a value, `flag` options take none. */
interface VerbForm {
  readonly takesEmail: boolean;
  readonly options: Readonly<Record<string, "text" | "flag">>;
}

const forms: Readonly<Record<UserVerb, VerbForm>> = {
  create: {
    takesEmail: true,
    options: {
      name: "text",
      organization: "text",
      join: "text",
      role: "text",
      "password-stdin": "flag",
    },
  },
  list: { takesEmail: false, options: { json: "flag" } },
  disable: { takesEmail: true, options: { "revoke-keys": "flag" } },
  enable: { takesEmail: true, options: {} },
  "reset-password": { takesEmail: true, options: { "password-stdin": "flag", "turn-off-two-step": "flag" } },
};

/** A call that has the right form. */
export interface UserArguments {
  readonly verb: UserVerb;
  /** As typed; empty for a verb that takes none. */
  readonly email: string;
  readonly texts: ReadonlyMap<string, string>;
  readonly flags: ReadonlySet<string>;
}

/**
 * @param args As typed, without `gatehouse user`.
 * @returns The call; `help` when it asks for that; or what is wrong, in one line.
 */
export function parseUserArguments(args: readonly string[]): UserArguments | "help" | { fault: string } {
  const [verb, ...rest] = args;
  if (args.includes("--help") || args.includes("-h")) return "help";
  if (verb === undefined) return { fault: "what about users? Try gatehouse user --help." };
  if (!isVerb(verb)) return { fault: `${verb} is no command. Try gatehouse user --help.` };
  const { takesEmail, options } = forms[verb];
  const { tokens } = parseArgs({
    args: rest,
    strict: false,
    tokens: true,
    options: Object.fromEntries(
      Object.entries(options).map(([name, kind]) => [name, {
        type: kind === "text" ? "string" as const : "boolean" as const,
      }]),
    ),
  });
  const texts = new Map<string, string>();
  const flags = new Set<string>();
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") positionals.push(token.value);
    if (token.kind !== "option") continue;
    const { name, rawName, value } = token;
    const kind = Object.hasOwn(options, name) && rawName.startsWith("--") ? options[name] : undefined;
    if (kind === undefined) return { fault: `${rawName} is no option. Try gatehouse user --help.` };
    if (texts.has(name) || flags.has(name)) return { fault: `${rawName} is there twice.` };
    if (kind === "flag" && value !== undefined) return { fault: `${rawName} takes no value.` };
    const isMissing = value === undefined || value === "" || (!token.inlineValue && value.startsWith("--"));
    if (kind === "text" && isMissing) return { fault: `${rawName} takes a value.` };
    if (kind === "text") texts.set(name, value ?? "");
    else flags.add(name);
  }
  const [email = ""] = positionals;
  const wanted = takesEmail ? 1 : 0;
  if (positionals.length !== wanted) {
    return { fault: takesEmail ? "it takes one e-mail address." : "it takes no address." };
  }
  return { verb, email, texts, flags };
}

function isVerb(text: string): text is UserVerb {
  return Object.hasOwn(forms, text);
}

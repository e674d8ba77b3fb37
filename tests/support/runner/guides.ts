// Lets tests run the guides in docs/ and the programs in examples/: finds code blocks by name and runs shell commands.
import { sourceCommand } from "../process/program.ts";

const root = new URL("../../../", import.meta.url);

/** A fenced code block of a document, with the mark in the comment above it. */
export interface CodeBlock {
  /** Line of the opening fence, counted from 1. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
  /** `run by TEST: NAME`, `not run: REASON`, or null without a comment. */
  readonly mark: string | null;
}

/** @returns The code blocks of a Markdown document, in order. */
export function codeBlocks(markdown: string): CodeBlock[] {
  const form = /(?:^<!-- ([^\n]*) -->\n\n?)?^( *)(`{3,}|~{3,})([^\n]*)\n([\s\S]*?)^ *\3$/gm;
  return [...markdown.matchAll(form)].map((match) => {
    const [whole, mark = null, , , info = "", text = ""] = match;
    const fence = match.index + whole.search(/^ *[`~]{3}/m);
    return {
      line: markdown.slice(0, fence).split("\n").length,
      language: info.trim().split(/\s/)[0] ?? "",
      text,
      mark,
    };
  });
}

/** @returns A function that finds a block of a guide by the name in its mark. It throws unless exactly one matches. */
export async function readGuide(file: string): Promise<(name: string) => string> {
  const blocks = codeBlocks(await Deno.readTextFile(new URL(`docs/${file}`, root)));
  return (name) => {
    const [block, ...more] = blocks.filter(({ mark }) =>
      mark?.startsWith("run by ") && mark.endsWith(`: ${name}`)
    );
    if (block === undefined || more.length > 0) {
      throw new Error(`${file}: expected exactly one block called ${name}`);
    }
    return block.text;
  };
}

/** @returns A function that reads a file of a folder in examples/. */
export function readExamples(folder: string): (name: string) => string {
  return (name) => Deno.readTextFileSync(new URL(`examples/${folder}/${name}`, root));
}

/** A command that runs until it is stopped. */
export interface RunningCommand {
  readonly output: () => string;
  /** The exit status: 128 and more for a signal. */
  readonly ended: Promise<number>;
  /** Sends a signal. @returns The exit status. */
  stop(signal?: Deno.Signal): Promise<number>;
}

/** Starts a one-line command in `sh`. Signals go to the command itself, not to the shell. */
export function startCommand(
  command: string,
  options: { cwd: string; env?: Readonly<Record<string, string>> },
): RunningCommand {
  const line = command.trim().replaceAll(/\\\n\s*/g, "");
  if (line.includes("\n")) throw new Error(`more than one line: ${line}`);
  const child = new Deno.Command("sh", {
    args: ["-c", `exec env ${line}`],
    cwd: options.cwd,
    env: { ...options.env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let output = "";
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) output += text;
  };
  const ended = Promise.all([child.status, collect(child.stdout), collect(child.stderr)])
    .then(([{ code }]) => code);
  return {
    output: () => output,
    ended,
    async stop(signal = "SIGTERM") {
      try {
        child.kill(signal);
      } catch (error) {
        // It has already exited.
        if (!(error instanceof TypeError)) throw error;
      }
      return await ended;
    },
  };
}

/** Runs lines in `sh -e`. @returns Their standard output. @throws With all output when a line fails. */
export async function runLines(
  lines: string,
  options: { cwd: string; env?: Readonly<Record<string, string>>; stdin?: string },
): Promise<string> {
  const child = new Deno.Command("sh", {
    args: ["-e", "-c", lines],
    cwd: options.cwd,
    env: { ...options.env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  await new Blob([options.stdin ?? ""]).stream().pipeTo(child.stdin).catch(() => {});
  const { success, stdout, stderr } = await child.output();
  const text = new TextDecoder().decode(stdout);
  if (!success) throw new Error(`${lines}\n${text}${new TextDecoder().decode(stderr)}`);
  return text;
}

/** Creates a `gatehouse` command that runs the program from its source. @returns The folder to add to the PATH. */
export async function installGatehouse(folder: string): Promise<string> {
  const bin = `${folder}/bin`;
  await Deno.mkdir(bin);
  const program = sourceCommand().map((word) => `'${word}'`).join(" ");
  await Deno.writeTextFile(`${bin}/gatehouse`, `#!/bin/sh\nexec ${program} "$@"\n`, { mode: 0o755 });
  return bin;
}

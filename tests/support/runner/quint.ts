// Runs models in Quint (https://quint-lang.org), which checks invariants on random traces, and reads the traces.
//
// The package is in deno.lock, together with `antlr4ts` 0.5.0-alpha.4, because Quint doesn't start with 0.5.0-dev.
import { root } from "../build/sources.ts";

const quint = "npm:@informalsystems/quint@0.33.1";

/** A step of a trace. Numbers are plain, maps are objects, sets are lists, and a choice that the step didn't make is null. */
export interface TraceStep<State> {
  /** The name of the action. */
  readonly action: string;
  /** Values of `nondet`, by name. */
  readonly picks: Readonly<Record<string, unknown>>;
  /** The variables after the step. */
  readonly state: State;
}

export interface Simulation {
  readonly seed: number;
  /** The number of traces. */
  readonly samples: number;
  /** Steps of each trace, after the first state. */
  readonly steps: number;
  /** An expression: the first action. */
  readonly init?: string;
  readonly invariants?: readonly string[];
}

/**
 * Runs random traces of a model.
 *
 * @param path A `.qnt` file, from the root.
 * @throws With the trace and its seed if one violates an invariant.
 */
export async function checkModel(path: string, simulation: Simulation): Promise<void> {
  await simulate(path, simulation, ["--verbosity=2"]);
}

/** Runs random traces of a model, and returns them. Options are those of {@linkcode checkModel}. */
export async function randomTraces<State>(
  path: string,
  simulation: Simulation,
): Promise<TraceStep<State>[][]> {
  const folder = await Deno.makeTempDir();
  try {
    const out = [`--n-traces=${simulation.samples}`, `--out-itf=${folder}/{seq}.json`, "--verbosity=0"];
    await simulate(path, simulation, out);
    return await Promise.all(
      Array.from({ length: simulation.samples }, async (_, at) => {
        const { states } = JSON.parse(await Deno.readTextFile(`${folder}/${at}.json`));
        return states.map((state: object) => stepOf(plain(state) as Record<string, unknown>));
      }),
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function stepOf(
  { "mbt::actionTaken": action, "mbt::nondetPicks": picks, ...state }: Record<string, unknown>,
) {
  return { action, picks, state };
}

async function simulate(
  path: string,
  { seed, samples, steps, init = "init", invariants = [] }: Simulation,
  more: readonly string[],
): Promise<void> {
  const program = [`--config=${root}deno.json`, `--lock=${root}deno.lock`, "--frozen", "--no-prompt", "-A"];
  const options = [
    "--backend=typescript",
    "--mbt",
    `--seed=${seed}`,
    `--max-samples=${samples}`,
    `--max-steps=${steps}`,
    `--init=${init}`,
    ...more,
  ];
  const checks = invariants.length === 0 ? [] : ["--invariants", ...invariants];
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", ...program, quint, "run", ...options, root + path, ...checks],
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  if (success) return;
  const text = new TextDecoder();
  throw new Error(`quint ${path} --seed=${seed}: ${text.decode(stdout)}${text.decode(stderr)}`);
}

/** Reads values of the Informal Trace Format (https://apalache-mc.org/docs/adr/015adr-trace.html). */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const [only = "", ...others] = Object.keys(value);
  const own = value as Record<string, unknown>;
  if (others.length === 0 && only === "#bigint") return Number(own[only]);
  if (others.length === 0 && (only === "#set" || only === "#tup")) return plain(own[only]);
  if (others.length === 0 && only === "#map") {
    return Object.fromEntries((own[only] as [unknown, unknown][]).map((pair) => pair.map(plain)));
  }
  if ("tag" in own) return own["tag"] === "None" ? null : plain(own["value"]);
  return Object.fromEntries(Object.entries(own).map(([name, part]) => [name, plain(part)]));
}

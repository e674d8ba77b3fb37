// Fails tests that run for too long, where `deno test` waits forever, and those that fail in the background, where it gives up on
// all tests of the file. `./denow test` loads this before the tests.
//
// It can't interrupt a test that never returns to the event loop, nor a file that never finishes loading.
import { AsyncLocalStorage } from "node:async_hooks";
import vm from "node:vm";
import { isFull } from "./extent.ts";

declare global {
  namespace Deno {
    interface TestDefinition {
      /** The longest that the test and its steps may take, in milliseconds; 0 for no limit. Deno 2.8 has the same option. */
      timeout?: number;
    }
  }
}

type Run = (context: Deno.TestContext) => unknown;
/** The arguments of `Deno.test`. The last one is the function, or has it. */
type Definition = readonly (string | Partial<Deno.TestDefinition> | Run)[];

/** Longer than the deadline of `poll()`, which says more. Tests of a full run do more, on machines that differ in speed by three. */
const usualMs = isFull ? 600_000 : 180_000;
const givenMs = Deno.env.get("TEST_TIMEOUT_MS");
// Tests may replace these.
const { setTimeout, clearTimeout } = globalThis;

/** @returns The definition with a function that fails in time. */
function withLimit(definition: Definition): Definition {
  const options = definition.find((part) => typeof part === "object");
  const { timeout = usualMs, ...others } = options ?? {};
  const limitMs = givenMs === undefined ? timeout : Number(givenMs);
  const limited = (run: Run) => limitMs > 0 ? within(run, limitMs) : run;
  return definition.map((part) => {
    if (typeof part === "function") return limited(part);
    if (part !== options) return part;
    return others.fn === undefined ? others : { ...others, fn: limited(others.fn) as typeof others.fn };
  });
}

function within(run: Run, limitMs: number): Run {
  const limited = async (context: Deno.TestContext) => {
    const { promise: fails, reject } = Promise.withResolvers<never>();
    // It may be rejected after the test has ended.
    fails.catch(() => {});
    // Deno gives up on all tests of a file when one waits for nothing. This timer is something to wait for.
    const timer = setTimeout(
      () => reject(new Error(`still running after its time limit of ${limitMs} ms`)),
      limitMs,
    );
    const outer = running;
    const test = running = { name: context.name, fail: reject };
    if (betweenTests !== undefined) reject(betweenTests);
    betweenTests = undefined;
    try {
      await Promise.race([background.run(test, run, context), fails]);
      // What the test rejected last is noticed only after this turn.
      await Promise.race([new Promise((resolve) => setTimeout(resolve, 0)), fails]);
    } finally {
      clearTimeout(timer);
      running = outer;
      ended.add(test);
    }
  };
  // The name of a test that is only a function.
  return Object.defineProperty(limited, "name", { value: run.name });
}

/** A test that runs, or has ended. */
interface RunningTest {
  readonly name: string;
  readonly fail: (error: Error) => void;
}

let running: RunningTest | undefined;
/** A failure that no running test could be blamed for. */
let betweenTests: Error | undefined;
const ended = new WeakSet<RunningTest>();
/** The test that started what runs now. */
const background = new AsyncLocalStorage<RunningTest>();

/**
 * Fails the test that started what failed in the background, instead of all tests of the file. If that test has ended, the running
 * or the next one fails, with the name of the other.
 */
function failTest(event: Event, cause: unknown): void {
  const test = background.getStore() ?? running;
  const failing = test === undefined || ended.has(test) ? running : test;
  if (test === undefined || event.defaultPrevented) return;
  event.preventDefault();
  // The program's own listeners come later.
  let isExpected = false;
  event.preventDefault = () => isExpected = true;
  const whose = test === failing ? "" : ` of “${test.name}”, which had ended`;
  const message = cause instanceof Error ? cause.message : String(cause);
  const error = new Error(`failed in the background${whose}: ${message}`, { cause });
  queueMicrotask(() => {
    if (isExpected) return;
    if (failing === undefined) betweenTests ??= error;
    else failing.fail(error);
  });
}

addEventListener("unhandledrejection", (event) => failTest(event, event.reason));
addEventListener("error", (event) => failTest(event, event.error ?? event.message));
addEventListener("unload", () => {
  if (betweenTests !== undefined) throw betweenTests;
});

// Deno reports the line that calls `Deno.test`, and skips callers in files with such names.
const wrap = vm.runInThisContext("(test, withLimit) => (...definition) => test(...withLimit(definition))", {
  filename: "ext:time_limit.js",
});

Object.assign(Deno, { test: Object.assign(wrap(Deno.test, withLimit), Deno.test) });

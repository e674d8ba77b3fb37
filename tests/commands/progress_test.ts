// The line that shows the progress of a command.
import assert from "node:assert/strict";
import { type OnStep, ProgressLine, withSteps } from "../../commands/progress.ts";

function start(isTerminal: boolean) {
  let time = 0;
  let output = "";
  const write = (text: string) => void (output += text);
  const line = new ProgressLine({ isTerminal, now: () => time, write, columns: () => 30 });
  return {
    at(ms: number, rows: number) {
      time = ms;
      line.show(() => `${rows} of 1000 rows`);
    },
    clear: () => line.clear(),
    steps: (work: (onStep: OnStep, at: (ms: number) => void) => void) =>
      withSteps((onStep) => Promise.resolve(work(onStep, (ms) => time = ms)), line),
    output: () => output,
  };
}

Deno.test("a terminal shows progress after two seconds, at most four times a second, and no trace at the end", () => {
  const line = start(true);
  line.at(0, 400);
  line.at(1_999, 450);
  assert.equal(line.output(), "");
  line.at(2_500, 500);
  line.at(2_700, 550);
  line.clear();
  line.clear();
  assert.equal(line.output(), "\r\x1b[K500 of 1000 rows\r\x1b[K");
});

Deno.test("a pipe gets no progress", () => {
  const line = start(false);
  line.at(10_000, 500);
  line.clear();
  assert.equal(line.output(), "");
});

Deno.test("work in steps shows how much of each is done, where that is known", async () => {
  const line = start(true);
  await line.steps((onStep, at) => {
    at(5_000);
    onStep("Restoring", 0.429);
    at(6_000);
    onStep("Checking the file", null);
  });
  assert.equal(line.output(), "\r\x1b[KRestoring, 42%\r\x1b[KChecking the file, 0 s\r\x1b[K");
});

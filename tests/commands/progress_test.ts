// The line that shows the progress of a command.
import assert from "node:assert/strict";
import { ProgressLine } from "../../commands/progress.ts";

function start(isTerminal: boolean) {
  let time = 0;
  let output = "";
  const write = (text: string) => void (output += text);
  const line = new ProgressLine({ isTerminal, now: () => time, write, columns: () => 12 });
  return {
    at(ms: number, rows: number) {
      time = ms;
      line.show(() => `${rows} of 1000 rows`);
    },
    clear: () => line.clear(),
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
  assert.equal(line.output(), "\r\x1b[K500 of 1000\r\x1b[K");
});

Deno.test("a pipe gets no progress", () => {
  const line = start(false);
  line.at(10_000, 500);
  line.clear();
  assert.equal(line.output(), "");
});

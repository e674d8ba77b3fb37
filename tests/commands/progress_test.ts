// The line that shows the progress of a command.
import assert from "node:assert/strict";
import { progressLine } from "../../commands/progress.ts";

function start(isTerminal: boolean) {
  let time = 0;
  let output = "";
  const write = (text: string) => void (output += text);
  const progress = progressLine({ isTerminal, now: () => time, write });
  return {
    at(ms: number, rows: number) {
      time = ms;
      progress.show({ about: "copying users", rows, rowsTotal: 1000 });
    },
    end: () => progress.end(),
    output: () => output,
  };
}

Deno.test("a terminal shows progress after two seconds, at most five times a second, and no trace at the end", () => {
  const line = start(true);
  line.at(0, 400);
  line.at(1_999, 450);
  assert.equal(line.output(), "");
  line.at(2_500, 500);
  line.at(2_600, 550);
  line.end();
  line.end();
  assert.equal(line.output(), "\r\x1b[K500 of 1000 rows, 40 a second, copying users\r\x1b[K");
});

Deno.test("a pipe gets no progress", () => {
  const line = start(false);
  line.at(10_000, 500);
  line.end();
  assert.equal(line.output(), "");
});

// Tables on standard output: each row is one line.
import assert from "node:assert/strict";
import { textTable } from "../../commands/text_table.ts";

Deno.test("puts texts on one line, and keeps the joiners of words and emoji", () => {
  const [, ...lines] = textTable(["Name"])([
    ["One\r\n\ttwo"],
    ["می\u200cخواهم"],
    ["👩\u200d🚀"],
    ["\u001b[2J\u202eevil\u2028\u200b"],
  ]);
  assert.deepEqual(lines, ["One two", "می\u200cخواهم", "👩\u200d🚀", "\ufffd[2J\ufffdevil\ufffd\ufffd"]);
});

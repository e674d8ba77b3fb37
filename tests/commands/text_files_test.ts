// Files that people write: editors and spreadsheets on Windows put a byte-order mark in front of them.
import assert from "node:assert/strict";
import { readCustomers } from "../../commands/import/customers.ts";
import { importCommand } from "../../commands/import/import.ts";
import { moveCommand } from "../../commands/move.ts";
import { readAllSettings, readCommandLine } from "../../commands/settings.ts";

const mark = "\ufeff";

async function inFolder(act: (write: (text: string) => string) => Promise<void> | void): Promise<void> {
  const folder = await Deno.makeTempDir();
  let files = 0;
  try {
    await act((text) => {
      const path = `${folder}/${++files}`;
      Deno.writeTextFileSync(path, text);
      return path;
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("skips a byte-order mark in files of settings and secrets", () =>
  inFolder((write) => {
    const secret = write(`${mark}a token with spaces \n`);
    const file = write(`${mark}METRICS_TOKEN_FILE=${secret}\nSIGN_UP=closed\n`);
    const { environment } = readCommandLine(["--env-file", file]);
    assert.equal(environment["METRICS_TOKEN_FILE"], secret);
    assert.equal(environment["SIGN_UP"], "closed");
    const { settings } = readAllSettings({
      MAIL_FROM: "a@example.com",
      SMTP_URL_FILE: write(`${mark}smtp://mail.example.com\n`),
    });
    assert.equal(settings["SMTP_URL"], "smtp://mail.example.com");
  }));

Deno.test("skips a byte-order mark in the files of options", () =>
  inFolder(async (write) => {
    assert.deepEqual([...readCustomers(write(`${mark}cus_1,crm-1\r\n`))], [["cus_1", "crm-1"]]);
    const empty = write(mark);
    const imported = importCommand(["usage", write(""), "--from", "openmeter", "--token-file", empty], {});
    await assert.rejects(imported, { status: 64, message: /operator token is required/ });
    const moved = moveCommand(["--to", "http://127.0.0.1:9", "--to-token-file", empty], {});
    await assert.rejects(moved, { status: 66, message: /is empty/ });
    const missing = `${empty}.no`;
    await assert.rejects(moveCommand(["--to", "http://127.0.0.1:9", "--to-token-file", missing], {}), {
      status: 66,
      message: new RegExp(`^--to-token-file: cannot read ${missing}: `),
    });
  }));

Deno.test("rejects a folder in place of a file to import", () =>
  inFolder(async (write) => {
    const path = write("");
    const folder = path.slice(0, path.lastIndexOf("/"));
    const args = ["usage", folder, "--from", "openmeter", "--url", "http://127.0.0.1:9"];
    for (const more of [[], ["--dry-run"]]) {
      await assert.rejects(
        importCommand([...args, ...more], { GATEHOUSE_OPERATOR_TOKEN: "service_operator_a" }),
        {
          status: 66,
          message: new RegExp(`^cannot read ${folder}: `),
        },
      );
    }
  }));

Deno.test("trims what a spreadsheet writes around customers, and skips its empty rows", () =>
  inFolder((write) => {
    const text = ' cus_1 ,\tcrm-1 \r\n,\r\n \n"cus,2 " , " a ""b"""\r\ncus_1,crm-1\r\n';
    assert.deepEqual([...readCustomers(write(text))], [["cus_1", "crm-1"], ["cus,2", 'a "b"']]);
    assert.throws(() => readCustomers(write(' ," "\n a,\n')), { status: 65, message: /line 1 of / });
  }));

Deno.test("rejects a customer with two external ids, and names both lines", () =>
  inFolder((write) => {
    const path = write('cus_1,crm-1\ncus_2,crm-2\n"cus_1 ",crm-3\n');
    assert.throws(() => readCustomers(path), {
      status: 65,
      message: `--customers: lines 1 and 3 of ${path} give “cus_1” different external ids`,
    });
  }));

// The arguments of `gatehouse import`: what is wrong with them is reported before anything is read or sent.
import assert from "node:assert/strict";
import { readCustomers } from "../../../commands/import/customers.ts";
import { importCommand } from "../../../commands/import/import.ts";

const token = { GATEHOUSE_OPERATOR_TOKEN: "service_operator_secret" };

Deno.test("rejects wrong arguments, and needs a token that is never an argument", async () => {
  const file = await Deno.makeTempFile();
  const rejects = async (args: string[], status: number, message: RegExp, environment = {}) => {
    await assert.rejects(importCommand(["usage", ...args], { ...token, ...environment }), {
      status,
      message,
    });
  };
  await rejects([file], 64, /^--from must be one of openmeter, lago, stripe, gatehouse\.$/);
  await rejects([file, "--from", "csv"], 64, /^--from must/);
  await rejects([file, "--from", "stripe"], 64, /^--product is required: events of stripe/);
  await rejects([file, "--from", "lago", "--product", "a b"], 64, /^--product is not/);
  await rejects([file, "--from", "gatehouse", "--product", "a"], 64, /other systems/);
  await rejects([file, "--from", "openmeter", "--quantity-property", "a="], 64, /METRIC=1/);
  await rejects([file, "--from", "openmeter", "--url", "https://auth.example.com/x"], 64, /^--url must be/);
  await rejects([file, "--from", "openmeter", "--token", "x"], 64, /--token/);
  await rejects([file, "--from", "openmeter"], 64, /operator token is required/, {
    GATEHOUSE_OPERATOR_TOKEN: " ",
  });
  const noToken = ["--token-file", `${file}.no`];
  await rejects([file, "--from", "openmeter", ...noToken], 66, /^--token-file: cannot read/);
  await rejects([`${file}.no`, "--from", "openmeter"], 66, /^cannot read/);
  await rejects([file, "--from", "openmeter"], 78, /BASE_URL/, { BASE_URL: "nowhere" });
  const unreachable = ["--from", "openmeter", "--url", "http://127.0.0.1:9", "--skip-invalid"];
  const event = { id: "1", source: "/tiles", type: "a", specversion: "1.0", subject: "c" };
  await Deno.writeTextFile(file, JSON.stringify({ ...event, time: new Date().toISOString() }));
  await rejects([file, ...unreachable], 75, /^http:\/\/127\.0\.0\.1:9: no response/);
  await Deno.remove(file);
});

Deno.test("reads customers from CSV, and names a line that isn't", async () => {
  const file = await Deno.makeTempFile();
  await Deno.writeTextFile(file, 'cus_1,crm-1\r\n"cus,2","a ""b"""\n\n');
  assert.deepEqual([...readCustomers(file)], [["cus_1", "crm-1"], ["cus,2", 'a "b"']]);
  for (const line of ["a", "a,", ",b", "a,b,c", 'a"b,c']) {
    await Deno.writeTextFile(file, `cus_1,crm-1\n${line}\n`);
    assert.throws(() => readCustomers(file), { status: 65, message: /line 2 of / }, line);
  }
  await Deno.remove(file);
});

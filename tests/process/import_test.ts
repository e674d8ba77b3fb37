// `gatehouse import` and `gatehouse export` with the real program: an import is killed in the middle and continued.
import assert from "node:assert/strict";
import { writeLines } from "../support/meter/imports.ts";
import { runCommand } from "../support/process/command.ts";
import { sendJson } from "../support/process/journey.ts";
import { programCommand } from "../support/process/program.ts";
import { onServer } from "../support/process/scene.ts";
import { poll } from "../support/runner/poll.ts";

const count = 6_000;

const env = { LOG_LEVEL: "warning", HTTP_THREADS: "1" };
const scopes = "usage:read,usage:write,organizations:read,organizations:write";

Deno.test("a killed import continues where it stopped, records each line once, and its export is what was imported", () =>
  onServer({ env }, async ({ folder, baseUrl, run }) => {
    const file = `${folder}/events.ndjson`;
    const lines = Array.from({ length: count }, (_, n) => ({
      event: {
        ...{
          specversion: "1.0",
          id: String(n),
          source: "/products/tiles",
          type: "requests",
          subject: "crm-1",
        },
        ...{
          time: new Date(Date.now() - n * 60_000).toISOString(),
          data: { value: n % 3 === 0 ? "0.1" : 1, n },
        },
      },
      ingestedAt: new Date().toISOString(),
    }));
    await writeLines(file, lines);
    const created = await run("token", "create", "Import", "--scope", scopes);
    const token = created.stdout.trim();
    const organization = await sendJson(baseUrl, "/api/operator/organizations", {
      apiKey: token,
      json: { name: "Northwind Maps", externalId: "crm-1" },
    });
    assert.equal(organization.status, 201, await organization.text());
    const withToken = { ...env, GATEHOUSE_OPERATOR_TOKEN: token };
    const args = ["import", "usage", file, "--from", "openmeter", "--url", baseUrl];
    const gatehouse = (...more: string[]) => runCommand({ folder, env: withToken }, ...args, ...more);
    const sum = async () => {
      const query = "window=total&from=2020-01-01&to=2030-01-01";
      const response = await sendJson(baseUrl, `/api/operator/usage?${query}`, { apiKey: token });
      return (await response.json()).data.map((row: { count: number; sum: number }) => [row.count, row.sum]);
    };

    const dry = await gatehouse("--dry-run");
    assert.deepEqual([dry.status, await sum()], [0, []], dry.stderr);
    assert.match(dry.stdout, /^crm-1 +tiles +requests +6000 +4200\n/m);
    assert.match(dry.stdout, /Nothing was recorded\./);

    const importing = programCommand({ folder, env: withToken, args }, { stdin: "null" }).spawn();
    const lineOf = () => Deno.readTextFile(`${file}.progress`).then((text) => JSON.parse(text).line, () => 0);
    await poll(async () => await lineOf() > 0);
    importing.kill("SIGKILL");
    await importing.output();
    const line = await lineOf();
    assert.ok(line > 0 && line < count, `killed after line ${line}`);

    const resumed = await gatehouse();
    assert.deepEqual([resumed.status, await sum()], [0, [[count, 4_200]]], resumed.stderr);
    assert.match(resumed.stderr, new RegExp(`Continuing after line ${line.toLocaleString("en")}\\.`));
    const exported = await run("export", "records");
    const records = exported.stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(records.map(({ properties }) => properties.n), lines.map((_, n) => String(n)));
    const stranger = JSON.stringify({ ...records[0], externalId: "crm-2" });
    const tokenFile = `${folder}/token`;
    await Deno.writeTextFile(tokenFile, `${token}\n`);
    const piped = await runCommand(
      { folder, env: { ...env, BASE_URL: baseUrl }, stdin: `${JSON.stringify(records[1])}\n${stranger}\n` },
      ...["import", "usage", "-", "--from", "gatehouse", "--token-file", tokenFile, "--skip-invalid"],
    );
    assert.match(piped.stdout, /Imported 1 record: 0 new, 1 recorded before\.\nSkipped 1 line /);
    assert.match(piped.stderr, /^line 2: “externalId”: must be the external id of an organization\.$/m);
  }));

// Tests `gatehouse usage` with the real program, while a server runs and after it has stopped, on both kinds of database.
import assert from "node:assert/strict";
import { runCommand } from "../support/process/command.ts";
import { sendJson, signUpAndRecord } from "../support/process/journey.ts";
import { isReady, killProgram, type ProgramOptions, startProgram } from "../support/process/program.ts";
import { sqldMissing, startSqld } from "../support/database/sqld.ts";

async function declareRegions(options: ProgramOptions, baseUrl: string): Promise<void> {
  const { stdout } = await runCommand(options, "token", "create", "Catalogue", "--scope", "statements:write");
  const metrics = [{ slug: "requests", name: "Requests", dimensions: [["region"]] }];
  const json = { slug: "tiles", name: "Tiles", metrics };
  const response = await sendJson(baseUrl, "/api/operator/products", { apiKey: stdout.trim(), json });
  assert.equal(response.status, 201, await response.text());
}

async function printsUsage(options: ProgramOptions): Promise<void> {
  const program = startProgram(options);
  const usage = (...args: string[]) => runCommand(options, "usage", ...args);
  try {
    await isReady(program);
    const { fullKey } = await signUpAndRecord(program.baseUrl, "ada@example.com");
    await signUpAndRecord(program.baseUrl, "bob@example.com");
    await declareRegions(options, program.baseUrl);
    const inEurope = { productSlug: "tiles", metric: "requests", quantity: 3, properties: { region: "eu" } };
    await sendJson(program.baseUrl, "/api/v1/usage", { apiKey: fullKey, json: inEurope });
    const beside = await usage("--group-by", "organization,metric");
    assert.equal(beside.status, 0, beside.stderr);
    const [head, ...lines] = beside.stdout.trimEnd().split("\r\n");
    assert.equal(head, "start,end,organizationId,organizationName,externalId,metric,sum,count,min,max");
    assert.equal(lines.length, 2, beside.stdout);
    const id = lines[1]?.split(",")[2] ?? "";
    program.kill("SIGTERM");
    await program.ended();
    assert.equal((await usage("--group-by=organization,metric")).stdout, beside.stdout, "without a server");
    const one = await usage("--group-by=organization,metric", "--organization", id);
    assert.equal(one.stdout, [head, lines[1], ""].join("\r\n"));
    const regions = await usage("--group-by=properties.region,metric", "--property=region=eu");
    const [names, sum, ...more] = regions.stdout.trimEnd().split("\r\n");
    assert.equal(names, "start,end,metric,properties.region,sum,count,min,max");
    assert.deepEqual([sum?.split(",").slice(2), more], [["requests", "eu", "3", "1", "3", "3"], []]);
  } finally {
    await killProgram(program);
  }
  const wrong = async (args: string[], status: number, message: RegExp) => {
    const end = await usage(...args);
    assert.deepEqual([end.status, end.stdout], [status, ""], end.stderr);
    assert.match(end.stderr, message);
  };
  await wrong(["--organization", "external:nobody"], 65, /gatehouse usage: --organization names no/);
  await wrong(["--from", "yesterday"], 65, /gatehouse usage: --from must be a date/);
  await wrong(
    ["--group-by", "customer"],
    65,
    /gatehouse usage: --group-by must be one or more of organization/,
  );
  await wrong(
    ["--property", "city=x"],
    65,
    /Usage isn't summed by city. Dimensions: region of tiles\/requests/,
  );
  await wrong(["--property", "eu"], 65, /--property must be a name and a value, such as region=eu/);
  await wrong(["--form", "2026-10-01"], 64, /--form/);
  assert.match((await usage("--help")).stdout, /--group-by/);
}

Deno.test("gatehouse usage prints the sums of the data file, alongside a server and without one", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-usage-" });
  await printsUsage({ folder, env: { LOG_LEVEL: "warning", HTTP_THREADS: "1" } });
  await Deno.remove(folder, { recursive: true });
});

Deno.test({
  name: "gatehouse usage prints the sums of a libSQL server",
  ignore: sqldMissing() !== null,
  fn: async () => {
    const folder = await Deno.makeTempDir({ prefix: "gatehouse-usage-" });
    const server = await startSqld();
    try {
      await printsUsage({ folder, env: { LOG_LEVEL: "warning", DATABASE_URL: server.url } });
    } finally {
      await server.stop();
      await Deno.remove(folder, { recursive: true });
    }
  },
});

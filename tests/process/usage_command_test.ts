// Tests `gatehouse usage` with the real program, while a server runs and after it has stopped, on both kinds of database.
import assert from "node:assert/strict";
import { sendJson, signUpAndRecord } from "../support/process/journey.ts";
import { runHere } from "../support/process/here.ts";
import { remoteTest } from "../support/process/remote.ts";
import { onServer, type Scene, stop } from "../support/process/scene.ts";
import { isFull } from "../support/runner/extent.ts";

async function declareRegions({ options, baseUrl }: Scene): Promise<void> {
  const { stdout } = await runHere(options, "token", "create", "Catalogue", "--scope", "statements:write");
  const metrics = [{ slug: "requests", name: "Requests", dimensions: [["region"]] }];
  const json = { slug: "tiles", name: "Tiles", metrics };
  const response = await sendJson(baseUrl, "/api/operator/products", { apiKey: stdout.trim(), json });
  assert.equal(response.status, 201, await response.text());
}

async function printsUsage(scene: Scene): Promise<void> {
  const { program, options } = scene;
  const usage = (...args: string[]) => runHere(options, "usage", ...args);
  const { fullKey } = await signUpAndRecord(program.baseUrl, "ada@example.com");
  await signUpAndRecord(program.baseUrl, "bob@example.com");
  await declareRegions(scene);
  const inEurope = { productSlug: "tiles", metric: "requests", quantity: 3, properties: { region: "eu" } };
  await sendJson(program.baseUrl, "/api/v1/usage", { apiKey: fullKey, json: inEurope });
  const beside = await usage("--group-by", "organization,metric");
  assert.equal(beside.status, 0, beside.stderr);
  const [head, ...lines] = beside.stdout.trimEnd().split("\r\n");
  assert.equal(head, "start,end,organizationId,organizationName,externalId,metric,sum,count,min,max");
  assert.equal(lines.length, 2, beside.stdout);
  const id = lines[1]?.split(",")[2] ?? "";
  await stop(program);
  assert.equal((await usage("--group-by=organization,metric")).stdout, beside.stdout, "without a server");
  const one = await usage("--group-by=organization,metric", "--organization", id);
  assert.equal(one.stdout, [head, lines[1], ""].join("\r\n"));
  const regions = await usage("--group-by=properties.region,metric", "--property=region=eu");
  const [names, sum, ...more] = regions.stdout.trimEnd().split("\r\n");
  assert.equal(names, "start,end,metric,properties.region,sum,count,min,max");
  assert.deepEqual([sum?.split(",").slice(2), more], [["requests", "eu", "3", "1", "3", "3"], []]);
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

const env = { LOG_LEVEL: "warning" };

Deno.test("gatehouse usage prints the sums of the data file, alongside a server and without one", () =>
  onServer({ env }, printsUsage));

remoteTest(
  "gatehouse usage prints the sums of a libSQL server",
  ({ url }) => onServer({ env: { ...env, DATABASE_URL: url } }, printsUsage),
  { ignore: !isFull },
);

// docs/cloudevents.md: its commands and programs run unchanged, except for the address.
import assert from "node:assert/strict";
import { createTestKey, testApp } from "../../../support/app/app.ts";
// The guide's programs import these by their bare names.
// deno-lint-ignore no-import-prefix
import "npm:@openmeter/sdk@1.0.0-beta.232";
import "../../../support/meter/cloud_events.ts";
import { listAll, unlimited } from "../../../support/meter/usage.ts";

const config = new URL("../../../../deno.json", import.meta.url).pathname;
const packages = { cloudevents: "10.0.0", "@openmeter/sdk": "1.0.0-beta.232" };

testApp(
  "the CloudEvents guide names the version of OpenMeter's SDK that is tested, and what doesn't exist",
  async (test) => {
    const guide = await Deno.readTextFile(new URL("../../../../docs/cloudevents.md", import.meta.url));
    assert.ok(guide.includes(`\`@openmeter/sdk\` ${packages["@openmeter/sdk"]} is tested`));
    for (const path of ["meters", "meters/tokens/query", "customers", "subjects"]) {
      assert.equal((await test.send(`/api/v1/${path}`)).status, 404, path);
    }
  },
);

testApp("the CloudEvents guide works unchanged", async (test) => {
  const guide = await Deno.readTextFile(new URL("../../../../docs/cloudevents.md", import.meta.url));
  const blocks = (language: string) =>
    [...guide.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))].map(([, lines = ""]) =>
      lines
    );
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const statuses: number[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const response = await test.app.fetch(request, { remoteAddr: { hostname: "127.0.0.1" } });
    statuses.push(response.status);
    return response;
  });
  const here = (lines: string) =>
    lines.replaceAll("https://auth.example.com", `http://127.0.0.1:${server.addr.port}`);
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-recipe-" });
  // Other tests of this process have the same environment.
  const run = async (program: string, ...args: string[]) => {
    const { success, stdout, stderr } = await new Deno.Command(program, {
      ...{ args, env: { GATEHOUSE_KEY: apiKey }, stdin: "null" },
    }).output();
    assert(success, new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr));
  };
  try {
    for (const lines of blocks("sh")) await run("sh", "-e", "-c", here(lines));
    assert.deepEqual(statuses.splice(0), [201, 200, 201, 204]);
    // The programs' events happen now.
    test.advance(Date.now() - test.now());
    for (const [n, lines] of blocks("ts").entries()) {
      const program = Object.entries(packages).reduce(
        (text, [name, version]) => text.replace(`from "${name}"`, `from "npm:${name}@${version}"`),
        here(lines),
      );
      const path = `${folder}/${n}.ts`;
      await Deno.writeTextFile(path, program);
      await run(Deno.execPath(), "run", "--no-prompt", "--allow-all", `--config=${config}`, path);
    }
    assert.deepEqual(statuses, [201, 204]);
  } finally {
    await server.shutdown();
    await Deno.remove(folder, { recursive: true });
  }
  const records = await listAll(test, apiKey);
  assert.deepEqual(records.map(({ productSlug, quantity }) => [productSlug, quantity]), [
    ["tiles", 1250],
    ["tiles", 3],
    ["tiles", 1250],
    ["search", 1],
    ["tiles", 2.5],
  ]);
}, unlimited);

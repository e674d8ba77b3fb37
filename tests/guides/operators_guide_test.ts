// docs/operators.md: its commands run in order against the real program.
import assert from "node:assert/strict";
import { operatorScopes } from "../../domain/access/operator_scope.ts";
import { testPassword } from "../support/app/app.ts";
import { installGatehouse, readGuide, runLines } from "../support/runner/guides.ts";
import { sendJson } from "../support/process/journey.ts";
import { onServer } from "../support/process/scene.ts";

const block = await readGuide("operators.md");

Deno.test("the guide names operators, creates tokens and an organization, verifies a key, and revokes a token", () =>
  onServer({}, async ({ folder, baseUrl }) => {
    const json = { name: "Mara", email: "mara@example.com", password: testPassword };
    await sendJson(baseUrl, "/api/auth/sign-up", { json });
    const bin = await installGatehouse(folder);
    const env = { GATEHOUSE: baseUrl, PATH: `${bin}:${Deno.env.get("PATH")}` };
    const run = (lines: string) => runLines(lines, { cwd: folder, env });

    assert.match(await run(block("operators")), /is now an operator[^]*mara@example\.com[^]*no longer/);
    const [token = "", listed = ""] = (await run(`${block("token")}\necho; echo "--- $TOKEN"`)).split("--- ")
      .toReversed();
    assert.equal(JSON.parse(listed).organizations.length, 1);
    const { id } = JSON.parse(await run("gatehouse token list --json"));
    // One token for everything that follows, because each start of the program takes a while.
    const scopes = "organizations:write,statements:write,keys:write,keys:verify";
    const all = (await run(`gatehouse token create Everything --scope ${scopes}`)).trim();
    const withToken = (lines: string) => run(`TOKEN=${all}\n${lines}`);
    const made = (await withToken(block("organization"))).replaceAll("}{", "}\n{").split("\n").filter((
      line,
    ) => line.startsWith("{"));
    const [, changed] = made.map((line) => JSON.parse(line).organization);
    assert.equal(changed.externalId, "cus_8841");
    assert.deepEqual(changed.metadata, { crm: "0065g" });
    const plans = (await withToken(`${block("plan")}\necho\n${block("overrides")}`))
      .split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
    assert.equal(plans[0].plan.limits[0].quantity, 100_000);
    assert.equal(plans[1].organization.overrides.limits[0].quantity, null);
    const prepaid = await readGuide("prepaid.md");
    const { plan } = JSON.parse(await withToken(prepaid("plan")));
    await withToken(`PLAN=${plan.id}\n${prepaid("assign")}`);
    const { grant } = JSON.parse(await withToken(`LIMIT=${plan.limits[0].id}\n${prepaid("grant")}`));
    assert.deepEqual([grant.remaining, grant.status], [5_000, "active"]);
    const refill = JSON.parse(await withToken(`LIMIT=${plan.limits[0].id}\n${prepaid("refill")}`)).grant;
    assert.deepEqual([refill.remaining, refill.every, refill.status], [1_000, "month", "active"]);
    const products = (await withToken(block("products"))).replaceAll("}{", "}\n{").split("\n").map((line) =>
      JSON.parse(line).product
    );
    assert.deepEqual(products.map(({ name, metrics }) => [name, metrics.length]), [["Map tiles", 2], [
      "Tiles",
      2,
    ]]);
    const billing = await readGuide("billing.md");
    const { product } = JSON.parse(await withToken(billing("price")));
    assert.equal(product.metrics[0].unitPrice, "0.0004");
    const { apiKey: { id: keyId }, fullKey } = JSON.parse(await withToken(block("key")));
    const { apiKey } = JSON.parse(await withToken(`KEY_ID=${keyId}\n${block("budget")}`));
    assert.equal(apiKey.budget[0].quantity, 1_000);
    assert.equal(JSON.parse(await run(`KEY=${fullKey}\n${block("verify")}`)).code, "VALID");
    assert.equal(JSON.parse(await withToken(`KEY=${fullKey}\n${block("usage")}`)).code, "VALID");
    const list = JSON.parse(await withToken(`KEY=${fullKey}\n${block("list")}`));
    assert.deepEqual([list.code, list.usageRecords.length], ["VALID", 2]);
    assert.match(await run(`TOKEN_ID=${id}\n${block("revoke")}`), /active[^]*Revoked “Customer lookup”/);
    const after = await sendJson(baseUrl, "/api/operator/organizations", { apiKey: token.trim() });
    assert.equal(after.status, 401);
  }));

Deno.test("the guide lists every scope", async () => {
  const guide = await Deno.readTextFile(new URL("../../docs/operators.md", import.meta.url));
  for (const scope of operatorScopes) assert.ok(guide.includes(`\`${scope}\``), scope);
});

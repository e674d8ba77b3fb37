// docs/move-from-unkey.md: its commands and its script run in order against a server, with keys as Unkey makes them.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { startTestApp } from "../support/app/app.ts";
import { onRealPort } from "../support/app/real_app.ts";
import { unlimited } from "../support/meter/usage.ts";
import { newOperatorToken } from "../support/operators/operators.ts";
import { newOrganization, run } from "../support/people/scene.ts";
import { readGuide, runLines } from "../support/runner/guides.ts";

const block = await readGuide("move-from-unkey.md");
/** The key in the guide, whose hash is in its example of an export. */
const guideKey = "acme_live_3ZaBcDeFgHiJkLmNoPqRsT";

/** Returns a line of an export, as Unkey's database has it, and its key. */
function exported(more: Record<string, unknown> = {}) {
  const key = `acme_live_${randomBytes(16).toString("hex")}`;
  const line = {
    ...JSON.parse(block("key")),
    keyId: `key_${randomBytes(8).toString("hex")}`,
    hash: createHash("sha256").update(key).digest("base64"),
    start: key.slice(0, 14),
    ...more,
  };
  return { key, line };
}

Deno.test("the guide's script imports an export of Unkey, and its keys verify without a change", async () => {
  assert.match(block("token"), /--scope keys:write,keys:verify/);
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-unkey-" });
  const test = await startTestApp(unlimited);
  try {
    const organizationId = await newOrganization(test, "Maps");
    await run(
      test,
      "UPDATE organizations SET external_id = 'customer-4711', api_keys_max = 5000 WHERE id = ?",
      organizationId,
    );
    const { fullToken } = await newOperatorToken(test, ["keys:write", "keys:verify"]);
    const lost = exported({ identity: null }).line;
    const plain = exported({ hash: undefined, name: null, permissions: undefined });
    const disabled = exported({ enabled: 0 });
    const lines = [
      JSON.parse(block("key")),
      ...Array.from({ length: 1_050 }, () => exported().line),
      { ...plain.line, plaintext: plain.key },
      lost,
      disabled.line,
      exported({ permissions: ["Documents.*"], keyId: "key_permission" }).line,
      exported({ expires: 1, keyId: "key_expired" }).line,
      exported({ identity: { externalId: "nobody" }, keyId: "key_stranger" }).line,
    ];
    await Deno.writeTextFile(`${folder}/import-unkey.mjs`, block("script"));
    await Deno.writeTextFile(`${folder}/keys.ndjson`, lines.map((line) => JSON.stringify(line)).join("\n"));
    await onRealPort(test, async (baseUrl) => {
      const env = { GATEHOUSE: baseUrl, TOKEN: fullToken, NO_COLOR: "1" };
      const lines = (text: string) => runLines(text, { cwd: folder, env });
      const first = await lines(`${block("import").trim()} 2>&1`);
      assert.match(first, /\{ imported: 1053, duplicates: 0, failed: 2, skipped: 2 \}/);
      for (
        const reason of [
          `${lost.keyId}: no externalId`,
          "key_permission: permission Documents.*",
          "key_expired: expired",
          "key_stranger: organization_not_found",
        ]
      ) assert.ok(first.includes(`${reason}\n`), `${reason}\n${first}`);
      assert.match(
        await lines(block("import")),
        /\{ imported: 0, duplicates: 1053, failed: 2, skipped: 2 \}/,
      );
      const verify = async (key: string) => JSON.parse(await lines(block("verify").replace(guideKey, key)));
      const verified = await verify(guideKey);
      assert.deepEqual([verified.code, verified.organization.externalId], ["VALID", "customer-4711"]);
      assert.equal((await verify(`${guideKey}U`)).code, "NOT_FOUND");
      assert.equal((await verify(disabled.key)).code, "DISABLED");
      const unnamed = await verify(plain.key);
      assert.deepEqual([unnamed.code, unnamed.apiKey.name], ["INSUFFICIENT_PERMISSIONS", plain.line.keyId]);
    });
  } finally {
    await test.dispose();
    await Deno.remove(folder, { recursive: true });
  }
});

// Stored secrets with the real program: `gatehouse check` reports them, and the server encrypts them.
import assert from "node:assert/strict";
import { Connection } from "../../db/engine/connection.ts";
import { sql } from "../../db/engine/database.ts";
import { Secrets } from "../../services/secrets.ts";
import { runHere } from "../support/process/here.ts";
import { inScene } from "../support/process/scene.ts";
import { poll } from "../support/runner/poll.ts";

const webhook =
  `INSERT INTO webhooks (id, organization, url, events, description, secret, since_seq, created_at)
  VALUES ('whk_1', 0, 'https://a.example', '["*"]', '', 'plain:whsec_canary', 0, 0)`;

Deno.test("check reports secrets that are stored unencrypted, until the server has encrypted them", () =>
  inScene({}, async ({ folder, path, start }) => {
    /** @returns The line about SECRETS_KEY. */
    const check = async (env: Record<string, string>): Promise<string> => {
      const { stdout, stderr } = await runHere({ folder, env }, "check", "--json");
      assert.doesNotMatch(stdout + stderr, /canary/);
      const checks = JSON.parse(stdout).checks as { about: string; verdict: string; saw: string }[];
      const [found] = checks.filter(({ about }) => about === "SECRETS_KEY");
      return `${found?.verdict}: ${found?.saw}`;
    };
    const key = new Uint8Array(32).fill(7);
    const env = { SECRETS_KEY_FILE: `${folder}/key` };
    await Deno.writeTextFile(`${folder}/key`, `${key.toBase64()}\n`);
    await Deno.mkdir(`${folder}/data`);
    assert.equal((await runHere({ folder }, "migrate")).status, 0);
    const connection = new Connection(path, { readOnly: false });
    const stored = () => (connection.first(sql`SELECT secret FROM webhooks`) as { secret: string }).secret;
    connection.exec(webhook);
    assert.equal(await check({}), "warning: Not set: 1 secret stored unencrypted.");
    try {
      const program = await start({ env });
      await poll(() => stored() !== "plain:whsec_canary");
      assert.equal(new Secrets([key]).open("whk_1", stored()), "whsec_canary");
      assert.equal(await check(env), "ok: 1 stored secret encrypted with the newest key.");
      assert.match(await check({}), /^wrong: 1 stored secret can't be read/);
      assert.doesNotMatch(program.output(), /canary/);
    } finally {
      connection.close();
    }
  }));

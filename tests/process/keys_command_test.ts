// Tests `gatehouse keys rotate` with the real program: which keys a server publishes before and after.
import assert from "node:assert/strict";
import { storedInFile } from "../support/meter/stored_usage.ts";
import { inScene, stop } from "../support/process/scene.ts";

const env = { LOG_LEVEL: "warning", SECRETS_KEY: btoa("7".repeat(32)) };

Deno.test("rotates signing keys a day ahead, and with --now withdraws the stolen ones", () =>
  inScene({ env }, async (scene) => {
    const { run, path } = scene;
    /** Starts a server: a running one reads the keys once a minute. */
    const published = async (): Promise<string[]> => {
      const { baseUrl, program } = await scene.start().then((program) => ({ ...program, program }));
      const { keys } = await (await fetch(`${baseUrl}/oauth/jwks`)).json();
      await stop(program);
      return keys.map(({ kid, alg }: Record<string, string>) => `${alg} ${kid}`);
    };
    const first = await published();
    assert.deepEqual(first.map((key) => key.split(" ")[0]).sort(), ["ES256", "RS256"]);

    const ahead = await run("keys", "rotate");
    assert.equal(ahead.status, 0, ahead.stderr);
    assert.match(ahead.stdout, /sign from \d{4}-\d\d-\d\d/);
    const both = await published();
    assert.equal(both.length, 4);
    assert.deepEqual(first.filter((key) => !both.includes(key)), []);
    const read = async (query: string) => {
      const stored = await storedInFile(path);
      try {
        return await stored.read(query);
      } finally {
        await stored.close();
      }
    };
    const signing = await read(
      "SELECT algorithm || ' ' || id AS key FROM oauth_signing_keys WHERE signs_from <= unixepoch() * 1000 + 3600000",
    );
    assert.deepEqual(signing.map(({ key }) => key).sort(), first.toSorted());

    const now = await run("keys", "rotate", "--now");
    assert.equal(now.status, 0, now.stderr);
    assert.match(now.stdout, /ID tokens and JWT access tokens .* rejected\. Sessions/);
    const last = await published();
    assert.equal(last.length, 2);
    assert.deepEqual(last.filter((key) => both.includes(key)), []);
    const entries = await read(
      "SELECT details FROM audit_events WHERE action = 'signing_keys.rotated' ORDER BY at",
    );
    assert.deepEqual(entries.map(({ details }) => JSON.parse(String(details)).change), [
      "the new ones sign in 24 hours",
      "the old ones are rejected",
    ]);

    const unset = await scene.run("keys", "rotate", "--never");
    assert.equal(unset.status, 64, unset.stderr);
  }));

Deno.test("rotates no signing keys without SECRETS_KEY", () =>
  inScene({ env: { LOG_LEVEL: "warning" } }, async (scene) => {
    await scene.run("migrate");
    const { status, stderr } = await scene.run("keys", "rotate");
    assert.equal(status, 65);
    assert.match(stderr, /SECRETS_KEY/);
  }));

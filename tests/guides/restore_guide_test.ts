// The commands of docs/operations.md for a continuous backup and for restoring it, typed as they are written there.
import assert from "node:assert/strict";
import { lastSegmentAt } from "../../db/engine/stream/snapshots.ts";
import { freePort } from "../support/database/sqld.ts";
import { signUpForLoad } from "../support/meter/load.ts";
import { s3Test, storeCredentials } from "../support/network/s3_server.ts";
import { backupIs, backupKey, recordFor } from "../support/process/continuous.ts";
import { sendJson } from "../support/process/journey.ts";
import { sourceCommand } from "../support/process/program.ts";
import { readGuide, runLines } from "../support/runner/guides.ts";
import { poll } from "../support/runner/poll.ts";

/** Starts and stops the server as systemd does. */
const systemctl = (folder: string, baseUrl: string) =>
  `#!/bin/sh -e
case "$1" in
start)
  gatehouse serve > ${folder}/log 2>&1 &
  echo $! > ${folder}/pid
  until curl -fs ${baseUrl}/health/ready > ${folder}/ready; do kill -0 "$(cat ${folder}/pid)"; done ;;
stop)
  kill "$(cat ${folder}/pid)"
  tail --pid "$(cat ${folder}/pid)" -f ${folder}/log > ${folder}/tail ;;
esac
`;

s3Test("a lost disk comes back, and a mistake is undone, with the commands of the runbook", async (store) => {
  const block = await readGuide("operations.md");
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-runbook-" });
  const baseUrl = `http://localhost:${freePort()}`;
  let moment = "";
  const here = (text: string) =>
    text.replaceAll("s3://company-backups/", "s3://copies/").replaceAll(
      /\/(etc|var\/lib)\/gatehouse\//g,
      `${folder}/$1/`,
    )
      .replace("2026-11-29T14:30:00Z", () => moment);
  const run = (lines: string) =>
    runLines(lines, { cwd: folder, env: { PATH: `${folder}/bin:${Deno.env.get("PATH")}` } });
  const type = (name: string) => run(here(block(name)));
  const pid = async () => Number(await Deno.readTextFile(`${folder}/pid`));
  try {
    for (const name of ["bin", "etc", "var/lib"]) await Deno.mkdir(`${folder}/${name}`, { recursive: true });
    const program = sourceCommand().map((word) => `'${word}'`).join(" ");
    await Deno.writeTextFile(
      `${folder}/bin/gatehouse`,
      `#!/bin/sh\nexec ${program} "$@" --env-file ${folder}/etc/gatehouse.env\n`,
      { mode: 0o755 },
    );
    await Deno.writeTextFile(`${folder}/bin/systemctl`, systemctl(folder, baseUrl), { mode: 0o755 });
    const { accessKeyId, secretAccessKey } = storeCredentials;
    for (
      const [name, text] of [["s3-id", accessKeyId], ["s3-secret", secretAccessKey], [
        "backup-key",
        backupKey,
      ]]
    ) {
      await Deno.writeTextFile(`${folder}/etc/${name}`, `${text}\n`);
    }
    const settings = [
      `DATABASE_URL=file:${folder}/var/lib/gatehouse.db`,
      `PORT=${new URL(baseUrl).port}`,
      "HTTP_THREADS=1",
      `BACKUP_S3_ENDPOINT=${store.endpoint}`,
    ];
    await Deno.writeTextFile(
      `${folder}/etc/gatehouse.env`,
      `${settings.join("\n")}\n${here(block("settings"))}`,
    );
    await run("systemctl start gatehouse");
    const { apiKeys: [apiKey = ""], cookie } = await signUpForLoad(baseUrl);
    await backupIs(baseUrl, "ok");
    const count = async () => {
      const response = await sendJson(baseUrl, "/api/v1/usage", { apiKey });
      return (await response.json()).data.map(({ count }: { count: number }) => count);
    };
    /** @returns When a segment ended that has the record. */
    const record = async (key: string) => {
      await recordFor(baseUrl, { apiKey, key });
      const recordedAt = Date.now();
      const copiedUntil = async () => (await lastSegmentAt(store.target))?.endedAt ?? 0;
      await poll(async () => await copiedUntil() >= recordedAt);
      return new Date(await copiedUntil()).toISOString();
    };
    moment = await record("kept");
    await record("mistake");
    assert.deepEqual(await count(), [2]);

    await type("moment");
    assert.deepEqual(await count(), [1]);
    const me = await (await sendJson(baseUrl, "/api/auth/me", { cookie })).json();
    assert.equal(me.authenticated, false);
    await backupIs(baseUrl, "ok");
    await record("later");

    Deno.kill(await pid(), "SIGKILL");
    await Deno.remove(`${folder}/var/lib`, { recursive: true });
    await Deno.mkdir(`${folder}/var/lib`);
    assert.match(await type("lost"), /^Newest point: [^]*^Restored /m);
    assert.deepEqual(await count(), [2]);
  } finally {
    await pid().then((one) => Deno.kill(one, "SIGKILL"), () => {});
    await Deno.remove(folder, { recursive: true });
  }
});

// Checks each file in packaging/ with the program that reads it. The image is linted but not built, because there may be
// no container engine.
import assert from "node:assert/strict";
// deno-lint-ignore no-import-prefix -- test packages stay out of the binary
import { validate } from "npm:dockerfile-utils@0.16.3";
// deno-lint-ignore no-import-prefix -- as above
import { parse } from "npm:yaml@2.9.1";
import { settings } from "../../config.ts";
import { collectAll, metricsText } from "../../routes/metric_set.ts";
import { createMetrics } from "../../routes/metrics.ts";
import { processMetrics } from "../../routes/process_metrics.ts";
import { StreamState } from "../../services/stream_state.ts";
import { startTestApp } from "../support/app/app.ts";
import { isMissing } from "../support/runner/needs.ts";

const root = new URL("../../", import.meta.url).pathname;
const read = (path: string): Promise<string> => Deno.readTextFile(`${root}packaging/${path}`);

async function run(
  command: string,
  args: readonly string[],
  options: { stdin?: string } = {},
): Promise<string> {
  const child = new Deno.Command(command, {
    args: [...args],
    cwd: root,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  await new Blob([options.stdin ?? ""]).stream().pipeTo(child.stdin).catch(() => {});
  const { success, stdout, stderr } = await child.output();
  const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert.ok(success, `${command} ${args.join(" ")}:\n${text}`);
  return text;
}

Deno.test({
  name: "systemd accepts the unit and rates its exposure at most 2.0",
  ignore: isMissing("systemd-analyze"),
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "gatehouse-unit-" });
    try {
      const unit = `${folder}/gatehouse.service`;
      // systemd checks that the program exists, so use any other one.
      const text = await read("systemd/gatehouse.service");
      await Deno.writeTextFile(
        unit,
        text.replace("ExecStart=/usr/local/bin/gatehouse", "ExecStart=/bin/true"),
      );
      assert.equal((await run("systemd-analyze", ["verify", "--man=no", unit])).trim(), "");
      await run("systemd-analyze", ["security", "--offline=true", "--threshold=20", unit]);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test("the unit restarts except after invalid settings, and waits for a graceful stop", async () => {
  const unit = await read("systemd/gatehouse.service");
  assert.match(unit, /^RestartPreventExitStatus=78$/m);
  assert.match(unit, /^TimeoutStopSec=15s$/m);
});

Deno.test("the unit creates the folders of the data file and of the backups", async () => {
  const [, names = ""] = /^StateDirectory=(.+)$/m.exec(await read("systemd/gatehouse.service")) ?? [];
  const folders = names.split(" ").map((name) => `/var/lib/${name}`);
  const env = await read("systemd/gatehouse.env");
  const [, data = ""] = /^DATABASE_URL=file:(.+)\/[^/]+$/m.exec(env) ?? [];
  const [, backups = ""] = /^BACKUP_DIR=(.+)$/m.exec(env) ?? [];
  assert.deepEqual(folders, [data, backups]);
});

Deno.test("the image doesn't run as root, and the Dockerfile passes the linter", async () => {
  const dockerfile = await read("container/Dockerfile");
  assert.deepEqual(
    validate(dockerfile).map(({ message, range }) => `${range.start.line + 1}: ${message}`),
    [],
  );
  assert.match(dockerfile, /^USER 65532:65532$/m);
  const pinned = /version=(\S+)/.exec(await Deno.readTextFile(`${root}denow`))?.[1];
  assert.ok(
    dockerfile.includes(`FROM denoland/deno:${pinned} AS build`),
    "the image must build with the pinned Deno",
  );
});

Deno.test("the compose file makes the container read-only, drops capabilities, and leaves space for the native add-on", async () => {
  const { services, networks } = parse(await read("container/compose.yaml"));
  const { gatehouse } = services;
  assert.equal(gatehouse.read_only, true);
  assert.deepEqual(gatehouse.cap_drop, ["ALL"]);
  assert.deepEqual(gatehouse.security_opt, ["no-new-privileges:true"]);
  assert.match(gatehouse.tmpfs[0], /^\/tmp:exec,/);
  assert.equal(gatehouse.ports, undefined);
  assert.equal(gatehouse.environment.TRUSTED_PROXIES, networks.proxied.ipam.config[0].subnet);
});

Deno.test({
  name: "Caddy accepts the Caddyfile",
  ignore: isMissing("caddy"),
  fn: async () => {
    await run("caddy", ["validate", "--adapter", "caddyfile", "--config", "packaging/container/Caddyfile"]);
  },
});

Deno.test("packaging uses only known settings", async () => {
  const texts = [await read("systemd/gatehouse.env"), await read("container/compose.yaml")];
  const unit = [...(await read("systemd/gatehouse.service")).matchAll(/^Environment=(\w+)=/gm)].map((
    [, name],
  ) => name);
  const named = texts.flatMap((text) =>
    [...text.matchAll(/^[\s#]*([A-Z][A-Z_]+)[=:] ?\S/gm)].map(([, name]) => name)
  );
  const known = new Set(Object.keys(settings).flatMap((name) => [name, `${name}_FILE`]));
  assert.deepEqual([...unit, ...named].filter((name) => !known.has(name ?? "")), []);
  assert.ok(named.length > 5);
});

Deno.test({
  name: "promtool accepts the alert rules, and they fire as expected",
  ignore: isMissing("promtool"),
  fn: async () => {
    await run("promtool", ["check", "rules", "packaging/prometheus/alerts.yaml"]);
    await run("promtool", ["test", "rules", "packaging/prometheus/alerts_test.yaml"]);
  },
});

Deno.test("alerts and the dashboard use only existing metrics, and each alert links to the runbook", async () => {
  const test = await startTestApp();
  let known: Set<string>;
  try {
    const { services, parts, now: clock } = test;
    const backups = () => ({ lastAt: null, failures: 0 });
    const ofProcess = processMetrics({
      parts,
      services,
      backups,
      stream: new StreamState(),
      version: "0",
      clock,
    });
    const text = metricsText(await collectAll([ofProcess, createMetrics(services).collect]));
    known = new Set(
      [...text.matchAll(/^# TYPE (\S+) (\S+)/gm)].flatMap(([, name = "", type]) =>
        type === "histogram" ? ["_bucket", "_sum", "_count"].map((end) => name + end) : [name]
      ),
    );
  } finally {
    await test.dispose();
  }
  known.add("up");
  const { groups } = parse(await read("prometheus/alerts.yaml"));
  const runbook = await Deno.readTextFile(`${root}docs/operations.md`);
  const asked = new Set<string>();
  const names = /\b(?:gatehouse|process)_[a-z_]+|\bup\b/g;
  for (const { expr, annotations } of groups[0].rules) {
    for (const [name] of expr.matchAll(names)) asked.add(name);
    const [, heading = "none"] = /^docs\/operations\.md: (.+)$/.exec(annotations.runbook) ?? [];
    assert.ok(runbook.includes(`### ${heading}\n`), `the runbook lacks “${heading}”`);
  }
  for (const { targets = [] } of JSON.parse(await read("grafana/gatehouse.json")).panels) {
    for (const { expr } of targets) for (const [name] of expr.matchAll(names)) asked.add(name);
  }
  assert.ok(asked.size > 10);
  assert.deepEqual([...asked].filter((name) => !known.has(name)), []);
});

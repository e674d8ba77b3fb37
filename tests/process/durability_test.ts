// What is acknowledged survives the loss of power: files are synced before they are renamed, and folders afterwards. Under strace.
import assert from "node:assert/strict";
import { isMissing } from "../support/runner/needs.ts";
import { sourceCommand } from "../support/process/program.ts";
import { inScene } from "../support/process/scene.ts";
import { python, pythonPackage } from "../support/client/python_meter.ts";
import { CallOrder, straceMissing, traceCalls } from "../support/process/system_calls.ts";

const ignore = straceMissing();

/** Defines a test with a folder of its own. */
function durable(name: string, test: (folder: string) => Promise<void>, ignored = false): void {
  Deno.test({
    name,
    ignore: ignore || ignored,
    fn: () => inScene({}, async ({ folder }) => test(await Deno.realPath(folder))),
  });
}

async function trace(...[command, options]: Parameters<typeof traceCalls>): Promise<CallOrder> {
  const { calls, code, output } = await traceCalls(command, options);
  assert.equal(code, 0, output);
  return new CallOrder(calls);
}

const gatehouse = (folder: string, ...args: string[]) =>
  trace([...sourceCommand(), ...args], {
    cwd: folder,
    env: { DATABASE_URL: `file:${folder}/gatehouse.db` },
  });

durable(
  "a backup, a restored database and the former one are on disk when the command says so",
  async (folder) => {
    await gatehouse(folder, "migrate");
    const backup = await gatehouse(folder, "backup", `${folder}/backup.db`);
    backup.isMoved(backup.renamed("/backup.db"), { before: backup.output("Wrote") });
    const order = await gatehouse(folder, "restore", `${folder}/backup.db`);
    const restored = order.renamed("/gatehouse.db");
    order.isMoved(restored, { before: order.output("Restored") });
    const former = order.renamed("before-restore-.*");
    order.hasName(former.paths[1] ?? "", { after: former, before: restored });
  },
);

/** The meter of a language, and the lines of its scripts. */
interface Client {
  readonly name: string;
  readonly isMissing: boolean;
  /** Runs a script with a meter for this address and spool. */
  run(script: readonly string[], url: string, spool: string): Promise<CallOrder>;
  readonly record: string;
  readonly sync: string;
  /** Closes the meter. What can't be sent within so many seconds is left. */
  close(seconds: number): string;
  /** Lines that put a file in the place of the spool, and remove it. */
  readonly block: string;
  readonly unblock: string;
}

const index = new URL("../../packages/client/src/index.ts", import.meta.url).href;
const options = (url: string, spool: string) => JSON.stringify({ url, spool });

const clients: readonly Client[] = [
  {
    name: "TypeScript",
    isMissing: false,
    run: (script, url, spool) =>
      trace([
        Deno.execPath(),
        "eval",
        "--no-config",
        [
          `import { Meter } from "${index}";`,
          `const spool = ${JSON.stringify(spool)};`,
          `const meter = () => new Meter({ ...${options(url, spool)}, apiKey: "k", onProblem() {} });`,
          ...script,
        ].join("\n"),
      ], { cwd: "/" }),
    record: `const one = meter(); one.record({ product: "p", metric: "m" });`,
    sync: `console.log("synced", await one.sync());`,
    close: (seconds) =>
      `await one.close({ timeoutMs: ${seconds} * 1_000 }); console.log("closed", one.stats().rejected);`,
    block: `Deno.writeTextFileSync(spool, "");`,
    unblock: `Deno.removeSync(spool);`,
  },
  {
    name: "Python",
    isMissing: isMissing("python3"),
    run: (script, url, spool) =>
      trace([
        python,
        "-c",
        [
          "import os, gatehouse",
          `spool = ${JSON.stringify(spool)}`,
          `meter = lambda: gatehouse.Meter(**${options(url, spool)}, api_key="k", on_problem=lambda _: None)`,
          ...script,
        ].join("\n"),
      ], {
        cwd: "/",
        env: { PYTHONPATH: pythonPackage, PYTHONDONTWRITEBYTECODE: "1" },
      }),
    record: `one = meter(); one.record("p", "m")`,
    sync: `print(f"synced {one.sync()}", flush=True)`,
    close: (seconds) => `one.close(timeout=${seconds}); print(f"closed {one.stats().rejected}", flush=True)`,
    block: `open(spool, "w").close()`,
    unblock: `os.remove(spool)`,
  },
];

const unavailable = () => new Response("", { status: 503 });
const rejects = () =>
  Response.json({ error: { code: "validation_failed", message: "Invalid.", details: [] } }, { status: 422 });

/** Defines a test that runs a script with a server that responds to all records in one way. */
function durableRecord(
  promise: string,
  client: Client,
  { script, check, respond = unavailable }: {
    script: readonly string[];
    check: (order: CallOrder, spool: string) => void;
    respond?: () => Response;
  },
): void {
  durable(`${client.name}: ${promise}`, async (folder) => {
    const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, respond);
    try {
      const spool = `${folder}/spool`;
      check(await client.run(script, `http://127.0.0.1:${server.addr.port}`, spool), spool);
    } finally {
      await server.shutdown();
    }
  }, client.isMissing);
}

const releasesAtClose = (order: CallOrder) =>
  order.isMoved(order.renamed("/released-.*"), { before: order.output("closed") });

for (const client of clients) {
  durableRecord("a synced record is on disk, in a folder that is on disk", client, {
    script: [client.record, client.sync, client.close(0)],
    check(order, spool) {
      const before = order.output("synced");
      assert.match(before.text, /true/i);
      const path = order.written("spool/.*jsonl");
      order.isOnDisk(path, before);
      order.hasName(path, { before });
      order.hasName(spool, { before });
      releasesAtClose(order);
    },
  });

  durableRecord("a record that waited in memory is on disk after close()", client, {
    script: [client.block, client.record, client.unblock, client.close(0)],
    check: releasesAtClose,
  });

  durableRecord("a rejected record is on disk before it leaves the spool", client, {
    script: [client.record, client.close(10)],
    respond: rejects,
    check(order) {
      assert.match(order.output("closed").text, /1/);
      const rejected = order.written("/rejected.jsonl");
      const before = order.removed("spool/(?!rejected).*jsonl");
      order.isOnDisk(rejected, before);
      order.hasName(rejected, { before });
    },
  });
}

const [typescript = assert.fail()] = clients;
durableRecord("a record of a request that close() finds under way is on disk after it", typescript, {
  script: [
    typescript.record,
    `const recording = setInterval(() => one.record({ product: "p", metric: "m" }), 10);`,
    typescript.close(0),
    "clearInterval(recording);",
  ],
  check: releasesAtClose,
});

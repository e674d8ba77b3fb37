// gatehouse.py as the guides show it, docs/metering.md and docs/client.md: the download, the first lines, the application and the
// client. Also its syntax and the uses that it rejects.
import assert from "node:assert/strict";
import { usageOf } from "../support/client/meter_line.ts";
import { metered, type Scene } from "../support/client/meter_scene.ts";
import { drive, nowhere, python, pythonEnv, pythonPackage } from "../support/client/python_meter.ts";
import { freePort } from "../support/database/sqld.ts";
import { newOperatorToken } from "../support/operators/operators.ts";
import { readExamples, readGuide, runLines, startCommand } from "../support/runner/guides.ts";
import { poll } from "../support/runner/poll.ts";
import { isMissing } from "../support/runner/needs.ts";

const block = await readGuide("metering.md");
const client = await readGuide("client.md");
const source = readExamples("metering");

/** @returns A command of the guide with the Python of the tests. */
const inDebian = (command: string) => command.replace("python3", python);

const onThisMachine = (text: string, { line, key }: Scene) =>
  text.replaceAll("https://auth.example.com", line.url).replace("service_live_…", key);

async function download(scene: Scene): Promise<void> {
  await runLines(onThisMachine(block("download gatehouse.py"), scene), { cwd: scene.folder });
}

async function recordsFirstLines(scene: Scene): Promise<void> {
  const { test, key, folder } = scene;
  await download(scene);
  await Deno.writeTextFile(`${folder}/first.py`, onThisMachine(block("record with Python"), scene));
  await runLines(inDebian("python3 first.py"), { cwd: folder });
  assert.deepEqual(await usageOf(test, key), { bytes: [17_250, 1], requests: [1, 1] });
}

/** The application is used while Gatehouse is away, killed, started again, and stopped. */
async function metersRequests(scene: Scene): Promise<void> {
  const { test, line, key, folder } = scene;
  await download(scene);
  await line.cut();
  const port = String(freePort());
  const env = { GATEHOUSE_URL: line.url, GATEHOUSE_KEY: key, PORT: port, PYTHONDONTWRITEBYTECODE: "1" };
  const use = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/`).catch(() => null);
    return await response?.text() === "Here is your tile.\n";
  };
  await Deno.writeTextFile(`${folder}/app.py`, source("app.py"));
  const start = () => startCommand(inDebian(block("start app.py")), { cwd: folder, env });
  let app = start();
  try {
    await poll(use);
    for (let i = 0; i < 2; i++) assert.ok(await use());
    await app.stop("SIGKILL");
    line.open();
    app = start();
    await poll(use);
    assert.ok(await use());
    assert.equal(await app.stop(), 0, app.output());
  } finally {
    await app.stop("SIGKILL");
  }
  assert.deepEqual(await usageOf(test, key), { requests: [5, 5] }, app.output());
}

async function checksSessionsAndKeys(scene: Scene): Promise<void> {
  const { test, key, folder } = scene;
  const { fullToken } = await newOperatorToken(test);
  await Deno.writeTextFile(`${folder}/guide.py`, onThisMachine(client("Python"), scene));
  const env = {
    ...pythonEnv,
    GATEHOUSE_OPERATOR_TOKEN: fullToken,
    CUSTOMERS_KEY: key,
    HTTP_COOKIE: "theme=dark",
  };
  const printed = await runLines(`${python} guide.py`, { cwd: folder, env });
  assert.match(printed, /^Sign in first.\nValid, of \S/);
  assert.deepEqual(await usageOf(test, key), { requests: [1, 1] });
}

async function rejectsMisuse({ line }: Scene): Promise<void> {
  const driven = drive({ url: nowhere, api_key: "unused" });
  const create = `gatehouse.Gatehouse(url="${line.url}"`;
  await driven.run('os.environ.pop("GATEHOUSE_OPERATOR_TOKEN", None)');
  const { result } = await driven.run(`${create}).verify("x")`);
  assert.match(String(result), /^raised ValueError.*GATEHOUSE_OPERATOR_TOKEN/);
  const incomplete = [
    'product="tiles"',
    'metric="requests"',
    "record=True",
    'product="a", metric="b", quantity=-1',
  ];
  for (const usage of incomplete) {
    const { result } = await driven.run(`${create}, operator_token="t").verify("x", ${usage})`);
    assert.match(String(result), /^raised ValueError/, usage);
  }
  await driven.kill();
}

const ignore = isMissing("python3");

metered(
  "gatehouse.py",
  ignore ? {} : {
    "records the first lines of the guide": recordsFirstLines,
    "meters every request of the guide's application once": metersRequests,
    "checks sessions and keys as the guide shows": checksSessionsAndKeys,
    "rejects usage that is incomplete, and verify() without a token": rejectsMisuse,
  },
);

Deno.test({ name: "gatehouse.py has the syntax of Python 3.9", ignore }, async () => {
  const script = "import ast, sys; ast.parse(open(sys.argv[1]).read(), feature_version=(3, 9))";
  await runLines(`${python} -c '${script}' ${pythonPackage}gatehouse.py`, { cwd: "/" });
});

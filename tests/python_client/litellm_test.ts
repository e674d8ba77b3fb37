// examples/litellm/gatehouse_litellm.py with Debian's Python and the real program. LiteLLM itself isn't installed: tests/support/litellm
// calls the handler as LiteLLM's proxy does.
import assert from "node:assert/strict";
import { python, pythonPackage } from "../support/client/python_meter.ts";
import { onServer, type Scene } from "../support/process/scene.ts";
import { isMissing } from "../support/runner/needs.ts";

const root = new URL("../../", import.meta.url).pathname;
const support = `${root}tests/support/litellm`;

/** A customer with a limit for tokens, whose calls a proxy meters. */
interface Customer {
  /** Runs a scenario of tests/support/litellm/scenarios.py. */
  run(scenario: string): Promise<unknown>;
  /** Quantities by metric, type and model. */
  used(): Promise<Record<string, number[]>>;
  /** Reads how much of the limit is used, and how much is held. */
  standing(): Promise<[used: number, held: number]>;
  /** The status of each hold, oldest first. */
  holds(): Promise<string[]>;
}

/** Of the test, and of the handler. */
interface Tokens {
  readonly admin: string;
  readonly handler: string;
}

async function createTokens({ run }: Scene): Promise<Tokens> {
  const create = async (scopes: string) => {
    const { stdout } = await run("token", "create", "LiteLLM", "--scope", scopes);
    return stdout.trim().split("\n").at(-1) ?? "";
  };
  const admin = await create("organizations:write,keys:write,usage:read");
  return { admin, handler: await create("usage:write") };
}

async function customer(
  { folder, baseUrl }: Scene,
  { admin, handler }: Tokens,
  externalId: string,
): Promise<Customer> {
  const call = async (path: string, token: string, json?: unknown, method = "POST") => {
    const response = await fetch(`${baseUrl}${path}`, {
      method: json === undefined ? "GET" : method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    });
    const body = await response.json();
    assert.ok(response.ok, JSON.stringify(body));
    return body;
  };
  const organization = `/api/operator/organizations/external:${externalId}`;
  await call("/api/operator/organizations", admin, { name: externalId, externalId });
  const limit = { productSlug: "models", metric: "tokens", per: "total", quantity: 5_000, mode: "hard" };
  await call(organization, admin, { overrides: { limits: [limit] } }, "PATCH");
  const { fullKey } = await call(`${organization}/api-keys`, admin, { name: "Reader" });
  return {
    async run(scenario) {
      const { code, stdout, stderr } = await new Deno.Command(python, {
        args: [`${support}/scenarios.py`, folder, scenario, externalId],
        env: {
          GATEHOUSE_URL: baseUrl,
          GATEHOUSE_OPERATOR_TOKEN: handler,
          PYTHONDONTWRITEBYTECODE: "1",
        },
      }).output();
      const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
      assert.equal(code, 0, text(stderr));
      return JSON.parse(text(stdout));
    },
    async used() {
      const { usageRecords } = await call("/api/v1/usage/records?limit=100", fullKey);
      const all: [string, number][] = usageRecords.map((
        { metric, quantity, properties }: {
          metric: string;
          quantity: number;
          properties: { type?: string; model?: string } | null;
        },
      ) => [[metric, properties?.type, properties?.model].filter(Boolean).join(" "), quantity]);
      const groups = Map.groupBy(all.toReversed(), ([name]) => name);
      return Object.fromEntries([...groups].map(([name, rows]) => [name, rows.map(([, each]) => each)]));
    },
    async standing() {
      const { limits: [limit] } = await call("/api/v1/limits", fullKey);
      return [limit.used, limit.held];
    },
    async holds() {
      const { holds } = await call("/api/v1/holds?limit=100", fullKey);
      return holds.map(({ status }: { status: string }) => status).toReversed();
    },
  };
}

Deno.test({
  name: "the handler for LiteLLM",
  ignore: isMissing("python3"),
  fn: (t) =>
    onServer({ env: { LOG_LEVEL: "warning" } }, async (scene) => {
      await Deno.copyFile(`${pythonPackage}gatehouse.py`, `${scene.folder}/gatehouse.py`);
      await Deno.copyFile(
        `${root}examples/litellm/gatehouse_litellm.py`,
        `${scene.folder}/gatehouse_litellm.py`,
      );
      const configuration = "litellm_settings:\n  callbacks: gatehouse_litellm.handler\n";
      await Deno.writeTextFile(`${scene.folder}/config.yaml`, configuration);
      const tokens = await createTokens(scene);
      for (const [name, act] of Object.entries(steps)) {
        const externalId = `cus_${name.split(" ", 2).join("_")}`;
        await t.step(name, async () => act(await customer(scene, tokens, externalId)));
      }
    }),
});

const unavailable = [503, "budget_unavailable", "The budget can't be checked. Try again later.", null];

const steps: Record<string, (customer: Customer) => Promise<void>> = {
  async "admits calls up to a hard limit exactly, and settles them with their real use"(customer) {
    const { admitted, outcomes } = await customer.run("budget") as { admitted: number; outcomes: unknown[] };
    // Each of 20 simultaneous calls holds 500 tokens of 5,000.
    assert.equal(admitted, 10);
    const reason = "This usage exceeds a limit of the organization or of the API key.";
    const denied = outcomes.filter((each) => each !== 200);
    assert.deepEqual(denied, Array(10).fill([429, "limit_exceeded", reason, "5"]));
    assert.deepEqual(await customer.used(), {
      "tokens input small": Array(10).fill(90),
      "tokens output small": Array(10).fill(300),
      "micro_dollars small": Array(10).fill(690),
    });
    assert.deepEqual(await customer.standing(), [3_900, 0]);
  },
  async "releases a call that failed, and settles one that succeeds after two failed attempts"(customer) {
    assert.deepEqual(await customer.run("failures"), [500, 200]);
    assert.deepEqual(await customer.holds(), ["released", "settled"]);
    assert.deepEqual(await customer.used(), {
      "tokens input small": [90],
      "tokens output small": [300],
      "micro_dollars small": [12.3],
    });
  },
  async "settles whole, broken, aborted and closed streams, and releases one that delivered nothing"(
    customer,
  ) {
    assert.deepEqual(await customer.run("streams"), [2, 500, 500]);
    const statuses = ["settled", "settled", "released", "settled", "settled"];
    assert.deepEqual(await customer.holds(), statuses);
    // The whole one as the model says, the others with the prompt's 100 bytes and what was delivered.
    assert.deepEqual(await customer.used(), {
      "tokens input small": [90, 100, 100, 100],
      "tokens output small": [30, 60, 30, 30],
      "micro_dollars small": [150, 220, 160, 160],
    });
    assert.deepEqual((await customer.standing())[1], 0);
  },
  async "releases holds that come too late, and prefers LiteLLM's numbers of an aborted stream"(
    customer,
  ) {
    assert.deepEqual(await customer.run("leaves"), [unavailable, 0, 0]);
    assert.deepEqual(await customer.holds(), ["released", "released", "settled"]);
    assert.deepEqual(await customer.used(), {
      "tokens input small": [90],
      "tokens output small": [7],
      "micro_dollars small": [104],
    });
  },
  async "settles once though responses are lost and events repeat, and ignores forged events"(customer) {
    assert.deepEqual(await customer.run("repeats"), ["settled", "settled"]);
    assert.deepEqual(await customer.holds(), ["settled"]);
    assert.deepEqual(await customer.standing(), [390, 0]);
  },
  async "finds the customer of a call, and says why it rejects one"(customer) {
    assert.deepEqual(await customer.run("denials"), {
      unknown: [403, "subject_unknown", "Unknown customer: nobody.", null],
      missing: [403, "subject_missing", "No customer: set user or user_id or metadata.customer.", null],
      alias: 200,
      metadata: 200,
      files: 200,
      forged: 200,
      messages: 200,
      responses: 200,
      cached: 200,
    });
    // No model is used for a cached response, and none to list files.
    assert.deepEqual(await customer.holds(), [...Array(5).fill("settled"), "released"]);
    assert.deepEqual(await customer.standing(), [100, 0]);
  },
  async "fails closed while Gatehouse is away, or open and records later"(customer) {
    // A token that is wrong is no reason to serve.
    assert.deepEqual(await customer.run("away"), [unavailable, 200, unavailable, true]);
    assert.deepEqual(await customer.holds(), []);
    assert.deepEqual(await customer.used(), {
      "tokens input small": [90],
      "tokens output small": [300],
      "micro_dollars small": [500_000],
    });
  },
  async "holds and settles exact amounts"(customer) {
    const usage = (prompt: string, output: string, cost: string) => [
      ["tokens", "input", prompt],
      ...output === "" ? [] : [["tokens", "output", output]],
      ["micro_dollars", null, cost],
    ];
    assert.deepEqual(await customer.run("amounts"), {
      held: [
        // Three answers of 100 tokens, and no known price.
        usage("18", "300", "795"),
        usage("3", "", "3"),
        // The image counts 7 tokens.
        usage("29", "5", "39"),
        usage("3", "6", "22.5"),
      ],
      settled: [
        usage("9", "3", "30"),
        usage("3", "", "0.02"),
        usage("9", "3", "300000"),
        usage("9", "3", "7000000"),
      ],
      // The maximum is set where the client had none.
      sent: [100, null, 5, 5],
    });
    assert.deepEqual((await customer.used())["micro_dollars small"], [0.02, 300_000]);
  },
};

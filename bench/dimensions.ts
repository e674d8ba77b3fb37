// Measures what dimensions cost: the processor time of recording without HTTP, the disk and memory for many distinct values, and the time to
// read a month by day and value. Usage: ./denow run -A bench/dimensions.ts [cpu|values|month] [ROUNDS]
import { cpuUsage } from "node:process";
import { printLine } from "./settings.ts";
import type { JobContext } from "../services/reports/job_context.ts";
import { readUsageSums } from "../services/meter/jobs/usage_sums.ts";
import { createTestKey, startTestApp, type TestApp } from "../tests/support/app/app.ts";
import { asOperator } from "../tests/support/operators/operator_api.ts";
import { newOperatorToken } from "../tests/support/operators/operators.ts";

const connections = 128;
const requestsPerRound = 4_000;
const [part = "cpu", rounds = 5] = [Deno.args[0], Number(Deno.args[1] ?? 5)];

interface Site {
  readonly test: TestApp;
  readonly apiKey: string;
  readonly valueOf: (n: number) => string;
  readonly cpuUs: number[];
  readonly organizationId: string;
}

async function openSite(
  dimensions: string[][],
  valueOf: Site["valueOf"],
  declared = dimensions.length > 0,
): Promise<Site> {
  const test = await startTestApp({ API_KEY_REQUESTS_PER_SECOND: "0" });
  const { fullToken } = await newOperatorToken(test, ["statements:write"]);
  const metrics = [{ slug: "requests", name: "Requests", dimensions }];
  if (declared) {
    await asOperator(test, fullToken)("POST /products", { slug: "tiles", name: "Tiles", metrics });
  }
  const person = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, person);
  return { test, apiKey, valueOf, cpuUs: [], organizationId: person.organizationId };
}

async function round({ test, apiKey, valueOf, cpuUs }: Site, offset: number): Promise<void> {
  let next = 0;
  const before = cpuUsage();
  await Promise.all(Array.from({ length: connections }, async () => {
    while (next < requestsPerRound) {
      const n = offset + next++;
      const response = await test.app.request("/api/v1/usage", {
        method: "POST",
        headers: {
          authorization: `Bearer ${apiKey}`,
          "content-type": "application/json",
          host: "localhost:8000",
        },
        body: JSON.stringify({
          productSlug: "tiles",
          metric: "requests",
          quantity: n % 7,
          properties: { region: `r${n % 5}`, model: valueOf(n), type: n % 2 === 0 ? "in" : "out" },
        }),
      }, { remoteAddr: { hostname: "127.0.0.1", port: 1 } });
      if (response.status !== 201) throw new Error(await response.text());
      await response.body?.cancel();
    }
  }));
  const { user, system } = cpuUsage(before);
  cpuUs.push((user + system) / requestsPerRound);
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
const three = [["region"], ["model"], ["region", "type"]];

async function measureCpu(): Promise<void> {
  const sites = {
    none: await openSite([], (n) => `m${n % 20}`),
    "three dimensions": await openSite(three, (n) => `m${n % 20}`),
    "three dimensions, all values new": await openSite(three, (n) => `m${n}`),
  };
  for (let at = -1; at < rounds; at++) {
    for (const site of Object.values(sites)) await round(site, (at + 1) * requestsPerRound);
    if (at < 0) { for (const site of Object.values(sites)) site.cpuUs.length = 0; }
  }
  const base = sites.none.cpuUs;
  for (const [name, { cpuUs }] of Object.entries(sites)) {
    const ratios = cpuUs.map((us, at) => us / (base[at] ?? 1));
    const all = ratios.map((ratio) => ratio.toFixed(2)).join(" ");
    printLine(
      `${name}: ${median(cpuUs).toFixed(1)} µs a record, ${median(ratios).toFixed(3)} of none (${all})`,
    );
  }
}

async function sendBatch({ test, apiKey }: Site, records: readonly unknown[]): Promise<void> {
  const response = await test.send("/api/v1/usage/batch", { apiKey, json: { records } });
  if (response.status !== 201) throw new Error(await response.text());
}

/** Compares a million distinct values with a thousand. */
async function measureValues(): Promise<void> {
  for (const distinct of [1_000, 1_000_000]) {
    const site = await openSite([["user"]], String);
    const read = async (query: string) =>
      Number((await site.test.opened.database.readFirst<{ n: number }>({ sql: query, args: [] }))?.n);
    for (let at = 0; at < 1_000_000; at += 1_000) {
      await sendBatch(
        site,
        Array.from({ length: 1_000 }, (_, n) => ({
          ...{ productSlug: "tiles", metric: "requests", quantity: 1 },
          properties: { user: `user-${String((at + n) % distinct).padStart(8, "0")}` },
        })),
      );
    }
    const rows = await read("SELECT count(*) AS n FROM usage_dimension_values");
    const rollups = await read("SELECT count(*) AS n FROM usage_rollups WHERE series < 0");
    const megabytes = await read(
      "SELECT page_count * page_size / 1e6 AS n FROM pragma_page_count, pragma_page_size",
    );
    const { rss } = Deno.memoryUsage();
    printLine(
      `${distinct} values: ${rows} rows, ${rollups} rollups, file ${megabytes} MB, memory ${rss / 1e6} MB`,
    );
  }
}

/** Reads a month by day and region: the rollups of 10 regions, which has the same rows with any number of records. */
async function measureMonth(): Promise<void> {
  const site = await openSite([["region"]], String);
  const end = Math.floor(site.test.now() / 3_600_000) * 3_600_000;
  const records = [];
  for (let time = end - 30 * 24 * 3_600_000; time < end; time += 900_000) {
    for (let region = 0; region < 10; region++) {
      records.push({
        ...{ productSlug: "tiles", metric: "requests", quantity: region },
        ...{ timestamp: new Date(time).toISOString(), properties: { region: `r${region}` } },
      });
    }
  }
  for (let at = 0; at < records.length; at += 1_000) await sendBatch(site, records.slice(at, at + 1_000));
  const context = {
    database: site.test.opened.database,
    pause: () => Promise.resolve(),
  } as unknown as JobContext;
  const input = {
    ...{ metric: ["requests"], groupByProperties: ["region"], window: "day" as const, now: site.test.now() },
    from: new Date(end - 30 * 24 * 3_600_000).toISOString(),
    to: new Date(end).toISOString(),
    organizationId: site.organizationId,
  };
  const times: number[] = [];
  for (let at = 0; at < 50; at++) {
    const startedAt = performance.now();
    const { data } = await readUsageSums(context, input);
    times.push(performance.now() - startedAt);
    if (data.length < 300) throw new Error(`${data.length} rows`);
  }
  printLine(
    `a month by day and region: ${median(times).toFixed(1)} ms, least ${Math.min(...times).toFixed(1)} ms`,
  );
}

await ({ cpu: measureCpu, values: measureValues, month: measureMonth }[part] ?? measureCpu)();
Deno.exit(0);

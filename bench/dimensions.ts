// Measures what dimensions cost: the processor time of recording, the disk, and the time to read a month by day and value.
// Usage: ./denow run -A bench/dimensions.ts [ROUNDS]
import { cpuUsage } from "node:process";
import { type TestApp, createTestKey, startTestApp } from "../tests/support/app/app.ts";
import { asOperator } from "../tests/support/operators/operator_api.ts";
import { newOperatorToken } from "../tests/support/operators/operators.ts";

const connections = 128;
const requestsPerRound = 20_000;
const rounds = Number(Deno.args[0] ?? 5);

interface Site {
  readonly test: TestApp;
  readonly apiKey: string;
  readonly valueOf: (n: number) => string;
  readonly cpuUs: number[];
}

async function openSite(dimensions: string[][], valueOf: Site["valueOf"], declared = dimensions.length > 0): Promise<Site> {
  const test = await startTestApp({ API_KEY_REQUESTS_PER_SECOND: "0" });
  const { fullToken } = await newOperatorToken(test, ["statements:write"]);
  const metrics = [{ slug: "requests", name: "Requests", dimensions }];
  if (declared) await asOperator(test, fullToken)("POST /products", { slug: "tiles", name: "Tiles", metrics });
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  return { test, apiKey, valueOf, cpuUs: [] };
}

async function round({ test, apiKey, valueOf, cpuUs }: Site, offset: number): Promise<void> {
  let next = 0;
  const before = cpuUsage();
  await Promise.all(Array.from({ length: connections }, async () => {
    while (next < requestsPerRound) {
      const n = offset + next++;
      const response = await test.app.request("/api/v1/usage", {
        method: "POST",
        headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json", host: "localhost:8000" },
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
const sites = {
  none: await openSite([], (n) => `m${n % 20}`),
  "three dimensions": await openSite(three, (n) => `m${n % 20}`),
  "three dimensions, all values new": await openSite(three, (n) => `m${n}`),
};
for (let at = -1; at < rounds; at++) {
  for (const site of Object.values(sites)) await round(site, (at + 1) * requestsPerRound);
  if (at < 0) for (const site of Object.values(sites)) site.cpuUs.length = 0;
}
const base = sites.none.cpuUs;
for (const [name, { cpuUs, test }] of Object.entries(sites)) {
  const ratios = cpuUs.map((us, at) => us / (base[at] ?? 1));
  console.log(
    `${name}: ${median(cpuUs).toFixed(1)} µs a record, ${median(ratios).toFixed(3)} of none (${ratios.map((r) => r.toFixed(2)).join(" ")})`,
  );
  await test.dispose();
}

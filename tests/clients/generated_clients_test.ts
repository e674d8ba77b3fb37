// Generates clients with the commands in docs/api.md, type-checks their use with the settings that the guide names, and records
// usage with them.
import assert from "node:assert/strict";
// Adds the generators and the imports of the programs to the lock file and the cache.
// deno-lint-ignore no-import-prefix
import type {} from "npm:@hey-api/openapi-ts@0.99.0";
// deno-lint-ignore no-import-prefix
import type {} from "npm:@redocly/cli@2.77.0";
// deno-lint-ignore no-import-prefix
import type {} from "npm:openapi-fetch@0.17.0";
// deno-lint-ignore no-import-prefix
import type {} from "npm:openapi-typescript@7.13.0";
// deno-lint-ignore no-import-prefix
import type {} from "npm:orval@8.38.0";
// deno-lint-ignore no-import-prefix
import ts from "npm:typescript@5.9.3";
import { createTestKey } from "../support/app/app.ts";
import { withWorkshop, type Workshop } from "../support/client/generators.ts";
import { asOperator } from "../support/operators/operator_api.ts";
import { newOperatorToken } from "../support/operators/operators.ts";
import { isFull } from "../support/runner/extent.ts";
import { readGuide } from "../support/runner/guides.ts";
import { faultsTimeoutMs } from "../support/runner/random.ts";

/** Programs with valid and invalid uses. The type check fails if an invalid use is allowed. */
const openapiFetch = `
import createClient from "openapi-fetch";
import type { components, paths } from "./gatehouse.d.ts";

const [baseUrl, key] = Deno.args;
const usage = createClient<paths>({ baseUrl: baseUrl!, headers: { authorization: \`Bearer \${key}\` } });

const body: components["schemas"]["UsageInput"] = { productSlug: "tiles", metric: "requests", quantity: 2.5, properties: { region: "eu" } };
const first = await usage.POST("/api/v1/usage", { body, params: { header: { "Idempotency-Key": "once" } } });
const again = await usage.POST("/api/v1/usage", { body: { ...body, idempotencyKey: "once" } });
if (first.error !== undefined || again.error !== undefined) throw new Error("not recorded");
const record = first.data.usageRecord;
const conflict = await usage.POST("/api/v1/usage", { body: { ...body, quantity: 3, idempotencyKey: "once" } });
const sums = await usage.GET("/api/v1/usage", { params: { query: { window: "month", metric: ["requests", "bytes"], groupBy: ["productSlug"] } } });
const byRegion = await usage.GET("/api/v1/usage", {
  params: { query: { window: "total", properties: ["region=eu", "region=us"], groupBy: ["properties.region"] } },
});
if (sums.error?.error.code === "range_too_long") throw new Error("never");
const code: components["schemas"]["Error"]["error"]["code"] | undefined = conflict.error?.error.code;
export async function wrongUses() {
  // @ts-expect-error: unknown path.
  await usage.GET("/api/v1/usages");
  // @ts-expect-error: the quantity is not a number.
  await usage.POST("/api/v1/usage", { body: { ...body, quantity: "2.5" } });
  // @ts-expect-error: missing metric.
  await usage.POST("/api/v1/usage", { body: { productSlug: "tiles", quantity: 1 } });
  // @ts-expect-error: missing body.
  await usage.POST("/api/v1/usage");
  // @ts-expect-error: unknown window.
  await usage.GET("/api/v1/usage", { params: { query: { window: "minute" } } });
  // @ts-expect-error: unknown group.
  await usage.GET("/api/v1/usage", { params: { query: { groupBy: [5] } } });
  // @ts-expect-error: unknown parameter.
  await usage.GET("/api/v1/usage", { params: { query: { products: "tiles" } } });
  // @ts-expect-error: missing id.
  await usage.POST("/api/v1/usage/records/{id}/void", { body: { reason: "x" } });
  // @ts-expect-error: unknown field of the response.
  record.amount;
  // @ts-expect-error: not an error of recording.
  if (conflict.error?.error.code === "last_owner") return;
}

console.log(JSON.stringify({
  statuses: [first, again, conflict, sums].map(({ response }) => response.status),
  duplicate: again.data.duplicate,
  same: record.id === again.data.usageRecord.id,
  data: sums.data?.data.map(({ productSlug, metric, sum, count }) => ({ productSlug, metric, sum, count })),
  regions: byRegion.data?.data.map(({ properties, sum }) => [properties?.["region"], sum]) ?? byRegion.error,
  code,
}));
`;

const heyApi = `
import { client } from "./gatehouse/client.gen.ts";
import { type CloudEventData, type Error as ApiError, type ErrorCode, readUsage, recordUsage, type UsageSum } from "./gatehouse/index.ts";

client.setConfig({ auth: () => Deno.args[0] });
const body = { productSlug: "hey", metric: "requests", quantity: 2.5, idempotencyKey: "hey", properties: { region: "eu" } };
const first = await recordUsage({ body });
const conflict = await recordUsage({ body: { ...body, quantity: 3 } });
const invalid = await recordUsage({ body: { ...body, quantity: -1 } });
const anyError: ApiError | undefined = conflict.error;
const code: ErrorCode | undefined = anyError?.error.code;
const details = invalid.error?.error.details?.[0];
const { data: sums } = await readUsage({ query: { window: "total", productSlug: ["hey"], metric: ["requests", "bytes"], mergeRotations: true } });
const rows: UsageSum[] = sums?.data ?? [];
const byRegion = await readUsage({
  query: { window: "total", productSlug: ["hey"], properties: ["region=eu", "region=us"], groupBy: ["properties.region"] },
});
export const eventData: CloudEventData = { quantity: "2.5", region: "eu-central", retried: false };

export async function wrongUses() {
  // @ts-expect-error: not an error of recording.
  if (conflict.error?.error.code === "last_owner") return;
  // @ts-expect-error: nested data.
  const nested: CloudEventData = { region: ["eu"] };
  // @ts-expect-error: the quantity is not a boolean.
  const wrong: CloudEventData = { quantity: true };
  return [nested, wrong];
}

console.log(JSON.stringify({
  statuses: [first, conflict, invalid].map(({ response }) => response?.status),
  code,
  path: details !== undefined && "path" in details ? details.path : null,
  sums: rows.map(({ productSlug, metric, sum }) => [productSlug ?? null, metric, sum]),
  regions: byRegion.data?.data.map(({ properties, sum }) => [properties?.["region"], sum]) ?? byRegion.error,
}));
`;

const orval = `
import {
  type CloudEventData,
  type Error as ApiError,
  ErrorCode,
  readUsage,
  recordUsageWithCloudeventsJson,
  recordUsageWithJson,
  type UsageSum,
} from "./orval.ts";

const options = { headers: { authorization: \`Bearer \${Deno.args[0]}\` } };
const body = { productSlug: "orval", metric: "requests", quantity: 2.5, idempotencyKey: "orval", properties: { region: "eu" } };
const first = await recordUsageWithJson(body, options);
const conflict = await recordUsageWithJson({ ...body, quantity: 3 }, options);
const invalid = await recordUsageWithJson({ ...body, quantity: -1 }, options);
const data: CloudEventData = { quantity: "2.5", region: "eu-central", retried: false };
const event = await recordUsageWithCloudeventsJson(
  { specversion: "1.0", id: "1", source: "/orval", type: "requests", data },
  options,
);
let code: ErrorCode | undefined;
if (conflict.status === 409) {
  const error: ApiError = conflict.data;
  code = error.error.code;
}
const path = invalid.status === 422 ? invalid.data.error.details?.[0]?.path : null;
const sums = await readUsage({ window: "total", productSlug: ["orval"], metric: ["requests", "bytes"], mergeRotations: true }, options);
const rows: UsageSum[] = sums.status === 200 ? sums.data.data : [];
const byRegion = await readUsage(
  { window: "total", productSlug: ["orval"], properties: ["region=eu", "region=us"], groupBy: ["properties.region"] },
  options,
);

export async function wrongUses() {
  // @ts-expect-error: not an error of recording.
  if (conflict.status === 409 && conflict.data.error.code === "last_owner") return;
  // @ts-expect-error: nested data.
  const nested: CloudEventData = { region: ["eu"] };
  // @ts-expect-error: the quantity is not a boolean.
  const wrong: CloudEventData = { quantity: true };
  return [nested, wrong];
}

console.log(JSON.stringify({
  statuses: [first, conflict, invalid, event].map(({ status }) => status),
  code: code === ErrorCode.idempotency_conflict ? code : null,
  path,
  sums: rows.map(({ productSlug, metric, sum }) => [productSlug ?? null, metric, sum]),
  regions: byRegion.status === 200
    ? byRegion.data.data.map(({ properties, sum }) => [properties?.["region"], sum])
    : byRegion.data,
}));
`;

/** TypeScript's own declarations, which take longer to parse and check than a client. */
const parsedLibraries = new Map<string, ts.SourceFile | undefined>();
const cache = ts.sys.getExecutingFilePath().split("/").slice(0, -4).join("/");
const bundler = { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler };
const nodeNext = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext };
const exact = { exactOptionalPropertyTypes: true };

/** Returns TypeScript's errors in files and what they import, and checks the next file only when asked for more. */
function* errorsOf(files: readonly string[], more: ts.CompilerOptions): Generator<string, undefined> {
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
    types: [],
    strict: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    skipDefaultLibCheck: true,
    paths: {
      "openapi-fetch": [`${cache}/openapi-fetch/0.17.0/dist/index.d.mts`],
      "openapi-typescript-helpers": [`${cache}/openapi-typescript-helpers/0.1.0/dist/index.d.mts`],
    },
    ...more,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (name, language) => {
    if (!/\/lib\.[^/]+\.d\.ts$/.test(name)) return getSourceFile(name, language);
    if (!parsedLibraries.has(name)) parsedLibraries.set(name, getSourceFile(name, ts.ScriptTarget.ES2022));
    return parsedLibraries.get(name);
  };
  const program = ts.createProgram(files, options, host);
  for (const file of program.getSourceFiles()) {
    for (const { code, messageText } of ts.getPreEmitDiagnostics(program, file)) {
      yield `${code} ${file.fileName}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
    }
  }
}

/** Generates the clients, and writes the programs next to them. */
async function generateAll({ test, folder, generate }: Workshop): Promise<void> {
  const block = await readGuide("api.md");
  const configuration = block("orval's configuration").replace(
    "https://auth.example.com",
    test.config.baseUrl.origin,
  );
  const files = {
    "orval.config.ts": configuration.replace("gatehouse.ts", "orval.ts"),
    "package.json": '{"type": "module"}',
    ...{ "use_openapi_fetch.ts": openapiFetch, "use_hey_api.ts": heyApi, "use_orval.ts": orval },
  };
  for (const [name, text] of Object.entries(files)) {
    const isProgram = name.startsWith("use_");
    await Deno.writeTextFile(
      `${folder}/${name}`,
      isProgram ? `declare const Deno: { args: string[] };${text}` : text,
    );
  }
  for (const name of ["openapi-typescript", "@hey-api/openapi-ts", "orval"]) await generate(block(name));
}

Deno.test("generated clients", { timeout: faultsTimeoutMs }, (t) =>
  withWorkshop(async (workshop) => {
    const { test, baseUrl, folder, run, generate } = workshop;
    await generateAll(workshop);
    const send = asOperator(test, (await newOperatorToken(test, ["statements:write"])).fullToken);
    for (const slug of ["tiles", "hey", "orval"]) {
      const metric = {
        slug: "requests",
        name: "Requests",
        unit: null,
        unitPrice: null,
        dimensions: [["region"]],
      };
      assert.equal((await send("POST /products", { slug, name: slug, metrics: [metric] })).status, 201);
    }
    const paths = (...names: string[]) => names.map((name) => `${folder}/${name}`);
    await t.step("of openapi-typescript and orval type-check, and reject invalid uses", () => {
      // Both settings of the guide. The stricter one is enough in a quick run.
      for (const settings of isFull ? [bundler, nodeNext] : [nodeNext]) {
        const errors = errorsOf(paths("use_openapi_fetch.ts", "use_orval.ts"), { ...settings, ...exact });
        assert.deepEqual([...errors], []);
      }
    });
    await t.step("of @hey-api/openapi-ts do so only with the settings that the guide names", () => {
      assert.deepEqual([...errorsOf(paths("use_hey_api.ts"), bundler)], []);
      // The guide warns of both.
      const hasError = (settings: ts.CompilerOptions, form: RegExp) =>
        errorsOf(paths("gatehouse/index.ts"), settings).some((error) => form.test(error));
      assert.ok(hasError(nodeNext, /^2307 /));
      assert.ok(hasError({ ...bundler, ...exact }, /gatehouse/));
    });
    await t.step("record usage", async () => {
      const { fullKey } = await createTestKey(test, await test.signUp());
      assert.deepEqual(await run("use_openapi_fetch", [baseUrl, fullKey]), {
        statuses: [201, 200, 409, 200],
        duplicate: true,
        same: true,
        data: [{ productSlug: "tiles", metric: "requests", sum: 2.5, count: 1 }],
        regions: [["eu", 2.5]],
        code: "idempotency_conflict",
      });
      const expected = { code: "idempotency_conflict", path: "quantity" };
      assert.deepEqual(await run("use_hey_api", [fullKey]), {
        ...expected,
        statuses: [201, 409, 422],
        sums: [[null, "requests", 2.5]],
        regions: [["eu", 2.5]],
      });
      assert.deepEqual(await run("use_orval", [fullKey]), {
        ...expected,
        statuses: [201, 409, 422, 201],
        sums: [[null, "requests", 5]],
        regions: [["eu", 2.5]],
      });
    });
    await t.step(
      "come from an OpenAPI document that passes Redocly's recommended rules without warnings",
      async () => {
        const document = await (await test.send("/api/openapi.json")).json();
        // The rules warn about servers at localhost.
        const servers = [{ url: "https://auth.acme.test" }];
        await Deno.writeTextFile(`${folder}/openapi.json`, JSON.stringify({ ...document, servers }));
        const printed = await generate(
          "npx @redocly/cli@2.77.0 lint --extends=recommended --format=json openapi.json",
        );
        assert.deepEqual(JSON.parse(printed).problems, []);
      },
    );
  }));

// Generates clients with the commands in docs/api.md, type-checks their use, and records usage with them.
import assert from "node:assert/strict";
// Adds the generators to the lock file and the cache.
// deno-lint-ignore no-import-prefix
import type {} from "npm:@hey-api/openapi-ts@0.99.0";
// deno-lint-ignore no-import-prefix
import type {} from "npm:@redocly/cli@2.77.0";
// deno-lint-ignore no-import-prefix
import type {} from "npm:orval@8.38.0";
// deno-lint-ignore no-import-prefix
import ts from "npm:typescript@5.9.3";
import { createTestKey } from "../support/app/app.ts";
import { withWorkshop } from "../support/client/generators.ts";
import { readGuide } from "../support/runner/guides.ts";

const heyApi = `
import { client } from "./gatehouse/client.gen.ts";
import { type CloudEventData, type Error as ApiError, type ErrorCode, readUsage, recordUsage, type UsageSum } from "./gatehouse/index.ts";

client.setConfig({ auth: () => Deno.args[0] });
const body = { productSlug: "hey", metric: "requests", quantity: 2.5, idempotencyKey: "hey" };
const first = await recordUsage({ body });
const conflict = await recordUsage({ body: { ...body, quantity: 3 } });
const invalid = await recordUsage({ body: { ...body, quantity: -1 } });
const anyError: ApiError | undefined = conflict.error;
const code: ErrorCode | undefined = anyError?.error.code;
const details = invalid.error?.error.details?.[0];
const { data: sums } = await readUsage({ query: { window: "total", productSlug: ["hey"], metric: ["requests", "bytes"], mergeRotations: true } });
const rows: UsageSum[] = sums?.data ?? [];
const eventData: CloudEventData = { quantity: "2.5", region: "eu-central", retried: false };

export async function wrongUses() {
  // @ts-expect-error: not an error of recording.
  if (conflict.error?.error.code === "last_owner") return;
  // @ts-expect-error: missing metric.
  await recordUsage({ body: { productSlug: "hey", quantity: 1 } });
  // @ts-expect-error: unknown window.
  await readUsage({ query: { window: "minute" } });
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
  data: Object.keys(eventData),
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
} from "./gatehouse.ts";

const options = { headers: { authorization: \`Bearer \${Deno.args[0]}\` } };
const body = { productSlug: "orval", metric: "requests", quantity: 2.5, idempotencyKey: "orval" };
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

export async function wrongUses() {
  // @ts-expect-error: not an error of recording.
  if (conflict.status === 409 && conflict.data.error.code === "last_owner") return;
  // @ts-expect-error: missing metric.
  await recordUsageWithJson({ productSlug: "orval", quantity: 1 });
  // @ts-expect-error: unknown window.
  await readUsage({ window: "minute" });
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
}));
`;

Deno.test("clients of @hey-api/openapi-ts and orval type-check, reject invalid uses and record usage", () =>
  withWorkshop(async ({ test, folder, generate, run }) => {
    const block = await readGuide("api.md");
    const { fullKey } = await createTestKey(test, await test.signUp());
    await Deno.writeTextFile(
      `${folder}/orval.config.ts`,
      block("orval's configuration").replace("https://auth.example.com", test.config.baseUrl.origin),
    );
    const [ofHeyApi, ofOrval] = await Promise.all([
      generate(block("@hey-api/openapi-ts")).then(() => run("hey_api", heyApi, [fullKey])),
      generate(block("orval")).then(() => run("orval", orval, [fullKey])),
    ]);
    assert.deepEqual(ofHeyApi, {
      statuses: [201, 409, 422],
      code: "idempotency_conflict",
      path: "quantity",
      sums: [[null, "requests", 2.5]],
      data: ["quantity", "region", "retried"],
    });
    assert.deepEqual(ofOrval, {
      statuses: [201, 409, 422, 201],
      code: "idempotency_conflict",
      path: "quantity",
      sums: [[null, "requests", 5]],
    });
  }));

/** TypeScript's own declarations, which take longer to parse and check than a client. */
const parsedLibraries = new Map<string, ts.SourceFile | undefined>();

/** Returns the codes of TypeScript's errors in a file and what it imports. */
function errorsOf(file: string, more: ts.CompilerOptions): number[] {
  const lib = ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"];
  const common = { target: ts.ScriptTarget.ES2022, lib, types: [], strict: true, noEmit: true };
  const options = { ...common, skipDefaultLibCheck: true, ...more };
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (name, language) => {
    if (!/\/lib\.[^/]+\.d\.ts$/.test(name)) return getSourceFile(name, language);
    if (!parsedLibraries.has(name)) parsedLibraries.set(name, getSourceFile(name, ts.ScriptTarget.ES2022));
    return parsedLibraries.get(name);
  };
  const program = ts.createProgram([file], options, host);
  return [...new Set(ts.getPreEmitDiagnostics(program).map(({ code }) => code))];
}

Deno.test("generated clients compile with the settings of TypeScript that the guide names", () =>
  withWorkshop(async ({ test, folder, generate }) => {
    const block = await readGuide("api.md");
    const configuration = block("orval's configuration");
    await Deno.writeTextFile(
      `${folder}/orval.config.ts`,
      configuration.replace("https://auth.example.com", test.config.baseUrl.origin)
        .replace("gatehouse.ts", "orval.ts"),
    );
    for (const name of ["openapi-typescript", "@hey-api/openapi-ts", "orval"]) await generate(block(name));
    await Deno.writeTextFile(`${folder}/package.json`, '{"type": "module"}');
    const bundler = { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler };
    const nodeNext = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext };
    for (const file of ["gatehouse.d.ts", "orval.ts"]) {
      for (const options of [bundler, nodeNext]) {
        assert.deepEqual(errorsOf(`${folder}/${file}`, { ...options, exactOptionalPropertyTypes: true }), []);
      }
    }
    const heyApi = `${folder}/gatehouse/index.ts`;
    assert.deepEqual(errorsOf(heyApi, bundler), []);
    // The guide warns of both.
    const unresolved = 2307;
    assert.ok(errorsOf(heyApi, nodeNext).includes(unresolved));
    assert.notDeepEqual(errorsOf(heyApi, { ...bundler, exactOptionalPropertyTypes: true }), []);
  }));

Deno.test("the OpenAPI document passes Redocly's recommended rules without warnings", () =>
  withWorkshop(async ({ test, folder, generate }) => {
    const document = await (await test.send("/api/openapi.json")).json();
    // The rules warn about servers at localhost.
    const servers = [{ url: "https://auth.acme.test" }];
    await Deno.writeTextFile(`${folder}/openapi.json`, JSON.stringify({ ...document, servers }));
    const printed = await generate(
      "npx @redocly/cli@2.77.0 lint --extends=recommended --format=json openapi.json",
    );
    assert.deepEqual(JSON.parse(printed).problems, []);
  }));

// Messages about input are in our own words, for each kind of error in each field of every request.
import assert from "node:assert/strict";
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { AppError } from "../../../domain/errors.ts";
import { operationsOf } from "../../../routes/api/openapi/openapi.ts";
import type { AppEnv } from "../../../routes/env.ts";
import { check } from "../../../routes/schemas/check.ts";
import { assertError, type TestApp, testApp } from "../../support/app/app.ts";

type Path = readonly (string | number)[];
/** Phrases of Zod’s own messages, and ours for cases that a schema must word itself. */
const foreign =
  /Invalid|Too (big|small)|expected|received|Unrecognized|discriminator|\||^(is|has an) invalid/;

/** Returns the path of every value in a schema, from the outside in. */
function pathsOf(schema: z.core.$ZodType): Path[] {
  const def = (schema as z.core.$ZodTypes)._zod.def;
  const below = (name: string | number, part: z.core.$ZodType) =>
    pathsOf(part).map((path) => [name, ...path]);
  switch (def.type) {
    case "object":
      return [[], ...Object.entries(def.shape).flatMap(([name, part]) => below(name, part))];
    case "array":
      return [[], ...below(0, def.element)];
    case "record":
      return [[], ...below("name", def.valueType)];
    case "union":
      return def.options.flatMap(pathsOf);
    case "pipe":
      return pathsOf(def.in);
    case "optional":
    case "nullable":
    case "default":
      return pathsOf(def.innerType);
    default:
      return [[]];
  }
}

/** Returns a copy in which the value at a path is another one. Without a value, it is missing. */
function withValue(whole: unknown, [name, ...rest]: Path, change: (value: unknown) => unknown): unknown {
  if (name === undefined) return change(whole);
  const isList = typeof name === "number";
  const copy: Record<string | number, unknown> = isList
    ? [...Array.isArray(whole) ? whole : []] as unknown as Record<number, unknown>
    : { ...whole as Record<string, unknown> };
  copy[name] = withValue(copy[name], rest, change);
  if (copy[name] === undefined && !isList) delete copy[name];
  return copy;
}

const values = [undefined, null, true, -1, 0, 1.5, 1e300, 2 ** 53, "", " ", "x", "?!", "2026-13-45"];
const more = ["x".repeat(100_000), [], ["x", "x"], [[]], {}, {
  "": "x",
  "a b": 1,
  ["x".repeat(5_000)]: null,
}];
const changes: readonly ((value: unknown) => unknown)[] = [
  ...[...values, ...more].map((value) => () => value),
  // Too many items, and names that are unknown, invalid or too many.
  (value) => Array(2_001).fill(Array.isArray(value) ? value[0] : value),
  (value) => ({ ...value as object, "an unknown name": "x", "": "x", ["x".repeat(5_000)]: "x" }),
  (value) => ({
    ...value as object,
    ...Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`n${n}`, "x"])),
  }),
];

interface Checked {
  readonly name: string;
  readonly schema: z.ZodType;
  readonly part: "body" | "query" | "params";
  readonly example: unknown;
}

/** Returns all schemas of requests. Those of bodies have a valid example. */
async function checkedIn(test: TestApp): Promise<Checked[]> {
  const operations = operationsOf(await (await test.send("/api/openapi.json")).json());
  return (test.app as OpenAPIHono<AppEnv>).openAPIRegistry.definitions.flatMap((definition): Checked[] => {
    if (definition.type !== "route") return [];
    const { operationId: name = "", request = {} } = definition.route;
    const contents = operations.find(({ operationId }) => operationId === name)?.requestBody?.content ?? {};
    const bodies = Object.entries(request.body?.content ?? {}).map(([type, content]): Checked => ({
      name,
      schema: (content as { schema: z.ZodType }).schema,
      part: "body",
      example: contents[type]?.example ?? {},
    }));
    const { query, params } = request as { query?: z.ZodType; params?: z.ZodType };
    return [
      ...bodies,
      ...query === undefined ? [] : [{ name, schema: query, part: "query", example: {} } as const],
      ...params === undefined ? [] : [{ name, schema: params, part: "params", example: {} } as const],
    ];
  });
}

/** Returns what is wrong with a value. */
function problemsOf(schema: z.ZodType, value: unknown, part: Checked["part"]): string[] {
  try {
    check(schema, value, part);
  } catch (error) {
    assert.ok(error instanceof AppError, String(error));
    assert.equal(error.code, part === "params" ? "not_found" : "validation_failed");
    const { details = [] } = error;
    const problems = details.map(({ path, message }) => `${path} ${message}`);
    assert.equal(new Set(problems).size, problems.length, `repeats a message: ${problems}`);
    return problems;
  }
  return [];
}

testApp("says in our own words what is wrong with each field of each request", async (test) => {
  const found = new Map<string, string>();
  const schemas = await checkedIn(test);
  for (const { name, schema, part, example } of schemas) {
    for (const path of pathsOf(schema)) {
      for (const change of changes) {
        for (const problem of problemsOf(schema, withValue(example, path, change), part)) {
          const [field = "", message = ""] = problem.split(/ (.*)/s);
          found.set(message, `${name} ${part} ${path.join(".")}: ${field.slice(0, 50)}`);
        }
      }
    }
  }
  assert.ok(schemas.length > 150 && found.size > 100, `${schemas.length} ${found.size}`);
  assert.deepEqual([...found].filter(([message]) => foreign.test(message) || !message.endsWith(".")), []);
});

testApp("a response names each field once, with what is wanted there", async (test) => {
  const json = {
    email: Array(1_000).fill("x"),
    name: null,
    password: 1,
    invitationToken: "x".repeat(201),
    a: 1,
  };
  const { error } = await assertError(
    await test.send("/api/auth/sign-up", { json }),
    422,
    "validation_failed",
  );
  assert.deepEqual(error.details?.map(({ path, message }) => `${path} ${message}`), [
    "name must be a string.",
    "email must be a string.",
    "password must be a string.",
    "invitationToken is too long.",
    "a is not a known field.",
  ]);
});

const few = z.array(z.string());
const cases: readonly (readonly [schema: z.core.$ZodType, value: unknown, message: string])[] = [
  [z.string(), undefined, "is required."],
  [z.string(), null, "must be a string."],
  [z.int(), 1.5, "must be a whole number."],
  [z.int(), 2 ** 60, "must be at most 9007199254740991."],
  [z.record(z.string(), z.string()), [], "must be an object."],
  [z.tuple([z.string()]), 1, "must be an array."],
  [z.null(), 1, "must be null."],
  [z.never(), 1, "is not allowed."],
  [z.enum(["a", "b"]), undefined, "is required."],
  [z.enum(["a", "b"]), "c", "must be one of a, b."],
  [z.literal(1), 2, "must be 1."],
  [z.string().max(3), "long", "must be at most 3 characters."],
  [z.string().min(2), "x", "must be at least 2 characters."],
  [z.string().length(1), "", "must be exactly 1 character."],
  [few.max(1), ["a", "b"], "must have at most 1 item."],
  [few.min(2), [], "must have at least 2 items."],
  [z.set(z.string()).max(0), new Set("a"), "must have at most 0 items."],
  [z.number().max(3), 4, "must be at most 3."],
  [z.number().lt(3), 3, "must be less than 3."],
  [z.number().min(3), 2, "must be at least 3."],
  [z.number().gt(3), 3, "must be more than 3."],
  [z.number().multipleOf(5), 4, "must be a multiple of 5."],
  [z.email(), "x", "must be an email address."],
  [z.url(), "x", "must be a URL."],
  [z.iso.datetime(), "x", "must be a time such as 2026-11-21T14:03:11.000Z."],
  [z.jwt(), "x", "must be a valid jwt."],
  [z.string().regex(/y/), "x", "has an invalid format."],
  [z.string().startsWith("y"), "x", "must start with y."],
  [z.string().endsWith("y"), "x", "must end with y."],
  [z.string().includes("y"), "x", "must contain y."],
  [z.record(z.string().max(1), z.string()), { long: "" }, "must be at most 1 character."],
  [z.map(z.object({}), z.int()), new Map([[{}, 1.5]]), "must be a whole number."],
  [z.union([z.string(), few]), 1, "must be a string or an array."],
  [z.union([z.int(), few.max(1)]), ["a", "b"], "must have at most 1 item."],
  [z.union([z.string(), few]), undefined, "is required."],
  [z.discriminatedUnion("field", [z.object({ field: z.literal("a") })]), { field: "b" }, "must be a."],
  [z.xor([z.string(), z.string().min(1)]), "x", "has more than one accepted form."],
  [z.string().refine(() => false), "x", "is invalid."],
];

Deno.test("every kind of problem that Zod finds has a message of ours", () => {
  const codes = new Set<string>();
  for (const [schema, value, message] of cases) {
    const whole = z.strictObject({ field: schema });
    const problems = problemsOf(whole, { field: value }, "body");
    assert.equal(problems.map((problem) => problem.replace(/^\S+ /, "")).join(), message);
    for (const { code } of whole.safeParse({ field: value }).error?.issues ?? []) codes.add(code);
  }
  assert.deepEqual(problemsOf(z.strictObject({}), { a: 1, b: 1 }, "body"), [
    "a is not a known field.",
    "b is not a known field.",
  ]);
  assert.deepEqual([...codes].sort(), [
    "custom",
    "invalid_element",
    "invalid_format",
    "invalid_key",
    "invalid_type",
    "invalid_union",
    "invalid_value",
    "not_multiple_of",
    "too_big",
    "too_small",
  ]);
});

// Whether an answer is what the OpenAPI document says: each that a test gets from the API is looked at here. What the
// document does not name, a status, an error's code, a field, is a fault.
import assert from "node:assert/strict";
import type { OpenAPIHono } from "@hono/zod-openapi";
// deno-lint-ignore no-import-prefix
import { Ajv2020, type ValidateFunction } from "npm:ajv@8.20.0/dist/2020.js";
import type { JsonSchema, JsonSchemas } from "../../routes/api/openapi/examples.ts";
import { resolved } from "../../routes/api/openapi/examples.ts";
import {
  type DocumentedResponse,
  type OpenApiDocument,
  openApiDocument,
  type Operation,
} from "../../routes/api/openapi/openapi.ts";
import type { App, AppEnv } from "../../routes/env.ts";

/** Times as responses have them: with milliseconds, in UTC or, for windows of a time zone, with its offset. */
const timeForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d)$/;

/** A checker of values against schemas of the document. `formats`: also that times and addresses look like some. */
export function newAjv(): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, allErrors: true, meta: false, validateSchema: false });
  ajv.addFormat("date-time", timeForm);
  ajv.addFormat("email", /^[^@\s]+@[^@\s]+$/);
  return ajv;
}

interface Route {
  readonly form: RegExp;
  readonly path: string;
  readonly operations: Readonly<Record<string, Operation>>;
}

interface Checker {
  readonly document: OpenApiDocument;
  readonly routes: readonly Route[];
  readonly validators: Map<string, ValidateFunction>;
  readonly ajv: Ajv2020;
}

/** One for each test file: every app has the same routes. */
let checker: Checker | undefined;

/** @returns The document of an app. */
export function documentOf(app: App): OpenApiDocument {
  return openApiDocument(app as OpenAPIHono<AppEnv>, { baseUrl: "http://localhost:8080", version: "0.0.0" });
}

function checkerOf(app: App): Checker {
  if (checker !== undefined) return checker;
  const document = documentOf(app);
  const routes = Object.entries(document.paths).map(([path, operations]) => ({
    path,
    operations,
    form: new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`),
  }));
  checker = { document, routes, validators: new Map(), ajv: newAjv() };
  return checker;
}

/**
 * @param app Whose answer it is.
 * @param request What was asked.
 * @param answer It is left to be read by others.
 * @throws What the document does not say of such an answer.
 */
export async function assertDocumented(app: App, request: Request, answer: Response): Promise<void> {
  const { pathname } = new URL(request.url);
  if (!/^\/(api|health|metrics)(\/|$)/.test(pathname)) return;
  const check = checkerOf(app);
  const what = `${request.method} ${pathname} ${answer.status}`;
  const route = check.routes.find(({ form }) => form.test(pathname));
  const operation = route?.operations[(request.method === "HEAD" ? "get" : request.method).toLowerCase()];
  if (operation === undefined) {
    return await assertUnmatched(check, { what, request, answer, isPath: route !== undefined });
  }
  const documented = operation.responses[String(answer.status)];
  if (documented === undefined) {
    assert.fail(`the document has no such answer: ${what} ${await answer.clone().text()}`);
  }
  for (const [name, { required }] of Object.entries(documented.headers ?? {})) {
    assert.ok(required !== true || answer.headers.has(name), `the document promises ${name}: ${what}`);
  }
  await assertBody(check, { what, request, answer, documented });
}

/** No operation: then the introduction of the document says what comes. */
async function assertUnmatched(
  check: Checker,
  { what, request, answer, isPath }: { what: string; request: Request; answer: Response; isPath: boolean },
): Promise<void> {
  // The answer to a browser that asks whether it may ask.
  if (request.method === "OPTIONS" && (answer.status === 204 || answer.status === 403)) return;
  const statuses = [isPath ? 405 : 404, 414, 431, 500];
  assert.ok(statuses.includes(answer.status), `the document has no such address: ${what}`);
  const schema: JsonSchema = { $ref: "#/components/schemas/Error" };
  await assertBody(check, {
    what,
    request,
    answer,
    documented: { description: "", content: { "application/json": { schema } } },
  });
}

async function assertBody(
  check: Checker,
  { what, request, answer, documented }: {
    what: string;
    request: Request;
    answer: Response;
    documented: DocumentedResponse;
  },
): Promise<void> {
  const { components } = check.document;
  const shared = documented.$ref?.slice("#/components/responses/".length);
  const { content } = shared === undefined ? documented : components.responses[shared] ?? documented;
  const type = answer.headers.get("content-type");
  if (content === undefined) {
    return assert.ok(
      type === null && answer.body === null,
      `the document says that there is no body: ${what}`,
    );
  }
  const given = Object.keys(content).find((one) => type === one || type?.startsWith(`${one};`));
  assert.ok(given, `the document does not say that this is ${type}: ${what}`);
  const schema = content[given]?.schema;
  if (given !== "application/json" || schema === undefined || request.method === "HEAD") return;
  const key = shared ?? JSON.stringify(schema);
  let validate = check.validators.get(key);
  if (validate === undefined) {
    validate = check.ajv.compile(strict(schema, components.schemas));
    check.validators.set(key, validate);
  }
  const text = await answer.clone().text();
  if (validate(JSON.parse(text))) return;
  assert.fail(
    `the document says otherwise: ${what} ${check.ajv.errorsText(validate.errors)} ${text.slice(0, 500)}`,
  );
}

/** @returns The schema in one piece, which refuses every field that it does not name. */
export function strict(given: JsonSchema, schemas: JsonSchemas): JsonSchema {
  const { allOf, ...schema } = resolved(given, schemas);
  if (allOf !== undefined) {
    return strict(allOf.map((part) => resolved(part, schemas)).reduce(merged, schema), schemas);
  }
  const each = (list: readonly JsonSchema[]) => list.map((one) => strict(one, schemas));
  return {
    ...schema,
    ...(schema.properties === undefined ? {} : {
      properties: Object.fromEntries(
        Object.entries(schema.properties).map(([name, one]) => [name, strict(one, schemas)]),
      ),
      additionalProperties: schema.additionalProperties ?? false,
    }),
    ...(schema.items === undefined ? {} : { items: strict(schema.items, schemas) }),
    ...(schema.anyOf === undefined ? {} : { anyOf: each(schema.anyOf) }),
    ...(schema.oneOf === undefined ? {} : { oneOf: each(schema.oneOf) }),
  };
}

/** @returns What fits both, as far as the document makes use of it: fields of both, and fields of the same name merged. */
function merged(one: JsonSchema, other: JsonSchema): JsonSchema {
  const properties: Record<string, JsonSchema> = { ...one.properties };
  for (const [name, property] of Object.entries(other.properties ?? {})) {
    const known = properties[name];
    properties[name] = known === undefined ? property : merged(known, property);
  }
  const required = [...one.required ?? [], ...other.required ?? []];
  return {
    ...one,
    ...other,
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(required.length === 0 ? {} : { required }),
  };
}

// Checks each API response against the OpenAPI document: an undocumented status, error code or field fails the test.
import assert from "node:assert/strict";
import { operatorTokenTag } from "../../../domain/access/operator_token.ts";
import type { OpenAPIHono } from "@hono/zod-openapi";
// deno-lint-ignore no-import-prefix
import { Ajv2020, type ValidateFunction } from "npm:ajv@8.20.0/dist/2020.js";
import { errorComponent } from "../../../routes/api/openapi/error_responses.ts";
import type { JsonSchema, JsonSchemas } from "../../../routes/api/openapi/examples.ts";
import { resolved } from "../../../routes/api/openapi/examples.ts";
import {
  type DocumentedResponse,
  type OpenApiDocument,
  openApiDocument,
  type Operation,
} from "../../../routes/api/openapi/openapi.ts";
import type { App, AppEnv } from "../../../routes/env.ts";

/** Format of times in responses: with milliseconds, and either `Z` or a UTC offset. */
const timeForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d)$/;

/** @returns A validator for the schemas of the document, including times and email addresses. */
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

/** Shared within a test file: every app has the same routes. */
let checker: Checker | undefined;

/** @returns The OpenAPI document of an app. */
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
 * Checks a response without consuming its body.
 *
 * @throws {assert.AssertionError} When the response isn't documented.
 */
export async function assertDocumented(app: App, request: Request, response: Response): Promise<void> {
  const pathname = documentedPath(request, response);
  if (!/^\/(api|health|metrics)(\/|$)/.test(pathname)) return;
  const check = checkerOf(app);
  const what = `${request.method} ${pathname} ${response.status}`;
  const route = check.routes.find(({ form }) => form.test(pathname));
  const operation = route?.operations[(request.method === "HEAD" ? "get" : request.method).toLowerCase()];
  if (operation === undefined) {
    return await assertUnmatched(check, { what, request, response, isPath: route !== undefined });
  }
  const documented = operation.responses[String(response.status)];
  if (documented === undefined) {
    assert.fail(`undocumented response: ${what} ${await response.clone().text()}`);
  }
  for (const [name, { required }] of Object.entries(documented.headers ?? {})) {
    assert.ok(
      required !== true || response.headers.has(name),
      `the response lacks the header ${name}: ${what}`,
    );
  }
  await assertBody(check, { what, request, response, documented });
}

/**
 * @returns The path that describes the response. As the document says, batches of CloudEvents get that of a batch of records, and events
 *   of gateways that of events.
 */
function documentedPath({ url, headers }: Request, { status }: Response): string {
  const { pathname } = new URL(url);
  if (pathname !== "/api/v1/usage") return pathname;
  if (headers.get("authorization")?.startsWith(`Bearer ${operatorTokenTag}`)) {
    return status === 204 ? "/api/v1/events" : pathname;
  }
  const isEventBatch = /^application\/cloudevents-batch/i.test(headers.get("content-type") ?? "");
  return isEventBatch ? "/api/v1/usage/batch" : pathname;
}

/** Checks a response to an undocumented path or method. */
async function assertUnmatched(
  check: Checker,
  { what, request, response, isPath }: {
    what: string;
    request: Request;
    response: Response;
    isPath: boolean;
  },
): Promise<void> {
  // A response to a CORS preflight request.
  if (request.method === "OPTIONS" && (response.status === 204 || response.status === 403)) return;
  const statuses = [isPath ? 405 : 404, 414, 431, 500];
  assert.ok(statuses.includes(response.status), `undocumented path: ${what}`);
  const schema: JsonSchema = { $ref: "#/components/schemas/Error" };
  const { component } = errorComponent("#/components/responses/problem_method_not_allowed");
  await assertBody(check, {
    what,
    request,
    response,
    documented: { description: "", content: { "application/json": { schema }, ...component.content } },
  });
}

async function assertBody(
  check: Checker,
  { what, request, response, documented }: {
    what: string;
    request: Request;
    response: Response;
    documented: DocumentedResponse;
  },
): Promise<void> {
  const { components } = check.document;
  const shared = documented.$ref?.slice("#/components/responses/".length);
  const { content } = shared === undefined ? documented : components.responses[shared] ?? documented;
  const type = response.headers.get("content-type");
  if (content === undefined) {
    return assert.ok(
      type === null && response.body === null,
      `undocumented body: ${what}`,
    );
  }
  const given = Object.keys(content).find((one) => type === one || type?.startsWith(`${one};`));
  assert.ok(given, `undocumented content type ${type}: ${what}`);
  const schema = content[given]?.schema;
  if (!given.endsWith("json") || schema === undefined || request.method === "HEAD") return;
  const key = shared ?? JSON.stringify(schema);
  let validate = check.validators.get(key);
  if (validate === undefined) {
    validate = check.ajv.compile(strict(schema, components.schemas));
    check.validators.set(key, validate);
  }
  const text = await response.clone().text();
  if (validate(JSON.parse(text))) return;
  assert.fail(
    `the body doesn't match the document: ${what} ${check.ajv.errorsText(validate.errors)} ${
      text.slice(0, 500)
    }`,
  );
}

/** @returns The schema with `allOf` merged, rejecting unknown fields. */
export function strict(given: JsonSchema, schemas: JsonSchemas): JsonSchema {
  const { allOf, ...schema } = resolved(given, schemas);
  if (allOf !== undefined) {
    return strict(allOf.reduce((one, part) => merged(one, part, schemas), schema), schemas);
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

/** @returns Both schemas in one, with their properties merged by name. */
function merged(first: JsonSchema, second: JsonSchema, schemas: JsonSchemas): JsonSchema {
  const [one, other] = [resolved(first, schemas), resolved(second, schemas)];
  const properties: Record<string, JsonSchema> = { ...one.properties };
  for (const [name, property] of Object.entries(other.properties ?? {})) {
    const known = properties[name];
    properties[name] = known === undefined ? property : merged(known, property, schemas);
  }
  const required = [...one.required ?? [], ...other.required ?? []];
  return {
    ...one,
    ...other,
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(required.length === 0 ? {} : { required }),
  };
}

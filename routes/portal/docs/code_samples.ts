// An example request of each operation for curl, TypeScript and Python.
import type { CodeSample } from "../../../views/components/code_example.tsx";
import { exampleOf, type JsonSchemas } from "../../api/openapi/examples.ts";
import type { Operation } from "../../api/openapi/openapi.ts";
import { sessionCookieName } from "../../cookies.ts";

export interface OperationContext {
  readonly method: string;
  readonly path: string;
  readonly origin: string;
  readonly schemas: JsonSchemas;
}

interface ExampleRequest {
  /** In upper case. */
  readonly method: string;
  readonly url: string;
  readonly secret: { readonly header: string; readonly before: string; readonly variable: string } | null;
  readonly isJson: boolean;
  readonly body: unknown;
}

/** By security scheme. Most callers use the first one of an operation. */
const secrets: Readonly<Record<string, NonNullable<ExampleRequest["secret"]>>> = {
  apiKey: { header: "Authorization", before: "Bearer ", variable: "GATEHOUSE_KEY" },
  operatorToken: { header: "Authorization", before: "Bearer ", variable: "OPERATOR_TOKEN" },
  metricsToken: { header: "Authorization", before: "Bearer ", variable: "METRICS_TOKEN" },
  session: { header: "Cookie", before: `${sessionCookieName}=`, variable: "ACCESS_TOKEN" },
};

/** Returns an example request in each language, with environment variables for secrets. */
export function codeSamples(operation: Operation, context: OperationContext): CodeSample[] {
  const request = exampleRequest(operation, context);
  return [
    { language: "sh", code: curlOf(request) },
    { language: "ts", code: typeScriptOf(request) },
    { language: "py", code: pythonOf(request) },
  ];
}

function exampleRequest(operation: Operation, context: OperationContext): ExampleRequest {
  const { method, path, origin, schemas } = context;
  const address = (operation.parameters ?? []).filter((one) => one.in === "path").reduce(
    (text, one) => text.replace(`{${one.name}}`, encodeURIComponent(String(exampleOf(one.schema, schemas)))),
    origin + path,
  );
  const body = operation.requestBody?.content["application/json"]?.example;
  const [scheme = ""] = Object.keys(operation.security[0] ?? {});
  return {
    method: method.toUpperCase(),
    url: address,
    secret: secrets[scheme] ?? null,
    // The content type is required even without a body: see the middleware against cross-site requests.
    isJson: body !== undefined || (method === "post" && !path.startsWith("/api/v1/")),
    body,
  };
}

function curlOf({ method, url, secret, isJson, body }: ExampleRequest): string {
  const lines = [`curl ${method === "GET" ? "" : `-X ${method} `}${quoted(url)}`];
  if (secret?.header === "Cookie") lines.push(`-b "${secret.before}$${secret.variable}"`);
  else if (secret !== null) lines.push(`-H "${secret.header}: ${secret.before}$${secret.variable}"`);
  if (isJson) lines.push(`-H "Content-Type: application/json"`);
  if (body !== undefined) lines.push(`-d ${quoted(JSON.stringify(body, null, 2))}`);
  return lines.join(" \\\n  ");
}

function quoted(text: string): string {
  return /^[\w:/.-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function typeScriptOf({ method, url, secret, isJson, body }: ExampleRequest): string {
  const headers = [
    ...secret === null
      ? []
      : [`    "${secret.header}": \`${secret.before}\${process.env.${secret.variable}}\`,`],
    ...isJson ? [`    "Content-Type": "application/json",`] : [],
  ];
  const options = [
    ...method === "GET" ? [] : [`  method: "${method}",`],
    ...headers.length === 0 ? [] : ["  headers: {", ...headers, "  },"],
    ...body === undefined ? [] : [`  body: JSON.stringify(${indented(typeScriptLiteral(body))}),`],
  ];
  const expression = options.length === 0
    ? `fetch(${JSON.stringify(url)});`
    : [`fetch(${JSON.stringify(url)}, {`, ...options, "});"].join("\n");
  return `const response = await ${expression}\nconsole.log(response.status, await response.text());`;
}

/** JSON whose names need no quotes where they are identifiers. */
function typeScriptLiteral(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(/^( *)"([A-Za-z_$][\w$]*)":/gm, "$1$2:");
}

function pythonOf({ method, url, secret, isJson, body }: ExampleRequest): string {
  const headers = [
    ...secret === null ? [] : [`"${secret.header}": f"${secret.before}{os.environ['${secret.variable}']}"`],
    // With `json`, the library sets it.
    ...isJson && body === undefined ? [`"Content-Type": "application/json"`] : [],
  ];
  const options = [
    ...headers.length === 0 ? [] : [`    headers={${headers.join(", ")}},`],
    ...body === undefined ? [] : [`    json=${indented(pythonLiteral(body, "  "), "    ")},`],
  ];
  const name = method.toLowerCase();
  return [
    ...secret === null ? [] : ["import os"],
    "import requests",
    "",
    ...options.length === 0
      ? [`response = requests.${name}(${JSON.stringify(url)})`]
      : [`response = requests.${name}(`, `    ${JSON.stringify(url)},`, ...options, ")"],
    "print(response.status_code, response.text)",
  ].join("\n");
}

/** Writes a value as Python does. The strings of JSON are strings of Python too. */
function pythonLiteral(value: unknown, indent: string): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const parts = Array.isArray(value)
    ? value.map((one) => pythonLiteral(one, `${indent}  `))
    : Object.entries(value).map(([name, one]) =>
      `${JSON.stringify(name)}: ${pythonLiteral(one, `${indent}  `)}`
    );
  if (parts.length === 0) return `${open}${close}`;
  return `${open}\n${parts.map((part) => `${indent}${part},\n`).join("")}${indent.slice(2)}${close}`;
}

function indented(text: string, by = "  "): string {
  return text.replaceAll("\n", `\n${by}`);
}

// Writes packages/client/src/api.ts: the schemas of the OpenAPI document that the client uses, as TypeScript interfaces.
// Run by `deno task client:types`.
// deno-lint-ignore no-import-prefix
import openapiTS from "npm:openapi-typescript@7.13.0";
// deno-lint-ignore no-import-prefix
import ts from "npm:typescript@5.9.3";
import { root } from "../build/sources.ts";
import { runLines } from "../runner/guides.ts";
import { startTestApp } from "../app/app.ts";

/** Where the types are, from the repository's root. */
export const clientTypesPath = "packages/client/src/api.ts";
const used = ["CreateHoldFor", "HeldRoom", "KeyVerification", "SettledHold", "VerifyKey"];

type Schemas = Readonly<Record<string, unknown>>;

/** @returns Schemas of the program's OpenAPI document, and those that they refer to, as the text of a module. Default: that of api.ts. */
export async function clientTypes(names: readonly string[] = used): Promise<string> {
  const test = await startTestApp();
  try {
    const document = await (await test.send("/api/openapi.json")).json() as {
      components: { schemas: Schemas };
    };
    const schemas = Object.fromEntries(
      withReferences(document.components.schemas, names).map((
        name,
      ) => [name, document.components.schemas[name]]),
    );
    const nodes = await openapiTS(
      JSON.stringify({ ...document, paths: {}, webhooks: {}, components: { schemas } }),
      {
        immutable: true,
        // Fields with a default may be left out of requests.
        defaultNonNullable: false,
      },
    );
    const stdin = interfaces(nodes);
    return await runLines(`'${Deno.execPath()}' fmt --ext=ts -`, { cwd: root, stdin });
  } finally {
    await test.dispose();
  }
}

function withReferences(schemas: Schemas, first: readonly string[]): string[] {
  const names = new Set(first);
  // Also visits the names that the loop adds.
  for (const name of names) {
    for (const [, other] of JSON.stringify(schemas[name]).matchAll(/#\/components\/schemas\/(\w+)/g)) {
      names.add(other!);
    }
  }
  return [...names].sort();
}

/** Names each schema, so that editors show `KeyVerification` instead of all of its fields. */
function interfaces(nodes: readonly ts.Node[]): string {
  const printer = ts.createPrinter();
  const file = ts.createSourceFile("api.ts", "", ts.ScriptTarget.Latest);
  const print = (node: ts.Node) => printer.printNode(ts.EmitHint.Unspecified, node, file);
  const components = nodes.filter(ts.isInterfaceDeclaration).find(({ name }) => name.text === "components")!;
  const schemas = components.members.filter(ts.isPropertySignature)
    .find(({ name }) => (name as ts.Identifier).text === "schemas")?.type as ts.TypeLiteralNode;
  const declarations = schemas.members.filter(ts.isPropertySignature).map((member) => {
    const name = (member.name as ts.Identifier).text;
    const comments = ts.getSyntheticLeadingComments(member)?.map(({ text }) => `/*${text}*/\n`).join("") ??
      "";
    return `${comments}export interface ${name} ${print(member.type!)}`;
  });
  return `// Generated from the OpenAPI document by \`deno task client:types\`.\n\n${
    declarations.join("\n\n")
  }\n`
    .replace(/components\["schemas"\]\["(\w+)"\]/g, "$1")
    .replaceAll("@description ", "").replaceAll("*     - ", "* - ")
    .replaceAll(/\n +\* (@example|@enum|Format:)(?:(?!\n +\* [@A-Z]|\n +\*\/)[^])*/g, "")
    .replaceAll(/\/\*\*\n +\* (.*)\n +\*\//g, "/** $1 */");
}

if (import.meta.main) {
  await Deno.writeTextFile(new URL(`../../../${clientTypesPath}`, import.meta.url), await clientTypes());
  // The threads of the test app would keep the process alive.
  Deno.exit();
}

// The clients for products, which no registry has: files of this server's version, with their checksums.
import { hash } from "node:crypto";
import gatehousePy from "../../../packages/python/gatehouse.py" with { type: "text" };
import type { DocsText } from "../../../views/docs/docs_page.tsx";
import { renderMarkdown, splitMarkdown } from "../../../views/docs/markdown.tsx";

export const downloadsPath = "/download/";

interface Download {
  readonly name: string;
  readonly type: string;
  readonly content: Uint8Array<ArrayBuffer>;
}

/** Finds a client, or the list of their checksums. */
export async function findDownload(version: string, name: string): Promise<Download | undefined> {
  const clients = await readClients(version);
  const sums = clients.map((client) => `${checksum(client)}  ${client.name}\n`).join("");
  const list = { name: "SHA256SUMS", type: "text/plain; charset=utf-8", content: encode(sums) };
  return [...clients, list].find((file) => file.name === name);
}

/** Renders the page that lists the clients. */
export async function describeDownloads(
  { version, origin }: { version: string; origin: string },
): Promise<DocsText> {
  const clients = await readClients(version);
  const [python, npm] = clients;
  const address = ({ name }: Download) => `${origin}${downloadsPath}${name}`;
  const table = clients.map((client) =>
    `| [${client.name}](${address(client)}) | ${client.content.length} bytes | \`${checksum(client)}\` |`
  );
  const install = npm === undefined
    ? "This server runs from source and has no package. `./denow task client` builds it."
    : `\`\`\`sh\nnpm install ${address(npm)}\n\`\`\``;
  const markdown = `Clients for your products, of the same version as this server: ${version}.

## Install the package for TypeScript and JavaScript

${install}

## Install the file for Python

\`\`\`sh
curl --fail --remote-name ${python === undefined ? "" : address(python)}
\`\`\`

## Check a download

\`\`\`sh
curl --fail --silent ${origin}${downloadsPath}SHA256SUMS | sha256sum --check --ignore-missing
\`\`\`

| File | Size | SHA-256 |
| --- | --- | --- |
${table.join("\n")}
`;
  const part = splitMarkdown(markdown, []).get("");
  if (part === undefined) throw new Error("the page has no text");
  return renderMarkdown(part, { link: (href) => href, code: (text) => text });
}

/** Reads the clients. The package is missing from source until `deno task client` has built it. */
async function readClients(version: string): Promise<Download[]> {
  const python = { name: "gatehouse.py", type: "text/x-python; charset=utf-8", content: encode(gatehousePy) };
  const name = `gatehouse-client-${version}.tgz`;
  try {
    const content = await Deno.readFile(new URL(`../../../dist/${name}`, import.meta.url));
    return [python, { name, type: "application/gzip", content }];
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [python];
    throw error;
  }
}

function checksum({ content }: Download): string {
  return hash("sha256", content, "hex");
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

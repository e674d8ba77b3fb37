// A real S3 server from npm, s3rver, as the target of continuous backups. In front of it, a proxy checks signatures with another
// implementation, aws4fetch, because s3rver doesn't, and makes requests fail.
import { createHash } from "node:crypto";
import { S3Target } from "../../../db/engine/stream/s3.ts";
import { npm } from "../client/package.ts";
import { freePort } from "../database/sqld.ts";
import { isMissing } from "../runner/needs.ts";
import { poll } from "../runner/poll.ts";

/** Those that s3rver knows. */
export const storeCredentials = { region: "eu-central-1", accessKeyId: "S3RVER", secretAccessKey: "S3RVER" };
const bucket = "copies";

export interface S3Server {
  readonly endpoint: string;
  readonly target: S3Target;
  /** Settings of a server that copies to it. */
  readonly env: Readonly<Record<`BACKUP_S3_${string}` | "BACKUP_STREAM_TO", string>>;
  /**
   * Each n-th request fails, in turn before it reaches the server and after it was done. The ones that failed succeed the next time.
   */
  failEach: number;
  /** The status with which requests fail. */
  failWith: number;
  /** The most objects in a page of a list. */
  pageObjects: number;
  /** If false, the access key may not delete. */
  mayDelete: boolean;
  /** Called before an object is stored. */
  beforePut: (path: string) => Promise<void>;
  /** How many requests have failed before and after they were done. */
  readonly failed: { before: number; after: number };
}

/** Of aws4fetch. */
type Signer = new (request: Record<string, unknown>) => { sign(): Promise<{ headers: Headers }> };

let installed: Promise<string> | undefined;

/** @returns A folder with both packages, which is removed after all tests. */
async function install(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-s3rver-" });
  globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
  await Deno.writeTextFile(`${folder}/package.json`, "{}");
  await npm("install s3rver@3.7.1 aws4fetch@1.0.20", folder);
  return folder;
}

/** Runs a test with an empty bucket. It is skipped without Node. */
export function s3Test(
  name: string,
  test: (server: S3Server) => Promise<void>,
  options: Omit<Deno.TestDefinition, "name" | "fn"> = {},
): void {
  const ignore = isMissing("npm", "node");
  Deno.test({ name, ignore, ...options, fn: () => withServer(test) });
}

async function withServer(test: (server: S3Server) => Promise<void>): Promise<void> {
  const folder = await (installed ??= install());
  const objects = await Deno.makeTempDir({ prefix: "gatehouse-s3-objects-" });
  const port = freePort();
  const options = [
    "--directory",
    objects,
    "--address",
    "127.0.0.1",
    "--port",
    String(port),
    "--configure-bucket",
    bucket,
  ];
  const program = new Deno.Command("node", {
    // For its tokens of the next page.
    args: [
      "--openssl-legacy-provider",
      `${folder}/node_modules/s3rver/bin/s3rver.js`,
      "--silent",
      ...options,
    ],
    stdin: "null",
    stdout: "null",
    stderr: "inherit",
  }).spawn();
  const { AwsV4Signer: Signer } = await import(
    `file://${folder}/node_modules/aws4fetch/dist/aws4fetch.esm.mjs`
  );
  const state = {
    ...{ failEach: Infinity, failWith: 503, mayDelete: true, pageObjects: 1_000 },
    failed: { before: 0, after: 0 },
    beforePut: () => Promise.resolve(),
  };
  const proxy = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    proxyTo(port, { Signer, state }),
  );
  try {
    await poll(async () => {
      const response = await fetch(`http://127.0.0.1:${port}/`).catch(() => null);
      await response?.body?.cancel();
      return response !== null;
    });
    const endpoint = `http://127.0.0.1:${proxy.addr.port}`;
    const target = new S3Target({ kind: "s3", bucket, prefix: "gatehouse", endpoint, ...storeCredentials });
    const env = {
      BACKUP_STREAM_TO: `s3://${bucket}/gatehouse`,
      BACKUP_S3_REGION: storeCredentials.region,
      BACKUP_S3_ENDPOINT: endpoint,
      BACKUP_S3_ACCESS_KEY_ID: storeCredentials.accessKeyId,
      BACKUP_S3_SECRET_ACCESS_KEY: storeCredentials.secretAccessKey,
    };
    await test(Object.assign(state, { endpoint, target, env }));
  } finally {
    await proxy.shutdown();
    program.kill("SIGKILL");
    await program.status;
    await Deno.remove(objects, { recursive: true });
  }
}

function proxyTo(
  port: number,
  { Signer, state }: { Signer: Signer; state: Omit<S3Server, "endpoint" | "target" | "env"> },
): (request: Request) => Promise<Response> {
  let requests = 0;
  const again = new Set<string>();
  const failure = (status: number, code: string) =>
    new Response(`<Error><Code>${code}</Code></Error>`, { status });
  return async (request) => {
    const { pathname, search } = new URL(request.url);
    const body = await request.bytes();
    const [hash, datetime] = ["x-amz-content-sha256", "x-amz-date"].map((name) =>
      request.headers.get(name) ?? ""
    );
    const signer = new Signer({
      ...{ ...storeCredentials, service: "s3", method: request.method, url: request.url, datetime },
      headers: { "x-amz-content-sha256": hash },
    });
    const isSigned =
      (await signer.sign()).headers.get("authorization") === request.headers.get("authorization") &&
      hash === createHash("sha256").update(body).digest("hex");
    if (!isSigned) return failure(403, "SignatureDoesNotMatch");
    if (request.method === "DELETE" && !state.mayDelete) return failure(403, "AccessDenied");
    const same = `${request.method} ${request.url} ${hash}`;
    const fails = !again.delete(same) && ++requests % state.failEach === 0;
    if (fails) again.add(same);
    if (fails && requests / state.failEach % 2 === 1) {
      state.failed.before++;
      return failure(state.failWith, "SlowDown");
    }
    if (request.method === "PUT") await state.beforePut(pathname);
    const isList = request.method === "GET" && search.includes("list-type");
    const response = await fetch(
      `http://127.0.0.1:${port}${pathname}${search}${isList ? `&max-keys=${state.pageObjects}` : ""}`,
      {
        method: request.method,
        headers: request.method === "PUT" ? { "content-type": "application/octet-stream" } : {},
        body: request.method === "PUT" ? body : null,
      },
    );
    const bytes = await response.bytes();
    if (fails) {
      state.failed.after++;
      return failure(state.failWith, "InternalError");
    }
    const hasBody = bytes.length > 0;
    return new Response(hasBody ? bytes : null, { status: response.status, headers: response.headers });
  };
}

// An S3-compatible store in memory, for targets of continuous backups.
import { S3Target, signedHeaders } from "../../../db/engine/stream/s3.ts";

export const storeCredentials = {
  region: "us-east-1",
  accessKeyId: "AKIAIOSFODNN7EXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
};

export interface Store {
  readonly objects: Map<string, Uint8Array>;
  /** Each n-th request fails, after it was done. */
  failEach: number;
  endpoint: string;
}

/** A store in memory that checks signatures, and lists two objects a page. */
export async function withStore(
  test: (target: S3Target, store: Store) => Promise<void>,
): Promise<void> {
  const store: Store = { objects: new Map<string, Uint8Array>(), failEach: Infinity, endpoint: "" };
  let requests = 0;
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    const url = new URL(request.url);
    const body = new Uint8Array(await request.arrayBuffer());
    const time = request.headers.get("x-amz-date") ?? "";
    const now = new Date(time.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, "$1-$2-$3T$4:$5:$6Z"));
    const expected = signedHeaders({ ...storeCredentials, method: request.method, url, body, now });
    if (request.headers.get("authorization") !== expected["authorization"]) {
      return new Response("<Code>SignatureDoesNotMatch</Code>", { status: 403 });
    }
    const response = respond(request.method, { url, body, objects: store.objects });
    // Also after it was stored.
    return ++requests % store.failEach === 0
      ? new Response("<Code>SlowDown</Code>", { status: 503 })
      : response;
  });
  try {
    const endpoint = store.endpoint = `http://127.0.0.1:${server.addr.port}`;
    await test(
      new S3Target({ kind: "s3", bucket: "copies", prefix: "eu", endpoint, ...storeCredentials }),
      store,
    );
  } finally {
    await server.shutdown();
  }
}

function respond(
  method: string,
  { url, body, objects }: { url: URL; body: Uint8Array; objects: Map<string, Uint8Array> },
): Response {
  const key = decodeURIComponent(url.pathname.replace(/^\/copies\/?/, ""));
  if (key === "") {
    const { prefix = "", "continuation-token": token = "" } = Object.fromEntries(url.searchParams);
    const keys = [...objects.keys()].filter((one) => one.startsWith(prefix) && one > token).sort();
    const contents = keys.slice(0, 2).map((one) =>
      `<Contents><Key>${one.replaceAll("&", "&amp;")}</Key><Size>${
        objects.get(one)?.length
      }</Size></Contents>`
    ).join("");
    const next = keys.length > 2 ? `<NextContinuationToken>${keys[1]}</NextContinuationToken>` : "";
    return new Response(
      `<ListBucketResult><IsTruncated>${keys.length > 2}</IsTruncated>${next}${contents}</ListBucketResult>`,
    );
  }
  if (method === "PUT") objects.set(key, body);
  if (method === "DELETE") objects.delete(key);
  const found = objects.get(key);
  if (method === "GET" && found === undefined) return new Response("<Code>NoSuchKey</Code>", { status: 404 });
  return new Response(method === "GET" ? found as BodyInit : null, {
    headers: { "last-modified": new Date(Date.now() - 60_000).toUTCString() },
  });
}

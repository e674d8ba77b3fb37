// Traefik and Envoy as far as authorization goes, because neither can be installed here: the request that each makes of a
// client's, byte by byte, and what each makes of the response. Modelled on pkg/middlewares/auth/forward.go of Traefik 3.6 and
// source/extensions/filters/common/ext_authz/ext_authz_http_impl.cc of Envoy 1.38.
import { connectTo } from "./connection.ts";
import { poll } from "../runner/poll.ts";

type Headers = readonly (readonly [name: string, value: string])[];

export interface ClientRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly host: string;
  /** Repeated names are repeated headers. */
  readonly headers: Headers;
  readonly address: string;
}

/** Builds a request of a client. @param headers Those besides what curl sends. */
export const requestOf = (
  headers: ClientRequest["headers"],
  rest: Partial<ClientRequest> = {},
): ClientRequest => ({
  method: "POST",
  target: "/v1/tiles/7?zoom=3",
  host: "api.example.com",
  address: "203.0.113.7",
  headers: [
    ["User-Agent", "curl/8.14.1"],
    ["Content-Type", "application/json"],
    ["Content-Length", "17"],
    ...headers,
  ],
  ...rest,
});

export interface GatewayResponse {
  readonly status: number;
  readonly headers: globalThis.Headers;
  readonly body: string;
}

/** The headers that the application gets, or the response that the client gets instead. */
export type Outcome = { readonly passed: Headers } | { readonly denied: GatewayResponse };

/** Names that end with the connection (RFC 9110, section 7.6.1), and those that `Connection` names. */
function withoutHopHeaders(headers: Headers): Headers {
  const named = headers.filter(([name]) => name.toLowerCase() === "connection")
    .flatMap(([, value]) => value.split(",").map((part) => part.trim().toLowerCase()));
  const hop = new Set([
    ...["connection", "keep-alive", "te", "trailers", "transfer-encoding", "upgrade"],
    ...named,
  ]);
  return headers.filter(([name]) => !hop.has(name.toLowerCase()));
}

/** Sends a request as its bytes, and reads the response. @throws If there is none. */
export async function exchange(
  baseUrl: string,
  method: string,
  target: string,
  headers: Headers,
): Promise<GatewayResponse> {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const connection = await connectTo(baseUrl, `${method} ${target} HTTP/1.1\r\n${lines}\r\n`);
  try {
    let response: GatewayResponse | null = null;
    await poll(() =>
      Promise.resolve((response = parse(connection.received())) !== null || connection.isClosed())
    );
    if (response === null) throw new Error("no response");
    return response;
  } finally {
    connection.close();
  }
}

function parse(received: string): GatewayResponse | null {
  const end = received.indexOf("\r\n\r\n");
  if (end < 0) return null;
  const [status = "", ...lines] = received.slice(0, end).split("\r\n");
  const headers = new globalThis.Headers(lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()] as [string, string];
  }));
  const body = received.slice(end + 4);
  if (new TextEncoder().encode(body).length < Number(headers.get("content-length") ?? 0)) return null;
  return { status: Number(status.split(" ")[1]), headers, body };
}

/** @param options `address`: of `forwardAuth`. `replaced`: `authResponseHeadersRegex`. `removed`: what the next middleware removes. */
export async function throughTraefik(
  baseUrl: string,
  request: ClientRequest,
  options: { address: string; replaced: RegExp; removed?: readonly string[] },
): Promise<Outcome> {
  const { address, replaced, removed = [] } = options;
  const url = new URL(address);
  const forwarded = {
    "X-Forwarded-For": request.address,
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Method": request.method,
    "X-Forwarded-Host": request.host,
    "X-Forwarded-Uri": request.target,
  };
  // Go's client sets the length itself, and none without a body.
  const set = new Set([...Object.keys(forwarded).map((name) => name.toLowerCase()), "content-length"]);
  const copied = withoutHopHeaders(request.headers).filter(([name]) => !set.has(name.toLowerCase()));
  const sent: Headers = [["Host", url.host], ...copied, ...Object.entries(forwarded), [
    "Accept-Encoding",
    "gzip",
  ]];
  const response = await exchange(baseUrl, "GET", url.pathname + url.search, sent);
  if (response.status < 200 || response.status >= 300) return { denied: response };
  const own = request.headers.filter(([name]) =>
    !replaced.test(name) && !removed.includes(name.toLowerCase())
  );
  return { passed: [...own, ...[...response.headers].filter(([name]) => replaced.test(name))] };
}

/** @param options What the configuration of `ext_authz`, the connection manager and the virtual host says. */
export async function throughEnvoy(
  baseUrl: string,
  request: ClientRequest,
  options: {
    target: (of: string) => string;
    sent: readonly string[];
    setUpstream: (name: string) => boolean;
    removed: readonly string[];
    statusOnError: number;
    rejectsUnderscores: boolean;
  },
): Promise<Outcome> {
  const local = (status: number): Outcome => ({
    denied: { status, headers: new globalThis.Headers(), body: "" },
  });
  if (options.rejectsUnderscores && request.headers.some(([name]) => name.includes("_"))) return local(400);
  const client = withoutHopHeaders(request.headers).map(([name, value]) =>
    [name.toLowerCase(), value] as const
  );
  const previous = client.filter(([name]) => name === "x-forwarded-for").map(([, value]) => value);
  const headers: Headers = [
    ...client.filter(([name]) => name !== "x-forwarded-for"),
    ["x-forwarded-for", [...previous, request.address].join(",")],
  ];
  const allowed = ["authorization", ...options.sent];
  const sent = allowed.flatMap((name) => {
    const values = headers.filter(([other]) => other === name).map(([, value]) => value);
    return values.length === 0 ? [] : [[name, values.join(",")] as const];
  });
  const response = await exchange(baseUrl, request.method, options.target(request.target), [
    ["host", request.host],
    ["content-length", "0"],
    ...sent,
    ["x-envoy-expected-rq-timeout-ms", "5000"],
  ]).catch((error) => {
    if (error instanceof Deno.errors.ConnectionRefused) return null;
    throw error;
  });
  if (response === null || response.status >= 500) return local(options.statusOnError);
  if (response.status !== 200) return { denied: response };
  const set = [...response.headers].filter(([name]) => options.setUpstream(name));
  const replaced = new Set(set.map(([name]) => name));
  return {
    passed: [...headers.filter(([name]) => !replaced.has(name)), ...set].filter(([name]) =>
      !options.removed.includes(name)
    ),
  };
}

/** @returns The values of a header, by any case and with `_` and `.` for `-`, as applications may read it. */
export function valuesOf(headers: Headers, name: string): string[] {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[_.]/g, "-");
  return headers.filter(([other]) => plain(other) === name).map(([, value]) => value);
}

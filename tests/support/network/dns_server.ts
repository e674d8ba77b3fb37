// A DNS server on a free UDP port of this machine.
import ipaddr from "ipaddr.js";

export interface DnsServer {
  /** For {@linkcode Deno.resolveDns}. */
  readonly nameServer: { readonly ipAddr: string; readonly port: number };
  /** Addresses by name, IPv4 and IPv6. Other names have none. */
  readonly hosts: Map<string, readonly string[]>;
  /** TXT records by name. */
  readonly texts: Map<string, readonly string[]>;
  /** Called before each response, for servers that change what they say. */
  onQuery: (name: string) => void;
  /** True while it receives queries without responding. */
  isSilent: boolean;
  stop(): Promise<void>;
}

export function startDnsServer(): DnsServer {
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  const server = {
    nameServer: { ipAddr: "127.0.0.1", port: (socket.addr as Deno.NetAddr).port },
    hosts: new Map<string, readonly string[]>(),
    texts: new Map<string, readonly string[]>(),
    onQuery: (_name: string) => {},
    isSilent: false,
    async stop() {
      socket.close();
      await serving;
    },
  };
  const serving = (async () => {
    for await (const [query, sender] of socket) {
      if (!server.isSilent) await socket.send(response(query, server), sender);
    }
  })();
  return server;
}

/** RFC 1035: a header of 12 bytes, the question as it was asked, and one record for each value of its type. */
function response(
  query: Uint8Array,
  { hosts, texts, onQuery }: Pick<DnsServer, "hosts" | "texts" | "onQuery">,
): Uint8Array {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(new TextDecoder().decode(query.subarray(at + 1, at + 1 + length)));
    at += 1 + length;
  }
  const question = query.subarray(12, at + 5);
  const name = labels.join(".").toLowerCase();
  onQuery(name);
  const type = { 1: "ipv4", 16: "txt", 28: "ipv6" }[query[at + 2] ?? 0];
  const addresses = (hosts.get(name) ?? []).map((text) => ipaddr.parse(text));
  const values = type === "txt"
    ? (texts.get(name) ?? []).map(characterStrings)
    : addresses.filter((address) => address.kind() === type).map((address) => address.toByteArray());
  const records = values.map((bytes) => // A pointer to the question's name; its type; class IN; a TTL of 0.
  [0xc0, 12, ...question.slice(-4, -2), 0, 1, 0, 0, 0, 0, bytes.length >> 8, bytes.length & 255, ...bytes]);
  const header = [...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, records.length, 0, 0, 0, 0];
  return new Uint8Array([...header, ...question, ...records.flat()]);
}

/** The text of a TXT record in strings of at most 255 bytes, each behind its length. */
function characterStrings(text: string): number[] {
  const bytes = [...new TextEncoder().encode(text)];
  const count = Math.max(1, Math.ceil(bytes.length / 255));
  return Array.from({ length: count }, (_, index) => bytes.slice(index * 255, (index + 1) * 255))
    .flatMap((part) => [part.length, ...part]);
}

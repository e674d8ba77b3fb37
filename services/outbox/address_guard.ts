// Checks addresses that customers choose, before anything connects to them: the network of this server must stay out of
// their reach.
import type { Config } from "../../config.ts";
import { type AddressBlock, parseAddressBlock } from "../../domain/address_block.ts";
import { validationError, webhookAddressError } from "../../domain/errors.ts";
import { webhookUrlCharactersMax } from "../../domain/outbox/webhook_limits.ts";
import { type Address, isInBlocks, parseAddress } from "../address_blocks.ts";

/** Returns the addresses of a host. Rejects if it has none. */
export type ResolveHost = (host: string, signal: AbortSignal | undefined) => Promise<readonly string[]>;

/** Reports an address that may not be reached. */
export class BlockedAddressError extends Error {
  override readonly name = "BlockedAddressError";
}

/** For a check before anything is sent. */
const resolveTimeoutMs = 5_000;

/** Addresses where clouds serve credentials: link-local ones, also embedded for NAT64 and 6to4, and one of AWS. */
const neverAllowed = blocks(
  ...["169.254.0.0/16", "fe80::/10", "64:ff9b::a9fe:0/112", "2002:a9fe::/32", "fd00:ec2::254"],
);
/** IPv6 addresses outside are not assigned. Some of them embed IPv4 addresses, such as `::7f00:1`. */
const assignedIpv6 = blocks("2000::/3");
const privateRanges: ReadonlySet<string> = new Set(["private", "loopback", "uniqueLocal", "carrierGradeNat"]);

/** Decides which URLs and addresses may be reached. */
export class AddressGuard {
  readonly #allowedHosts: ReadonlySet<string>;
  readonly #allowedBlocks: readonly AddressBlock[];
  readonly #resolve: ResolveHost;

  constructor(config: Pick<Config, "webhookAllowedHosts">, resolve: ResolveHost = lookUp) {
    const allowed = config.webhookAllowedHosts;
    this.#allowedHosts = new Set(allowed.flatMap((one) => "host" in one ? [one.host] : []));
    this.#allowedBlocks = allowed.flatMap((one) => "host" in one ? [] : [one]);
    this.#resolve = resolve;
  }

  /**
   * Parses a URL without resolving its host.
   *
   * @throws {AppError} `validation_failed` or `webhook_address_blocked`, for the field `url`.
   */
  parse(text: string): URL {
    const url = URL.parse(text);
    if (url === null || !/^https?:$/.test(url.protocol)) throw urlError("must be an https URL.");
    if (Math.max(text.length, url.href.length) > webhookUrlCharactersMax) {
      throw urlError(`must be at most ${webhookUrlCharactersMax} characters.`);
    }
    if (url.username !== "" || url.password !== "") throw urlError("must not contain credentials.");
    if (text.includes("#")) throw urlError("must not contain a fragment.");
    const mayBeHttp = this.#allowedHosts.has(hostOf(url)) || this.#allowedBlocks.length > 0;
    if (url.protocol === "http:" && !mayBeHttp) throw webhookAddressError("must begin with “https://”.");
    return url;
  }

  /**
   * Resolves the host of a parsed URL. A connection must go to one of these very addresses.
   *
   * @throws {BlockedAddressError} If any address isn't allowed. Other errors mean that the host has no address.
   */
  async addressesOf(url: URL, signal?: AbortSignal): Promise<readonly string[]> {
    const host = hostOf(url);
    const isAllowedHost = this.#allowedHosts.has(host);
    const found = parseAddress(host) === null ? await this.#resolve(host, signal) : [host];
    if (found.length === 0) throw new Error("the host has no address");
    const addresses = found.map((text) => {
      const address = parseAddress(text);
      if (address === null || !this.#isAllowed(address, { url, isAllowedHost })) {
        throw new BlockedAddressError();
      }
      return `${address}`;
    });
    return [...new Set(addresses)];
  }

  #isAllowed(address: Address, { url, isAllowedHost }: { url: URL; isAllowedHost: boolean }): boolean {
    if (isInBlocks(address, neverAllowed)) return false;
    if (isInBlocks(address, this.#allowedBlocks)) return true;
    const range = address.range();
    if (isAllowedHost && privateRanges.has(range)) return true;
    const isPublic = range === "unicast" && (address.kind() === "ipv4" || isInBlocks(address, assignedIpv6));
    return isPublic && (isAllowedHost || url.protocol === "https:");
  }

  /** Parses a URL and checks the addresses that its host has now. @throws {AppError} For the field `url`. */
  async check(text: string): Promise<URL> {
    const url = this.parse(text);
    try {
      await this.addressesOf(url, AbortSignal.timeout(resolveTimeoutMs));
    } catch {
      throw webhookAddressError();
    }
    return url;
  }
}

/** Returns a URL's host as a name or an address: without brackets, and without the dot of an absolute name. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
}

/**
 * Looks up a host in the hosts file and then in DNS. Unlike getaddrinfo, it needs no thread: with that, 32 names whose servers never
 * respond would keep all others waiting.
 */
export async function lookUp(
  host: string,
  signal: AbortSignal | undefined,
  options: Pick<Deno.ResolveDnsOptions, "nameServer"> = {},
): Promise<readonly string[]> {
  const resolve = (type: "A" | "AAAA") =>
    Deno.resolveDns(host, type, signal === undefined ? options : { ...options, signal });
  const results = await Promise.allSettled([resolve("A"), resolve("AAAA")]);
  const found = results.flatMap((result) => result.status === "fulfilled" ? result.value : []);
  // Servers often fail for the type that a host doesn't have.
  if (found.length === 0) throw (results[0] as PromiseRejectedResult).reason;
  return found;
}

function blocks(...texts: readonly string[]): AddressBlock[] {
  return texts.map(parseAddressBlock).filter((block) => block !== null);
}

function urlError(message: string) {
  return validationError([{ path: "url", message }]);
}

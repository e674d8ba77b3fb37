// Looks up TXT records, which prove who owns a domain.
import type { Config } from "../../config.ts";
import { txtTimeoutMs } from "../../domain/people/company_sign_in.ts";

/** Returns the texts at a name; none if it can't be found in time. */
export async function findTxtRecords(
  { dnsServer }: Pick<Config, "dnsServer">,
  name: string,
): Promise<readonly string[]> {
  try {
    const records = await Deno.resolveDns(name, "TXT", {
      ...dnsServer === undefined ? {} : { nameServer: dnsServer },
      signal: AbortSignal.timeout(txtTimeoutMs),
    });
    return records.map((parts) => parts.join("").trim());
  } catch {
    return [];
  }
}

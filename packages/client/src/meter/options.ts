// The options of a meter, with defaults from the environment.
import { rejectUnknown } from "../errors.ts";
import { fromEnvironment, serviceUrl } from "../http.ts";
import { requireSafeFolder } from "./folder.ts";
import type { MeterProblem } from "./problems.ts";

export interface MeterOptions {
  /** The address of Gatehouse. Default: the environment variable `GATEHOUSE_URL`. */
  url?: string | URL | undefined;
  /** An API key: all usage is recorded for its organization. Default: `GATEHOUSE_KEY`. */
  apiKey?: string | undefined;
  /** An operator token: each record names its organization or API key. Default: `GATEHOUSE_OPERATOR_TOKEN`. */
  operatorToken?: string | undefined;
  /**
   * A folder for records that wait to be sent, created if missing. Without it, they wait in memory. Use one folder for
   * each API key: a process sends records of others in the folder with its own key. Other users must not be able to
   * write to it.
   */
  spool?: string | undefined;
  /** The most records in one request. Default and maximum: 1,000. */
  batchRecordsMax?: number | undefined;
  /** The most bytes of records in one request. Default: 512 KiB. */
  batchBytesMax?: number | undefined;
  /** A record waits this long for others to be sent with. Default: 1,000 ms. */
  flushIntervalMs?: number | undefined;
  /** The most records that wait in memory, up to 128 MiB. Default: 100,000. */
  waitingRecordsMax?: number | undefined;
  /** The most bytes that wait in the spool. Default: 1 GiB. */
  spoolBytesMax?: number | undefined;
  /** The time limit of a request. Default: 10,000 ms. */
  timeoutMs?: number | undefined;
  /** Called when usage is delayed, and when sending resumes; when usage is rejected, dropped or rounded. Default: log to the console, at most every 10 seconds. */
  onProblem?: ((problem: MeterProblem) => void) | undefined;
  /** Closes the meter on SIGTERM, before the signal ends the process. Default: false. */
  handleSigterm?: boolean | undefined;
  /** Replaces `globalThis.fetch`. */
  fetch?: typeof fetch | undefined;
}

/** The most records in one request. */
const recordsMax = 1_000;

/**
 * @throws {TypeError} Without an address or exactly one of an API key and an operator token, with an unknown option, or if others can
 *   change the spool.
 */
export function meterSettings(options: MeterOptions) {
  const {
    url,
    apiKey: givenKey,
    operatorToken: givenToken,
    spool,
    batchRecordsMax,
    batchBytesMax,
    flushIntervalMs,
    waitingRecordsMax,
    spoolBytesMax,
    timeoutMs,
    onProblem,
    handleSigterm = false,
    fetch = (...request: Parameters<typeof globalThis.fetch>) => globalThis.fetch(...request),
    ...unknown
  } = options;
  rejectUnknown(unknown, "Meter");
  const address = serviceUrl(url);
  const isGiven = givenKey !== undefined || givenToken !== undefined;
  const apiKey = isGiven ? givenKey : fromEnvironment("GATEHOUSE_KEY");
  const operatorToken = isGiven ? givenToken : fromEnvironment("GATEHOUSE_OPERATOR_TOKEN");
  const credential = (apiKey || operatorToken)?.trim();
  if (!credential || (apiKey && operatorToken)) {
    throw new TypeError(
      "Meter: set exactly one of `apiKey` (GATEHOUSE_KEY) and `operatorToken` (GATEHOUSE_OPERATOR_TOKEN).",
    );
  }
  // Otherwise, the error of each request would show it in a log.
  if (!/^[\x21-\x7e]+$/.test(credential)) {
    throw new TypeError("Meter: the API key or operator token has invalid characters.");
  }
  if (spool !== undefined) requireSafeFolder(spool);
  const isOperator = !apiKey;
  return {
    endpoint: address + (isOperator ? "/api/operator/usage" : "/api/v1/usage/batch"),
    credential,
    isOperator,
    spool,
    onProblem,
    handleSigterm,
    batchRecordsMax: Math.min(positive(batchRecordsMax, recordsMax), recordsMax),
    batchBytesMax: positive(batchBytesMax, 512 * 1024),
    flushIntervalMs: positive(flushIntervalMs, 1_000),
    waitingRecordsMax: positive(waitingRecordsMax, 100_000),
    spoolBytesMax: positive(spoolBytesMax, 1024 ** 3),
    timeoutMs: positive(timeoutMs, 10_000),
    fetch,
  };
}

export type MeterSettings = Readonly<ReturnType<typeof meterSettings>>;

/** Returns the default for a missing or invalid value, such as `Number(undefined)`. */
function positive(value: number | undefined, usual: number): number {
  return value !== undefined && value >= 1 ? value : usual;
}

// Counts requests with an API key against how many it may make per second.
import type { KeyRate, RateOfKey } from "../../db/meter/key_rates.ts";
import { invalidApiKeyError } from "../../domain/errors.ts";
import type { Context } from "../context.ts";
import type { RateLimitState } from "../rate_limiter.ts";
import { OutdatedRateError } from "./known_keys.ts";

/** A request with a key, counted. */
export interface KeyCall {
  readonly keyHash: string;
  readonly rate: KeyRate;
  /** What the rate allows, and where the key stands; null for no limit. */
  readonly limit: { readonly perSecond: number; readonly state: RateLimitState } | null;
}

/**
 * Counts a request.
 *
 * @param options `isRecording`: the transaction that records checks the rate, so it needn't be current yet.
 * @returns Undefined for an invalid key.
 * @throws {DatabaseError}
 */
export async function countKeyCall(
  context: Context,
  keyHash: string,
  { isRecording }: { isRecording: boolean },
): Promise<KeyCall | undefined> {
  const key = await context.recorder.keys.find(keyHash);
  if (key === undefined) return undefined;
  const call = takeKeyCall(context, keyHash, key.rate);
  return isRecording && isAllowed(call) ? call : await recountKeyCall(context, call);
}

/** Counts a request by a rate that was just read. */
export function takeKeyCall(context: Context, keyHash: string, rate: KeyRate): KeyCall {
  const perSecond = perSecondOf(context, rate);
  if (perSecond === 0) return { keyHash, rate, limit: null };
  return {
    keyHash,
    rate,
    limit: { perSecond, state: context.rateLimits.apiKeyCalls.take(keyHash, perSecond) },
  };
}

/** @returns Whether the key may make the request. */
export function isAllowed({ limit }: KeyCall): boolean {
  return limit === null || limit.state.isAllowed;
}

/** @returns The request by the rate of now, counted once; undefined if the key doesn't work anymore. */
async function recountKeyCall(context: Context, call: KeyCall): Promise<KeyCall | undefined> {
  const { keyHash } = call;
  const key = await context.recorder.keys.current(keyHash);
  if (key === undefined) return undefined;
  const { rate } = key;
  if (rate.requestsPerSecond === call.rate.requestsPerSecond) return { ...call, rate };
  if (call.limit === null || !isAllowed(call)) return takeKeyCall(context, keyHash, rate);
  const perSecond = perSecondOf(context, rate);
  if (perSecond === 0) return { keyHash, rate, limit: null };
  const state = context.rateLimits.apiKeyCalls.peek(keyHash, perSecond);
  // The point that the request took is among those that are used.
  return { keyHash, rate, limit: { perSecond, state: { ...state, isAllowed: state.remaining >= 0 } } };
}

/** A request that is counted again when the key's rate has changed. */
export interface RecountedCall extends KeyCall {
  /** Receives the request by another rate. @throws {AppError} If it isn't allowed then. */
  readonly onRecount: (call: KeyCall) => void;
}

/**
 * Records the usage of a request, which must be allowed at the time of the transaction.
 *
 * @param call The request as counted. @param record Records it, unless its rate is outdated.
 * @throws What `record` and `onRecount` throw; {AppError} `invalid_api_key` for a key that doesn't work anymore.
 */
export async function recordAtRate<T>(
  context: Context,
  { onRecount, ...call }: RecountedCall,
  record: (counted: RateOfKey) => Promise<T>,
): Promise<T> {
  for (let counted: KeyCall = call;;) {
    try {
      return await record(counted);
    } catch (error) {
      if (!(error instanceof OutdatedRateError)) throw error;
      const next = await recountKeyCall(context, counted);
      if (next === undefined) throw invalidApiKeyError();
      onRecount(next);
      counted = next;
    }
  }
}

function perSecondOf({ config }: Context, { requestsPerSecond }: KeyRate): number {
  return requestsPerSecond ?? config.apiKeyRequestsPerSecond;
}

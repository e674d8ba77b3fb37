// The types that all routes share: the context of a request, and the parts of the app.
import type { Context, Hono } from "hono";
import type { Config } from "../config.ts";
import type { ClientInfo, SessionActor } from "../domain/access/actor.ts";
import type { AppError } from "../domain/errors.ts";
import type { BodyPlace } from "../services/body_room.ts";
import type { Deadlines } from "../services/deadlines.ts";
import type { CountedRequest } from "../services/meter/mod.ts";
import type { StreamState } from "../services/stream_state.ts";
import type { Services } from "../services/services.ts";
import type { CollectMetrics, MetricValues } from "./metric_set.ts";

export interface AppEnv {
  Variables: {
    /** Such as `req_0199…`; in every response and log line. */
    requestId: string;
    client: ClientInfo;
    actor: SessionActor | undefined;
    /** Domains of valid session cookies from before `COOKIE_DOMAIN` was changed; undefined until looked up. */
    formerDomains: readonly string[] | undefined;
    /** The request's headers by lower-case name. Reading them one by one from the request takes five times as long. */
    headers: Readonly<Record<string, string | undefined>>;
    /** Counted against its API key's requests per second. */
    keyRequest: CountedRequest | undefined;
    /** The hash of a key that doesn't work, with which the request was rejected. */
    invalidKey: string | undefined;
    /** True if everything that the request records or holds was recorded or held before. */
    isRepeat: boolean | undefined;
    deadlines: Deadlines;
    bodyRooms: Services["bodyRooms"];
    /** Holds the room reserved for the request's body. */
    bodyPlace: BodyPlace | undefined;
    /** Rejects an unknown sender before much of a body without a declared size is read. */
    lookUpSender: (() => Promise<void>) | undefined;
    isBodyLeft: boolean | undefined;
    /** Resolves when a late body has arrived after all. */
    unfinishedBody: Promise<unknown> | undefined;
    /** Headers of the response, which replace default ones. Hono's `c.header` takes five times as long before a response exists. */
    responseHeaders: readonly (readonly [name: string, value: string])[] | undefined;
    /** True for endpoints whose responses no browser shows, outside of `/api/`. */
    isForPrograms: boolean | undefined;
    error: AppError | undefined;
    /** The pattern of a hot route, or an empty one if no route matches; undefined where Hono's router knows it. */
    route: string | undefined;
    /** True if the request came with valid session cookies of two people, which were cleared. */
    hasConflict: boolean | undefined;
  };
  Bindings: {
    /** The TCP peer; missing in tests. */
    readonly remoteAddr?: { readonly hostname: string };
  };
}

export type AppContext = Context<AppEnv>;
export type App = Hono<AppEnv>;

/** The log for the operator. Never contains secrets. */
export interface Log {
  /** Undefined unless debug lines are logged. */
  readonly debug: ((message: string, values: Record<string, unknown>) => void) | undefined;
  warn(message: string, values: Record<string, unknown>): void;
  error(message: string, values: Record<string, unknown>): void;
}

export interface Metrics {
  readonly collect: CollectMetrics;
  /** Counts a response. @param startedAt When its request arrived, by `performance.now()`. */
  countResponse(c: AppContext, startedAt: number): void;
}

export interface AppParts {
  readonly config: Config;
  readonly services: Services;
  readonly log: Log;
  /** Prints a line on the terminal, in addition to the log. */
  readonly print?: (line: string) => void;
  readonly metrics: Metrics;
  /** Returns the metrics of all threads and of the process. @throws {AppError} As `collectAll`. */
  readonly allMetrics: () => Promise<readonly MetricValues[]>;
  /** Present with a continuous backup. */
  readonly streamState?: StreamState | undefined;
}

// What a request carries through the routes: facts of this request only.
import type { Context, Hono, MiddlewareHandler } from "hono";
import type { Config } from "../config.ts";
import type { ClientInfo, SessionActor } from "../domain/actor.ts";
import type { ErrorCode } from "../domain/errors.ts";
import type { BackupState } from "../services/backups.ts";
import type { Deadlines } from "../services/deadlines.ts";
import type { Services } from "../services/services.ts";

/** Facts of one request, and what the server knows of its connection. */
export interface AppEnv {
  Variables: {
    /** Such as `req_0199…`; in every answer and log line. */
    requestId: string;
    client: ClientInfo;
    /** Who acts, once that is known. */
    actor: SessionActor | undefined;
    /**
     * Domains of session cookies that came along and are of sessions of ours, from before `COOKIE_DOMAIN` was changed;
     * undefined while nobody has looked.
     */
    formerDomains: readonly string[] | undefined;
    /** The request's headers by lower-case name, read once: asking the request for each costs five times as much. */
    headers: Readonly<Record<string, string | undefined>>;
    /** Ends waits for a slow client. */
    deadlines: Deadlines;
    /** Rejects a sender who isn't known, before much of a body without a declared size is read. */
    lookUpSender: (() => Promise<void>) | undefined;
    /** Reading the body ended before the body did. */
    isBodyLeft: boolean | undefined;
    /** Reads the body, which did not arrive in time. */
    unfinishedBody: Promise<unknown> | undefined;
    /** Headers that go with whatever the answer will be, instead of the usual ones of the same name. Hono's `c.header` before an answer exists costs five times as much. */
    responseHeaders: readonly (readonly [name: string, value: string])[] | undefined;
    /** The code of the error that the response reports, for the metrics. */
    errorCode: ErrorCode | undefined;
  };
  Bindings: {
    /** The TCP peer, read only when it is asked for; missing in tests, which then count as loopback. */
    readonly remoteAddr?: { readonly hostname: string };
  };
}

export type AppContext = Context<AppEnv>;
export type App = Hono<AppEnv>;
export type AppMiddleware = MiddlewareHandler<AppEnv>;

/** Where the routes write what an operator should know. Values are never secrets. */
export interface Log {
  /** Missing when nobody listens, so that nothing is prepared for it. */
  readonly debug: ((message: string, values: Record<string, unknown>) => void) | undefined;
  warn(message: string, values: Record<string, unknown>): void;
  error(message: string, values: Record<string, unknown>): void;
}

/** What the routes are made from. */
export interface AppParts {
  readonly config: Config;
  readonly services: Services;
  readonly log: Log;
  /** Says something to the person at the terminal, besides the log. */
  readonly tell?: (line: string) => void;
  /** Of the scheduled backups; undefined without any. */
  readonly backups?: (() => BackupState) | undefined;
}

// Endpoints for signed-in people that respond with one JSON body, or with none.
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { SessionActor } from "../../domain/actor.ts";
import type { AppEnv, AppParts } from "../env.ts";
import type { Schema } from "../schemas/check.ts";
import { byActor } from "../session.ts";
import { type Endpoint, type Input, mount } from "./endpoint.ts";

/** Mounts an endpoint that requires a session. */
export type MountSessionEndpoint = <
  Body extends Schema = undefined,
  Query extends Schema = undefined,
  Params extends Schema = undefined,
>(
  endpoint: Omit<Endpoint<Body, Query, Params>, "security" | "tag">,
  handle: (actor: SessionActor, input: Input<Body, Query, Params>) => Promise<object | void>,
) => void;

/**
 * @param common What the endpoints share.
 * @returns A function that mounts an endpoint. Its handler returns the body; the status is the only one in `responses`.
 */
export function sessionEndpoints(
  app: OpenAPIHono<AppEnv>,
  parts: AppParts,
  common: Pick<Endpoint<Schema, Schema, Schema>, "tag">,
): MountSessionEndpoint {
  return (endpoint, handle) =>
    mount(app, { ...common, ...endpoint, security: "session" }, {
      ...byActor(parts),
      async handle(c, input, actor) {
        const status = Number(Object.keys(endpoint.responses)[0]) as ContentfulStatusCode;
        const body = await handle(actor, input);
        return body === undefined ? c.body(null, status) : c.json(body, status);
      },
    });
}

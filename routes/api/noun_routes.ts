// The API's routes of a noun: list, create, get, change, delete. A route that differs is mounted by hand next to them.
import { z } from "@hono/zod-openapi";
import type { AppContext } from "../env.ts";
import type { Output, Schema } from "../schemas/check.ts";
import { pageOf, pageQuerySchema } from "../schemas/common.ts";
import type { Endpoint, MountRoute } from "./endpoint.ts";

interface Noun<Params extends z.ZodType, Parent extends Schema> {
  /** The list's path in OpenAPI's form. */
  readonly path: `/${string}`;
  /** The name of one in responses, such as `product`. */
  readonly one: string;
  readonly many: string;
  readonly schema: z.ZodType;
  /** One in the list, if that has more. */
  readonly listed?: z.ZodType;
  /** The parameter at the end of the path of one, such as `{id}`. */
  readonly id: `{${string}}`;
  /** The parameters in the path of one. */
  readonly params: Params;
  /** The parameters in the path of the list, if there are any. */
  readonly parent?: Parent;
}

/** Texts of a route in the OpenAPI document. `response`: replaces the usual description of the response. */
type Words = Pick<Endpoint<Schema, Schema, Schema>, "operationId" | "summary" | "description" | "errors"> & {
  readonly response?: string;
};
type Verb<Input, Actor, Result> = (input: Input, actor: Actor, c: AppContext) => Promise<Result>;

/** Returns functions that mount the routes of a noun, each with its verb. */
export function nounRoutes<Actor, Params extends z.ZodType, Parent extends Schema = undefined>(
  route: MountRoute<Actor>,
  { path, one, many, schema, listed = schema, id, params, parent }: Noun<Params, Parent>,
) {
  type InOne = { readonly params: Output<Params> };
  type InList = { readonly params: Output<Parent> };
  const ofParent = parent === undefined ? {} : { params: parent };
  const onePath = `${path}/${id}` as const;
  const oneSchema = z.object({ [one]: schema });
  const found = (description = `The ${one}.`) => ({ description, schema: oneSchema });
  const page = pageOf(many, listed);
  return {
    /** `query`: the parameters, if the list has others than those of a page. */
    list<Query extends z.ZodType = typeof pageQuerySchema>(
      { query, response = `A page of ${many}.`, ...words }: Words & { readonly query?: Query },
      verb: Verb<InList & { readonly query: Output<Query> }, Actor, object>,
    ): void {
      route({
        ...words,
        ...ofParent,
        route: `GET ${path}`,
        query: (query ?? pageQuerySchema) as Query,
        responses: { 200: { description: response, schema: page } },
      }, (c, input, actor) => verb(input as Parameters<typeof verb>[0], actor, c));
    },
    /** Mounts a list that always fits in one response. */
    listAll(
      { response = `All ${many}.`, ...words }: Words,
      verb: Verb<InList, Actor, readonly object[]>,
    ): void {
      route({
        ...words,
        ...ofParent,
        route: `GET ${path}`,
        responses: { 200: { description: response, schema: z.object({ [many]: z.array(listed) }) } },
      }, async (c, input, actor) => ({ [many]: await verb(input as InList, actor, c) }));
    },
    create<Body extends z.ZodType>(
      { response, ...words }: Words & { readonly body: Body },
      verb: Verb<InList & { readonly body: Output<Body> }, Actor, object>,
    ): void {
      route(
        { ...words, ...ofParent, route: `POST ${path}`, responses: { 201: found(response) } },
        async (c, input, actor) => ({ [one]: await verb(input as Parameters<typeof verb>[0], actor, c) }),
      );
    },
    get({ response, ...words }: Words, verb: Verb<InOne, Actor, object>): void {
      route(
        { ...words, params, route: `GET ${onePath}`, responses: { 200: found(response) } },
        async (c, input, actor) => ({ [one]: await verb(input, actor, c) }),
      );
    },
    change<Body extends z.ZodType>(
      { response, ...words }: Words & { readonly body: Body },
      verb: Verb<InOne & { readonly body: Output<Body> }, Actor, object>,
    ): void {
      route(
        { ...words, params, route: `PATCH ${onePath}`, responses: { 200: found(response) } },
        async (c, input, actor) => ({ [one]: await verb(input, actor, c) }),
      );
    },
    delete({ response = "Deleted.", ...words }: Words, verb: Verb<InOne, Actor, void>): void {
      route(
        { ...words, params, route: `DELETE ${onePath}`, responses: { 204: { description: response } } },
        (c, input, actor) => verb(input, actor, c),
      );
    },
  };
}

// The API of operator tokens, for operator accounts only.
import type { OpenAPIHono } from "@hono/zod-openapi";
import {
  createOperatorToken,
  listOperatorTokens,
  revokeOperatorToken,
} from "../../../services/operator/operator_tokens.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { pageQuerySchema } from "../../schemas/common.ts";
import * as schemas from "../../schemas/operator_tokens.ts";
import { operatorRoutes } from "./operator_routes.ts";

const path = "/api/operator/tokens";

/** Mounts `/api/operator/tokens`. */
export function operatorTokenRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts);

  route({
    route: `GET ${path}`,
    access: "account",
    operationId: "listOperatorTokens",
    summary: "List operator tokens",
    description: "Newest first, including inactive tokens.",
    query: pageQuerySchema,
    responses: { 200: { description: "A page of tokens.", schema: schemas.operatorTokensSchema } },
  }, (_c, { query }) => listOperatorTokens(services, query));

  route(
    {
      route: `POST ${path}`,
      access: "account",
      operationId: "createOperatorToken",
      summary: "Create an operator token",
      body: schemas.createOperatorTokenSchema,
      responses: {
        201: {
          description: "The new token. The whole token appears only in this response.",
          schema: schemas.createdOperatorTokenSchema,
        },
      },
    },
    (_c, { body: { expiresAt = null, ...body } }, actor) =>
      createOperatorToken(services, actor, { ...body, expiresAt }),
  );

  route({
    route: `DELETE ${path}/{id}`,
    access: "account",
    operationId: "revokeOperatorToken",
    summary: "Revoke an operator token",
    description: "Requests with the token fail immediately. Revoking a token again has no effect.",
    params: schemas.operatorTokenParamsSchema,
    responses: { 200: { description: "The token.", schema: schemas.operatorTokenResponseSchema } },
  }, async (_c, { params: { id } }, actor) => ({ token: await revokeOperatorToken(services, actor, id) }));
}

// The operators' API of the catalogue of products.
import type { OpenAPIHono } from "@hono/zod-openapi";
import {
  changeProduct,
  createProduct,
  deleteProduct,
  getProduct,
  listProducts,
} from "../../../services/operator/products.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { pageQuerySchema } from "../../schemas/common.ts";
import * as schemas from "../../schemas/products.ts";
import { operatorRoutes } from "./operator_routes.ts";

const path = "/api/operator/products";
const product = { description: "The product.", schema: schemas.productResponseSchema };

/** Mounts `/api/operator/products`. */
export function operatorProductRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts);

  route({
    route: `GET ${path}`,
    access: "statements:read",
    operationId: "listProducts",
    summary: "List products",
    description: "The catalogue that gives pages and statements their names and units, by slug.",
    query: pageQuerySchema,
    responses: { 200: { description: "A page of products.", schema: schemas.productsSchema } },
  }, (_c, { query }) => listProducts(services, query));

  route({
    route: `POST ${path}`,
    access: "statements:write",
    operationId: "createProduct",
    summary: "Add a product",
    description: "Usage can be recorded before its product is in the catalogue.",
    body: schemas.createProductSchema,
    responses: { 201: product },
    errors: ["product_taken", "limit_reached"],
  }, async (_c, { body }, actor) => ({ product: await createProduct(services, actor, body) }));

  route({
    route: `GET ${path}/{slug}`,
    access: "statements:read",
    operationId: "getProduct",
    summary: "Get a product",
    params: schemas.productParamsSchema,
    responses: { 200: product },
  }, async (_c, { params: { slug } }) => ({ product: await getProduct(services, slug) }));

  route({
    route: `PATCH ${path}/{slug}`,
    access: "statements:write",
    operationId: "changeProduct",
    summary: "Change a product",
    description:
      "`metrics` replaces the whole list. Closed statements keep the names that they were closed with.",
    params: schemas.productParamsSchema,
    body: schemas.changeProductSchema,
    responses: { 200: product },
  }, async (_c, { params: { slug }, body }, actor) => ({
    product: await changeProduct(services, actor, { slug, ...body }),
  }));

  route({
    route: `DELETE ${path}/{slug}`,
    access: "statements:write",
    operationId: "deleteProduct",
    summary: "Delete a product",
    description: "Removes its names and units. Recorded usage stays.",
    params: schemas.productParamsSchema,
    responses: { 204: { description: "Deleted." } },
  }, (_c, { params: { slug } }, actor) => deleteProduct(services, actor, slug));
}

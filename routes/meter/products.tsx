// The catalogue of products: its shapes, its API, and its pages in the console.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { pageItemsDefault } from "../../domain/limits.ts";
import { countOf } from "../../domain/number_text.ts";
import {
  changeProduct,
  createProduct,
  deleteProduct,
  getProduct,
  listProducts,
} from "../../services/meter/mod.ts";
import { Tags } from "../../views/components/badge.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { NameField } from "../../views/components/field.tsx";
import { FormPage } from "../../views/components/form_page.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { productHref, productsHref } from "../../views/components/links.ts";
import { listHref } from "../../views/components/list_filters.tsx";
import { ListPage } from "../../views/components/list_page.tsx";
import { DayTime } from "../../views/components/relative_time.tsx";
import { LinkedName } from "../../views/components/table.tsx";
import { nounRoutes } from "../api/noun_routes.ts";
import { operatorRoutes } from "../api/operator_routes.ts";
import type { App, AppEnv, AppParts } from "../env.ts";
import { flashOf } from "../portal/form.ts";
import { mountFormPage, mountPage, paramOf } from "../portal/noun_pages.ts";
import { consolePages } from "../portal/operator_page.ts";
import type { PortalParts } from "../portal/page.ts";
import { check } from "../schemas/check.ts";
import { nameSchema, stringSchema, timeOut } from "../schemas/common.ts";
import { SlugField } from "./metric_form.tsx";
import { metricPages } from "./product_metrics.tsx";
import { metricsSchema, productMetricSchema, recountedSchema } from "./schemas/product_metrics.ts";
import { slugSchema } from "./schemas/usage.ts";

const name = nameSchema("The product's name", { example: "Map tiles" });
const createSchema = z.strictObject({
  slug: slugSchema.openapi({
    description: "The product in usage records, 1 to 64 characters.",
    example: "tiles",
  }),
  name,
  metrics: metricsSchema.optional().transform((given) => given ?? []),
}).openapi("CreateProduct");
const changeSchema = z.strictObject({ name: name.optional(), metrics: metricsSchema.optional() })
  .openapi("ChangeProduct");

const schema = z.object({
  slug: stringSchema("The product in usage records.", "tiles"),
  name: stringSchema("The product's name.", "Map tiles"),
  metrics: z.array(productMetricSchema).openapi({ description: "In display order." }),
  createdAt: timeOut("When the product was added."),
}).openapi("Product");

const params = z.object({
  slug: z.string().max(100).openapi({ description: "The product's slug.", example: "tiles" }),
});

export function productRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts, { read: "statements:read", write: "statements:write" });
  const routes = nounRoutes(route, {
    path: "/api/operator/products",
    one: "product",
    many: "products",
    schema,
    id: "{slug}",
    params,
  });
  routes.list({
    operationId: "listProducts",
    summary: "List products",
    description: "The catalogue that gives pages and statements their names, units and prices, by slug.",
  }, ({ query }) => listProducts(services, query));
  routes.create({
    operationId: "createProduct",
    summary: "Add a product",
    description: "Usage can be recorded before its product is in the catalogue.",
    body: createSchema,
    errors: ["product_taken", "limit_reached", "aggregation_fixed", "dimension_incomplete"],
  }, ({ body }, actor) => createProduct(services, actor, body));
  routes.get(
    { operationId: "getProduct", summary: "Get a product" },
    ({ params: { slug } }) => getProduct(services, slug),
  );
  route({
    operationId: "changeProduct",
    summary: "Change a product",
    description:
      "`metrics` replaces the whole list. Closed statements keep the names and prices that they were closed with. `recounted` lists " +
      "the metrics whose aggregation changed. It applies to sums, pages and statements of all their months, none of which is closed.",
    route: "PATCH /api/operator/products/{slug}",
    params,
    body: changeSchema,
    responses: {
      200: {
        description: "The product, and the metrics whose aggregation changed.",
        schema: z.object({ product: schema, recounted: z.array(recountedSchema) }),
      },
    },
    errors: ["aggregation_fixed", "dimension_incomplete", "dimension_priced"],
  }, (_c, { params, body }, actor) => changeProduct(services, actor, { ...params, ...body }));
  routes.delete({
    operationId: "deleteProduct",
    summary: "Delete a product",
    description: "Removes its names, units and prices. Recorded usage stays.",
  }, ({ params: { slug } }, actor) => deleteProduct(services, actor, slug));
}

/** Sentences about products that aren't in the catalogue, by the setting `USAGE_CATALOG`. */
const unlisted = {
  optional: {
    text: "Usage of other products is recorded too.",
    none: "Until you add one, pages show the names in usage records.",
    deleted: "Recorded usage and closed statements don't change.",
  },
  required: {
    text: "Usage of other products is rejected.",
    none: "Until you add one, all usage is rejected.",
    deleted: "New usage of it is rejected. Recorded usage and closed statements don't change.",
  },
};

export function productPages(app: App, parts: PortalParts): void {
  const { services, config } = parts;
  const words = unlisted[config.usageCatalog];
  const pages = consolePages(app, parts, "operator/products");

  mountPage(pages, productsHref, async (c, page) => {
    const query = { limit: pageItemsDefault, cursor: c.req.query("cursor") };
    const { products, nextCursor } = await listProducts(services, query);
    return (
      <ListPage
        {...page}
        title="Products"
        text={`Names, units and prices for pages and statements. ${words.text}`}
        flash={flashOf(c, { deleted: "Product deleted." })}
        add={{ href: `${productsHref}/new`, label: "Add product" }}
        card="Catalogue"
        empty={products.length === 0 ? { title: "No products yet", text: words.none } : null}
        links={[{
          href: nextCursor && listHref(productsHref, { cursor: nextCursor }),
          label: "More products",
        }]}
      >
        <ItemTable
          label="Products"
          items={products}
          columns={[
            {
              title: "Product",
              in: "title",
              cell: ({ slug, name }) => <LinkedName href={productHref(slug)} name={name} />,
            },
            { title: "Slug", cell: ({ slug }) => <code>{slug}</code> },
            { title: "Metrics", cell: ({ metrics }) => <Tags words={metrics.map(({ name }) => name)} /> },
            { title: "Added", cell: ({ createdAt }) => <DayTime at={createdAt} now={page.frame.now} /> },
          ]}
        />
      </ListPage>
    );
  });

  mountFormPage(pages, {
    path: `${productsHref}/new`,
    show: (_c, form) => (
      <FormPage
        {...form}
        title="Add product"
        text="Next, add its metrics, with their units and prices."
        submit="Add product"
        isNarrow
      >
        <NameField label="Name" {...form.field("name")} autofocus />
        <SlugField {...form} />
      </FormPage>
    ),
    async submit(_c, actor, { slug = "", name = "" }) {
      await createProduct(services, actor, check(createSchema, { slug, name }, "body"));
      return `${productHref(slug)}?done=added`;
    },
  });

  mountFormPage(pages, {
    path: `${productsHref}/:slug/edit`,
    async show(c, form) {
      const { slug, name } = await getProduct(services, paramOf(c, "slug"));
      return (
        <FormPage
          {...form}
          title="Edit product"
          heading="Edit “{name}”"
          name={name}
          text="Closed statements keep the name that they were closed with."
          back={{ href: productHref(slug), label: name }}
          submit="Save"
          isNarrow
        >
          <NameField label="Name" {...form.field("name", name)} autofocus />
          <SlugField {...form} slug={slug} />
        </FormPage>
      );
    },
    async submit(c, actor, { name = "" }) {
      const slug = paramOf(c, "slug");
      await changeProduct(services, actor, { slug, ...check(changeSchema, { name }, "body") });
      return `${productHref(slug)}?done=saved`;
    },
  });

  mountFormPage(pages, {
    path: `${productsHref}/:slug/delete`,
    async show(c, form) {
      const { slug, name, metrics } = await getProduct(services, paramOf(c, "slug"));
      return (
        <ConfirmPage
          {...form}
          title="Delete product"
          heading="Delete “{name}”?"
          name={name}
          text={`Its names, units and prices are removed from the catalogue. ${words.deleted}`}
          back={{ href: productHref(slug), label: name }}
          facts={[
            { label: "Slug", value: <code>{slug}</code> },
            { label: "Metrics", value: countOf(metrics.length, "metric") },
          ]}
        />
      );
    },
    async submit(c, actor) {
      await deleteProduct(services, actor, paramOf(c, "slug"));
      return `${productsHref}?done=deleted`;
    },
  });
  metricPages(pages, parts);
}

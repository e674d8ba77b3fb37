// The catalogue of products: its shapes, its API, and its pages in the console.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { pageItemsDefault, productMetricsMax, productUnitCharactersMax } from "../../domain/limits.ts";
import { valuePricesMax } from "../../domain/billing/price.ts";
import { type Aggregation, aggregationLabels, aggregations } from "../../domain/meter/aggregation.ts";
import type { Product } from "../../domain/meter/product.ts";
import { countOf } from "../../domain/number_text.ts";
import {
  changeProduct,
  createProduct,
  deleteProduct,
  getProduct,
  listProducts,
} from "../../services/meter/mod.ts";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { NameField, SelectField, TextArea, TextField } from "../../views/components/field.tsx";
import { type FormInput, FormPage, type PageForm } from "../../views/components/form_page.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { listHref } from "../../views/components/list_filters.tsx";
import { ListPage } from "../../views/components/list_page.tsx";
import { DayTime } from "../../views/components/relative_time.tsx";
import { Name } from "../../views/components/table.tsx";
import { nounRoutes } from "../api/noun_routes.ts";
import { operatorRoutes } from "../api/operator_routes.ts";
import type { App, AppEnv, AppParts } from "../env.ts";
import { flashOf } from "../portal/form.ts";
import { mountFormPage, mountPage, paramOf, rowFields, rowsOf, withInput } from "../portal/noun_pages.ts";
import { consolePages } from "../portal/operator_page.ts";
import type { PortalParts } from "../portal/page.ts";
import { check } from "../schemas/check.ts";
import { nameSchema, stringSchema, timeOut } from "../schemas/common.ts";
import { parsePrices, priceFields, requirePrices } from "./price_fields.ts";
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

const path = "/operator/products";
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

const flashes = {
  added: "Product added.",
  saved: "Product saved.",
  recounted:
    "Product saved. Usage that is counted differently changes in all sums, on pages and in open months. Limits still count sums.",
  deleted: "Product deleted.",
};

export function productPages(app: App, parts: PortalParts): void {
  const { services, config } = parts;
  const words = unlisted[config.usageCatalog];
  const pages = consolePages(app, parts, "operator/products");

  mountPage(pages, path, async (c, page) => {
    const query = { limit: pageItemsDefault, cursor: c.req.query("cursor") };
    const { products, nextCursor } = await listProducts(services, query);
    return (
      <ListPage
        {...page}
        title="Products"
        text={`Names and units for pages and statements. ${words.text}`}
        flash={flashOf(c, flashes)}
        add={{ href: `${path}/new`, label: "Add product" }}
        card="Catalogue"
        empty={products.length === 0 ? { title: "No products yet", text: words.none } : null}
        links={[{ href: nextCursor && listHref(path, { cursor: nextCursor }), label: "More products" }]}
      >
        <ItemTable
          label="Products"
          items={products}
          columns={[
            { title: "Product", in: "title", cell: ({ name }) => <Name text={name} /> },
            { title: "Slug", cell: ({ slug }) => <code>{slug}</code> },
            { title: "Metrics", cell: ({ metrics }) => <span>{metricsText(metrics)}</span> },
            { title: "Added", cell: ({ createdAt }) => <DayTime at={createdAt} now={page.frame.now} /> },
          ]}
          actions={({ slug, name }) => [
            { label: "Edit", href: hrefOf(slug, "edit"), about: name },
            { label: "Delete", href: hrefOf(slug, "delete"), about: name, tone: "quiet-destroy" },
          ]}
        />
      </ListPage>
    );
  });

  mountFormPage(pages, {
    path: `${path}/new`,
    show: (_c, form) => productForm(form, productInput(form.input ?? {}), { isNew: true }),
    async submit(_c, actor, input) {
      requirePrices(metricRows(input));
      await createProduct(services, actor, check(createSchema, productInput(input), "body"));
      return `${path}?done=added`;
    },
  });

  mountFormPage(pages, {
    path: `${path}/:slug/edit`,
    async show(c, form) {
      const product = await getProduct(services, paramOf(c, "slug"));
      const { slug } = product;
      const input = form.input === undefined ? product : { ...productInput(form.input), slug };
      return productForm(form, input, { isNew: false, name: product.name });
    },
    async submit(c, actor, input) {
      requirePrices(metricRows(input));
      const { name, metrics } = productInput(input);
      const change = check(changeSchema, { name, metrics }, "body");
      const { recounted } = await changeProduct(services, actor, { slug: paramOf(c, "slug"), ...change });
      return `${path}?done=${recounted.length > 0 ? "recounted" : "saved"}`;
    },
  });

  mountFormPage(pages, {
    path: `${path}/:slug/delete`,
    async show(c, form) {
      const { slug, name, metrics } = await getProduct(services, paramOf(c, "slug"));
      return (
        <ConfirmPage
          {...form}
          title="Delete product"
          heading="Delete “{name}”?"
          name={name}
          text={`Its names, units and prices are removed from the catalogue. ${words.deleted}`}
          facts={[
            { label: "Slug", value: <code>{slug}</code> },
            { label: "Metrics", value: countOf(metrics.length, "metric") },
          ]}
        />
      );
    },
    async submit(c, actor) {
      await deleteProduct(services, actor, paramOf(c, "slug"));
      return `${path}?done=deleted`;
    },
  });
}

function hrefOf(slug: string, action: "edit" | "delete"): string {
  return `${path}/${encodeURIComponent(slug)}/${action}`;
}

function metricsText(metrics: Product["metrics"]): string {
  if (metrics.length === 0) return "None";
  return metrics.map(({ name, unit }) => unit === null ? name : `${name} (${unit})`).join(", ");
}

const rowParts = [
  ...["slug", "name", "unit", "unitPrice", "dimensions", "shareable"] as const,
  ...["aggregation", "uniqueProperty", "valuePrices"] as const,
];

const metricRows = (input: FormInput) =>
  rowsOf(input, { name: "metrics", parts: rowParts, rowsMax: productMetricsMax });

/** Returns a product as the API takes it, without empty rows. */
function productInput(input: FormInput) {
  const metrics = metricRows(input).map(({ valuePrices, ...metric }) => ({
    ...metric,
    unit: metric.unit.trim() || null,
    unitPrice: valuePrices.trim() === ""
      ? metric.unitPrice.trim() || null
      : [...parsePrices(valuePrices) ?? [], { unitPrice: metric.unitPrice.trim() }],
    dimensions: separated(metric.dimensions, ",").map((names) => separated(names, "+")),
    shareable: separated(metric.shareable, ","),
    // The schema rejects any other.
    aggregation: (metric.aggregation || "sum") as Aggregation,
    uniqueProperty: metric.uniqueProperty.trim() || null,
  }));
  return { slug: input["slug"] ?? "", name: input["name"] ?? "", metrics };
}

/** Returns the parts of a text; none of an empty one. */
function separated(text: string, separator: string): string[] {
  return text.trim() === "" ? [] : text.split(separator).map((part) => part.trim());
}

const emptyRows = 2;

/** @param options `name`: the name of the product before it is edited. */
function productForm(
  form: PageForm,
  { slug, name, metrics }: Omit<Product, "createdAt">,
  options: { isNew: boolean; name?: string },
) {
  const { isNew } = options;
  const sent = form.input && metricRows(form.input);
  const texts = metrics.map((metric, index) => ({
    ...metric,
    ...priceFields(metric.unitPrice, sent?.[index]),
    dimensions: metric.dimensions.map((names) => names.join(" + ")).join(", "),
    shareable: metric.shareable.join(", "),
    aggregation: metric.aggregation === "sum" ? "" : metric.aggregation,
  }));
  const { field } = withInput(form, { slug, name, ...rowFields("metrics", texts) });
  /** The fault of a name in a list is shown at the list. */
  const faultIn = (list: string) => Object.entries(form.fields).find(([path]) => path.startsWith(list))?.[1];
  const rows = Math.min(metrics.length + emptyRows, productMetricsMax);
  return (
    <FormPage
      {...form}
      title={isNew ? "Add product" : "Edit product"}
      heading={isNew ? undefined : "Edit “{name}”"}
      name={options.name}
      text="Closed statements keep the names and prices that they were closed with."
      error={form.error ?? form.fields["metrics"]}
      submit={isNew ? "Add product" : "Save"}
      more={[
        <>
          <h2>Metrics</h2>
          <p class="muted small">
            In the order in which they are shown. Empty rows are left out. Dimensions are properties of usage
            records that customers can see their usage by: separate them with commas, and properties to
            combine with plus signs. Events about limits per value can name the values of the properties that
            you list. Prices by value are of the values of one dimension, one on each line; all other values
            have the unit price. What a metric is counted as applies to sums, pages and statements, but not to
            limits. It can't be changed once a month with usage of the metric is closed.
          </p>
          {Array.from({ length: rows }, (_, index) => (
            <MetricRow
              index={index}
              field={(part) => field(`metrics[${index}].${part}`)}
              faultIn={(part) => faultIn(`metrics[${index}].${part}`)}
              hasExamples={metrics.length === 0 && index === 0}
            />
          ))}
        </>,
      ]}
    >
      <div class="row half">
        <NameField label="Name" {...field("name")} autofocus />
        <TextField
          label="Slug"
          {...field("slug")}
          hint="As in usage records."
          required
          readonly={!isNew}
          maxlength={slugCharactersMax}
        />
      </div>
    </FormPage>
  );
}

/** Matches the maximum in usage records. */
const slugCharactersMax = 64;
/** The sum is the default, so that a row without a choice is empty. */
const choices = aggregations.map((one) => ({
  value: one === "sum" ? "" : one,
  label: aggregationLabels[one],
}));

function MetricRow(
  { index, field, faultIn, hasExamples }: {
    index: number;
    field: PageForm["field"];
    faultIn: (part: string) => string | undefined;
    hasExamples: boolean;
  },
) {
  const listField = (part: string, start = part) => {
    const error = faultIn(start);
    return { ...field(part), ...error && { error } };
  };
  const example = (text: string) => ({ placeholder: hasExamples ? `For example: ${text}` : "" });
  return (
    <fieldset class="row four" aria-label={`Metric ${index + 1}`}>
      <TextField label="Slug" {...field("slug")} {...example("bytes")} maxlength={slugCharactersMax} />
      <TextField label="Name" {...field("name")} {...example("Data transfer")} maxlength={100} />
      <TextField
        label="Unit (optional)"
        {...field("unit")}
        {...example("GB")}
        maxlength={productUnitCharactersMax}
      />
      <TextField
        label="Unit price (optional)"
        {...field("unitPrice")}
        {...example("0.0004")}
        inputmode="decimal"
        maxlength={25}
      />
      <TextField
        label="Dimensions (optional)"
        {...listField("dimensions")}
        {...example("region, model + type")}
        maxlength={600}
      />
      <TextField
        label="Values that events may name (optional)"
        {...listField("shareable")}
        {...example("user, team")}
        maxlength={1_400}
      />
      <SelectField label="Counted as" {...field("aggregation")} choices={choices} />
      <TextField
        label="Distinct property (optional)"
        {...field("uniqueProperty")}
        {...example("userId")}
        maxlength={64}
      />
      <TextArea
        label="Prices by value (optional)"
        {...listField("valuePrices", "unitPrice[")}
        {...hasExamples && { hint: "For example: model=large, type=output 0.000012" }}
        rows={2}
        maxlength={valuePricesMax * 1_000}
      />
    </fieldset>
  );
}

// The pages of a product's metrics in the console: a table of them, and one form each.
import { z } from "@hono/zod-openapi";
import { isPriceList, pricedNames } from "../../domain/billing/price.ts";
import { AppError, notFoundError, validationError } from "../../domain/errors.ts";
import type { Product, ProductMetric } from "../../domain/meter/product.ts";
import { changeProduct, getProduct, readMetricLocks } from "../../services/meter/mod.ts";
import { Tags } from "../../views/components/badge.tsx";
import { ButtonLink } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { EmptyState } from "../../views/components/empty_state.tsx";
import type { FormInput } from "../../views/components/form_page.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { metricHref, productHref, productsHref } from "../../views/components/links.ts";
import { Notice } from "../../views/components/notice.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { LinkedName } from "../../views/components/table.tsx";
import { type Place, type PortalFrame, PortalPage } from "../../views/layout.tsx";
import { priceText } from "../../views/text/amount.ts";
import type { AppContext } from "../env.ts";
import { flashOf } from "../portal/form.ts";
import { mountFormPage, mountPage, type Pages, paramOf } from "../portal/noun_pages.ts";
import type { ConsoleActor } from "../portal/operator_page.ts";
import type { PortalParts } from "../portal/page.ts";
import { check, checkTogether } from "../schemas/check.ts";
import {
  countingText,
  dimensionTags,
  metricBefore,
  metricForm,
  noLocks,
  typedMetric,
} from "./metric_form.tsx";
import { metricsSchema } from "./schemas/product_metrics.ts";

const flashes = {
  added: "Product added.",
  saved: "Changes saved.",
  recounted: "Metric saved. All its sums change, on pages and in open months. Limits still count quantities.",
  removed: "Metric removed.",
};

/** The fields at which errors are shown that don't name one. */
const fieldOf = {
  aggregation_fixed: "aggregation",
  dimension_incomplete: "priceLines",
  dimension_priced: "dimensions",
} as const;

export function metricPages(pages: Pages<ConsoleActor>, parts: PortalParts): void {
  const { services, config } = parts;
  const path = `${productsHref}/:slug/metrics`;
  const productOf = (c: AppContext) => getProduct(services, paramOf(c, "slug"));

  mountPage(pages, path, async (c, { actor: _actor, ...page }) => (
    <ProductPage
      {...page}
      product={await productOf(c)}
      flash={flashOf(c, flashes)}
      currency={config.currency}
    />
  ));

  mountFormPage(pages, {
    path: `${path}/new`,
    fieldOf,
    async show(c, form) {
      return metricForm(form, {
        product: await productOf(c),
        metric: null,
        locks: noLocks,
        currency: config.currency,
      });
    },
    submit: (c, actor, input) => save(parts, actor, { slug: paramOf(c, "slug"), metric: null, input }),
  });

  mountFormPage(pages, {
    path: `${path}/:metric/edit`,
    fieldOf,
    async show(c, form) {
      const product = await productOf(c);
      const metric = metricIn(product, paramOf(c, "metric"));
      const locks = await readMetricLocks(services, { slug: product.slug, metric });
      return metricForm(form, { product, metric, locks, currency: config.currency });
    },
    async submit(c, actor, input) {
      const product = await productOf(c);
      const metric = metricIn(product, paramOf(c, "metric"));
      return await save(parts, actor, { slug: product.slug, metric, input });
    },
  });

  mountFormPage(pages, {
    path: `${path}/:metric/delete`,
    async show(c, form) {
      const product = await productOf(c);
      const { name, slug } = metricIn(product, paramOf(c, "metric"));
      return (
        <ConfirmPage
          {...form}
          title="Remove metric"
          heading="Remove “{name}”?"
          name={name}
          text="Its name, unit, price and dimensions are removed. Recorded usage and closed statements don't change."
          back={{ href: productHref(product.slug), label: product.name }}
          facts={[
            { label: "Slug", value: <code>{slug}</code> },
            { label: "Product", value: <bdi>{product.name}</bdi> },
          ]}
        />
      );
    },
    async submit(c, actor) {
      const [slug, metric] = [paramOf(c, "slug"), paramOf(c, "metric")];
      const metrics = (before: Product["metrics"]) => before.filter((one) => one.slug !== metric);
      await changeProduct(services, actor, { slug, metrics });
      return `${productHref(slug)}?done=removed`;
    },
  });
}

function metricIn({ metrics }: Product, slug: string): ProductMetric {
  const metric = metrics.find((one) => one.slug === slug);
  if (metric === undefined) throw notFoundError();
  return metric;
}

const listSchema = z.object({ metrics: metricsSchema });

/** Adds or changes a metric. @param change `metric`: the one that is changed; null for a new one. @returns The next page. */
async function save(
  { services, config: { currency } }: PortalParts,
  actor: ConsoleActor,
  { slug, metric, input }: { slug: string; metric: ProductMetric | null; input: FormInput },
): Promise<string> {
  const { faults, ...typed } = typedMetric(input, { metric, currency });
  const metrics = (before: Product["metrics"]) => {
    const others = before.filter((one) => one.slug !== metric?.slug);
    const after = input["after"] ?? metricBefore(before, metric);
    const at = after === "" ? 0 : others.findIndex(({ slug }) => slug === after) + 1 || others.length;
    return check(listSchema, { metrics: others.toSpliced(at, 0, typed) }, "body").metrics;
  };
  try {
    if (faults.length > 0) {
      const { metrics: before } = await getProduct(services, slug);
      await checkTogether(() => Promise.reject(validationError(faults)), () => metrics(before));
    }
    const { recounted } = await changeProduct(services, actor, { slug, metrics });
    return `${productHref(slug)}?done=${recounted.length > 0 && metric !== null ? "recounted" : "saved"}`;
  } catch (error) {
    if (!(error instanceof AppError) || error.details === undefined) throw error;
    throw validationError(error.details.map(({ path, message }) => ({ path: fieldAt(path), message })));
  }
}

/** Returns the field of a fault. Prices are read before, so those that a list has are by value. */
function fieldAt(path: string): string {
  const [field = ""] = path.replace(/^metrics\[\d+\]\./, "").split("[");
  return field === "unitPrice" ? "priceLines" : field;
}

function ProductPage({ frame, place, product, flash, currency }: {
  frame: PortalFrame;
  place: Place;
  product: Product;
  flash: string | null;
  currency: string | null;
}) {
  const { slug, name, metrics } = product;
  const add = <ButtonLink tone="primary" href={`${productHref(slug)}/new`}>Add metric</ButtonLink>;
  return (
    <PortalPage title={name} frame={frame} place={place}>
      <PageHead
        back={{ href: productsHref, label: "Products" }}
        title="{name}"
        name={name}
        text={
          <>
            Slug: <code>{slug}</code>
          </>
        }
      >
        <ButtonLink href={productHref(slug, "edit")}>Edit</ButtonLink>
        <ButtonLink tone="plain-destroy" href={productHref(slug, "delete")}>Delete</ButtonLink>
        {metrics.length > 0 && add}
      </PageHead>
      <Notice tone="done" text={flash} />
      <Card title="Metrics" flush>
        {metrics.length === 0
          ? (
            <EmptyState
              title="No metrics yet"
              text="A metric is what you count, such as requests or data transfer."
            >
              {add}
            </EmptyState>
          )
          : <MetricTable product={product} currency={currency} />}
      </Card>
    </PortalPage>
  );
}

function MetricTable(
  { product: { slug: product, metrics }, currency }: { product: Product; currency: string | null },
) {
  return (
    <ItemTable
      label="Metrics"
      items={metrics}
      columns={[
        {
          title: "Metric",
          in: "title",
          cell: ({ slug, name }) => (
            <LinkedName href={metricHref(product, slug, "edit")} name={name} note={slug} />
          ),
        },
        {
          title: "Unit",
          cell: ({ unit }) => unit === null ? <span class="muted">–</span> : <bdi>{unit}</bdi>,
        },
        { title: "Counted as", cell: (metric) => <bdi>{countingText(metric)}</bdi> },
        { title: "Price", cell: (metric) => <Price metric={metric} currency={currency} /> },
        { title: "Dimensions", cell: (metric) => <Tags words={dimensionTags(metric)} /> },
      ]}
      actions={({ slug, name }) => [
        { label: "Edit", href: metricHref(product, slug, "edit"), about: name },
        { label: "Remove", href: metricHref(product, slug, "delete"), about: name, tone: "quiet-destroy" },
      ]}
    />
  );
}

function Price({ metric, currency }: { metric: ProductMetric; currency: string | null }) {
  const { unitPrice, ...measure } = metric;
  if (unitPrice === null) return <span class="muted">–</span>;
  return (
    <div>
      <bdi>{priceText(unitPrice, { measure, currency })}</bdi>
      {isPriceList(unitPrice) && (
        <div class="muted small">
          by <bdi>{pricedNames(unitPrice).join(" + ")}</bdi>
        </div>
      )}
    </div>
  );
}

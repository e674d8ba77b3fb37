// The form of one metric of a product: its fields, and what is typed in them.
import { isPriceList, pricedNames, valuePricesMax } from "../../domain/billing/price.ts";
import { productUnitCharactersMax } from "../../domain/limits.ts";
import { type Aggregation, aggregationLabels, aggregations } from "../../domain/meter/aggregation.ts";
import type { Product, ProductMetric } from "../../domain/meter/product.ts";
import type { MetricLocks } from "../../services/meter/mod.ts";
import { NameField, SelectField, TagsField, TextArea, TextField } from "../../views/components/field.tsx";
import { type FormInput, FormPage, type PageForm } from "../../views/components/form_page.tsx";
import { Icon } from "../../views/components/icon.tsx";
import { productHref } from "../../views/components/links.ts";
import { withInput } from "../portal/noun_pages.ts";
import { priceFields, typedPrice } from "./price_fields.ts";

/** Matches the maximum in usage records. */
const slugCharactersMax = 64;
export const noLocks: MetricLocks = { isBilled: false, incomplete: [] };

/** `slug`: that of what exists already. */
export function SlugField({ field, slug }: Pick<PageForm, "field"> & { slug?: string | undefined }) {
  return (
    <TextField
      label="Slug"
      {...field("slug", slug)}
      readonly={slug !== undefined}
      hint={slug === undefined
        ? "As in usage records. It can't be changed later."
        : "Usage records have this slug, so it can't be changed."}
      required
      maxlength={slugCharactersMax}
    />
  );
}

interface MetricForm {
  readonly product: Product;
  /** The metric that is edited; null for a new one. */
  readonly metric: ProductMetric | null;
  readonly locks: MetricLocks;
  readonly currency: string | null;
}

export function metricForm(shown: PageForm, { product, metric, locks, currency }: MetricForm) {
  const form = withInput(shown, { ...metric && fieldsOf(metric, currency), ...shown.input });
  const { field } = form;
  const others = product.metrics.filter(({ slug }) => slug !== metric?.slug);
  return (
    <FormPage
      {...form}
      {...metric === null
        ? { title: "Add metric", submit: "Add metric", text: "Choose a unit and a price." }
        : {
          title: "Edit metric",
          heading: "Edit “{name}”",
          name: metric.name,
          text: "Closed statements keep the names and prices that they were closed with.",
          submit: "Save",
        }}
      back={{ href: productHref(product.slug), label: product.name }}
      error={form.error ?? form.fields["metrics"]}
      more={[
        <PriceInputs form={form} locks={locks} currency={currency} />,
        <DimensionInputs form={form} metric={metric} />,
        ...others.length > 0
          ? [<PlaceInput form={form} others={others} first={metricBefore(product.metrics, metric)} />]
          : [],
      ]}
    >
      <div class="row half">
        <NameField label="Name" {...field("name")} placeholder="For example: Data transfer" autofocus />
        <SlugField field={field} slug={metric?.slug} />
        <TextField
          label="Unit (optional)"
          {...field("unit")}
          hint="The unit of its quantities, such as requests, tokens, bytes or seconds."
          maxlength={productUnitCharactersMax}
        />
        <CountingInputs form={form} metric={metric} locks={locks} />
      </div>
    </FormPage>
  );
}

const countingHint = "For sums, pages and statements. Limits always count quantities.";

function CountingInputs(
  { form: { field }, metric, locks }: Pick<MetricForm, "metric" | "locks"> & { form: PageForm },
) {
  const aggregation = field("aggregation", "sum");
  if (locks.isBilled && metric !== null) {
    return (
      <TextField
        {...aggregation}
        label="Counted as"
        name="counting"
        value={countingText(metric)}
        readonly
        maxlength={200}
        hint="A month with usage of it is closed, so this can't be changed. To count differently, add a metric with another slug."
      />
    );
  }
  return (
    <>
      <SelectField
        label="Counted as"
        {...aggregation}
        choices={aggregations.map((value) => ({ value, label: aggregationLabels[value] }))}
        hint={countingHint}
      />
      <div class="for-unique">
        <TextField
          label="Distinct property"
          {...field("uniqueProperty")}
          hint="For distinct values only: one of the dimensions below."
          placeholder="For example: userId"
          maxlength={slugCharactersMax}
        />
      </div>
    </>
  );
}

function PriceInputs(
  { form: { field, fields }, locks, currency }: Pick<MetricForm, "locks" | "currency"> & { form: PageForm },
) {
  const priceLines = field("priceLines");
  const incomplete = locks.incomplete.map((names) => names.join(" + ")).join(" and ");
  const locked = incomplete &&
    ` Values of ${incomplete} can't have prices before all usage of the open months is summed by it.`;
  return (
    <>
      <h2>Price</h2>
      <div class="row half">
        <TextField
          label={currency === null ? "Price (optional)" : `Price in ${currency} (optional)`}
          {...field("price")}
          placeholder="For example: 0.40"
          inputmode="decimal"
          maxlength={60}
        />
        <TextField
          label="Per"
          {...field("per")}
          placeholder="For example: 1,000 requests, 1M tokens or GB"
          hint="A quantity in the metric's unit. One if empty."
          maxlength={64}
        />
      </div>
      <details class="event-group" open={priceLines.value !== "" || fields["priceLines"] !== undefined}>
        <summary>
          <Icon name="chevron" />
          Prices by value
        </summary>
        <TextArea
          label="Values and their prices"
          {...priceLines}
          hint={`For the same quantity, one on each line: model=large, type=output 12.00. All other values have the price above.${locked}`}
          rows={3}
          maxlength={valuePricesMax * 1_000}
        />
      </details>
    </>
  );
}

function DimensionInputs(
  { form: { frame, field }, metric }: Pick<MetricForm, "metric"> & { form: PageForm },
) {
  const price = metric?.unitPrice ?? null;
  const priced = isPriceList(price)
    ? ` To remove ${pricedNames(price).join(" + ")}, remove its prices by value first.`
    : "";
  return (
    <>
      <h2>Dimensions</h2>
      <div class="row half">
        <TagsField
          label="Dimensions (optional)"
          {...field("dimensions")}
          script={frame.assets.tags}
          placeholder="For example: region, model + type"
          hint={`Properties of usage records that customers see usage by, with commas between them and plus signs to combine them.${priced}`}
          maxlength={600}
        />
        <TagsField
          label="Values that events may name (optional)"
          {...field("shareable")}
          script={frame.assets.tags}
          placeholder="For example: user, team"
          hint="Events about limits per value name the values of these properties."
          maxlength={1_400}
        />
      </div>
    </>
  );
}

/** Returns the slug of the metric before another one, of which null is a new one; empty without any. */
export function metricBefore(metrics: readonly ProductMetric[], metric: ProductMetric | null): string {
  const at = metric === null ? metrics.length : metrics.findIndex(({ slug }) => slug === metric.slug);
  return metrics[at - 1]?.slug ?? "";
}

function PlaceInput(
  { form, others, first }: { form: PageForm; others: readonly ProductMetric[]; first: string },
) {
  return (
    <div class="row half">
      <SelectField
        label="Place in the list"
        {...form.field("after", first)}
        choices={[
          { value: "", label: "First" },
          ...others.map(({ slug, name }) => ({ value: slug, label: `After ${name}` })),
        ]}
      />
    </div>
  );
}

/** Returns a metric as the API takes it, with what is wrong with its price. @param options `metric`: has the values of fields that the form lacks. */
export function typedMetric(
  input: FormInput,
  { metric, currency }: { metric: ProductMetric | null; currency: string | null },
) {
  const text = (name: string) => (input[name] ?? "").trim();
  const [name, unit] = [text("name"), text("unit") || null];
  // The schema rejects any other.
  const aggregation = (input["aggregation"] ?? metric?.aggregation ?? "sum") as Aggregation;
  const uniqueProperty = (input["uniqueProperty"] ?? metric?.uniqueProperty ?? "").trim() || null;
  const prices = { price: text("price"), per: text("per"), priceLines: text("priceLines") };
  return {
    slug: metric?.slug ?? text("slug"),
    name,
    unit,
    ...typedPrice(prices, { name, unit, currency, former: metric }),
    dimensions: separated(text("dimensions"), ",").map((names) => separated(names, "+")),
    shareable: separated(text("shareable"), ","),
    aggregation,
    uniqueProperty: aggregation === "unique" ? uniqueProperty : null,
  };
}

/** Returns the parts of a text that aren't empty. */
function separated(text: string, separator: string): string[] {
  return text.split(separator).map((part) => part.trim()).filter((part) => part !== "");
}

function fieldsOf(metric: ProductMetric, currency: string | null): FormInput {
  return {
    ...metric,
    ...priceFields(metric, currency),
    unit: metric.unit ?? "",
    unitPrice: "",
    uniqueProperty: metric.uniqueProperty ?? "",
    dimensions: dimensionTags(metric).join(", "),
    shareable: metric.shareable.join(", "),
  };
}

export function dimensionTags({ dimensions }: ProductMetric): string[] {
  return dimensions.map((names) => names.join(" + "));
}

export function countingText({ aggregation, uniqueProperty }: ProductMetric): string {
  return uniqueProperty === null ? aggregationLabels[aggregation] : `Distinct values of ${uniqueProperty}`;
}

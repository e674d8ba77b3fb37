// The rows of forms that set usage limits, with as many empty ones as can be added at a time.
import { type Catalogue, metricOf, productOf } from "../../domain/meter/catalogue.ts";
import { defaultNotifyAt, limitModes, limitPeriods } from "../../domain/meter/usage_limit.ts";
import { modeWords, perWords, scopeName } from "../text/limit.ts";
import { AddableRows } from "./addable_rows.tsx";
import { type Choice, type ChoiceGroup, SelectField, TextField } from "./field.tsx";
import type { FormErrors } from "./form.tsx";
import { Icon } from "./icon.tsx";

export interface LimitInput {
  readonly productSlug: string;
  readonly metric: string;
  readonly per: string;
  /** The property of a limit per value; empty for all usage together. */
  readonly by: string;
  readonly quantity: string;
  /** A mode, or `none`: the plan's limit is lifted. */
  readonly mode: string;
  /** Percentages, such as `80, 100`. */
  readonly notifyAt: string;
}

export interface LimitFieldsProps {
  readonly limits: readonly LimitInput[];
  readonly fields: FormErrors["fields"];
  /** Names of errors begin with it. */
  readonly path?: string;
  /** The names of the fields begin with it; `limits` by default. */
  readonly list?: string;
  /** False for further rows of a form, which share the suggestions. */
  readonly hasSuggestions?: boolean;
  readonly limitsMax: number;
  readonly canLift?: boolean;
  /** Limits can be per value. */
  readonly canCountValues?: boolean;
  readonly productSlugs: readonly string[];
  readonly metrics: readonly string[];
  /** The names of products and metrics. */
  readonly catalogue: Catalogue;
  readonly pace?: LimitPace | undefined;
}

/** Says below quantities how long they last. */
export interface LimitPace {
  /** The address that says so while people type. */
  readonly href: string;
  readonly wordsOf: (limit: LimitInput) => string | null;
}

const slugCharactersMax = 64;
const quantityCharactersMax = 40;
const percentagesCharactersMax = 40;
export const emptyLimit: LimitInput = {
  productSlug: "",
  metric: "",
  per: "month",
  by: "",
  quantity: "",
  mode: "hard",
  notifyAt: "",
};

/** The choice that the fields of a product and a metric go with. */
export const otherScope = "other";

/** The fields are `limits[0].productSlug` and so on, unless it is another list. */
export function LimitFields(props: LimitFieldsProps) {
  const {
    limits,
    fields,
    path = "",
    limitsMax,
    canLift = false,
    canCountValues = false,
    list = "limits",
    hasSuggestions = true,
  } = props;
  const modes: readonly Choice[] = [
    ...limitModes.map((mode) => ({ value: mode, label: modeWords[mode] })),
    ...(canLift ? [{ value: "none", label: "No limit" }] : []),
  ];
  const row = (index: number) => (
    <LimitRow
      label={`Limit ${index + 1}`}
      prefix={`${list}[${index}]`}
      limit={limits[index] ?? emptyLimit}
      fields={fields}
      path={path}
      modes={modes}
      canCountValues={canCountValues}
      catalogue={props.catalogue}
      pace={props.pace}
    />
  );
  return (
    <>
      {hasSuggestions && <ScopeSuggestions {...props} />}
      <p class="muted small">
        A cutoff limit denies verification, forward authentication and holds when nothing is left. It never
        rejects usage that is recorded, so the last request may exceed it.
      </p>
      {canCountValues && (
        <p class="muted small">
          “For each” names a property of usage, such as user. Each of its values then has the whole quantity,
          per hour, day or month.
        </p>
      )}
      <AddableRows count={limits.length} rowsMax={limitsMax} label="Add limit" row={row} />
    </>
  );
}

/** Products and metrics to choose from in rows. */
export function ScopeSuggestions(
  { productSlugs, metrics, catalogue }: Pick<LimitFieldsProps, "productSlugs" | "metrics" | "catalogue">,
) {
  return (
    <>
      <Suggestions id="products" items={productSlugs.map((slug) => productOf(catalogue, slug))} />
      <Suggestions id="metrics" items={metrics.map((slug) => metricOf(catalogue, slug))} />
    </>
  );
}

function Suggestions(
  { id, items }: {
    id: string;
    items: readonly { readonly slug: string; readonly name: string; readonly unit?: string | null }[];
  },
) {
  return (
    <datalist id={id}>
      {items.map(({ slug, name, unit }) => (
        <option
          value={slug}
          label={unit ? `${name}, in ${unit}` : name}
        />
      ))}
    </datalist>
  );
}

/** Returns the products and metrics of the catalogue to choose from, by product. */
function scopeChoices(catalogue: Catalogue): (Choice | ChoiceGroup)[] {
  const choice = (productSlug: string, metric: string): Choice => ({
    value: `${productSlug}/${metric}`,
    label: metric && !productSlug
      ? `${metricOf(catalogue, metric).name}, all products`
      : scopeName({ productSlug: productSlug || null, metric: metric || null }, catalogue),
  });
  const group = (label: string, slug: string, metrics: Iterable<string>) => ({
    label,
    choices: ["", ...metrics].map((metric) => choice(slug, metric)),
  });
  return [
    group("All products", "", catalogue.metrics.keys()),
    ...[...catalogue.products.values()].map(({ slug, name, metrics = [] }) => group(name, slug, metrics)),
    { value: otherScope, label: "Other…" },
  ];
}

/** `prefix`: begins the names of the fields, empty for none. `modes`: empty for limits without a choice. */
export function LimitRow(
  { label, prefix, limit, fields, path = "", modes, canCountValues = false, catalogue, pace }: {
    label: string;
    prefix: string;
    limit: LimitInput;
    fields: FormErrors["fields"];
    path?: string;
    modes: readonly Choice[];
    canCountValues?: boolean;
    catalogue: Catalogue;
    pace?: LimitPace | undefined;
  },
) {
  const nameOf = (part: string) => prefix === "" ? part : `${prefix}.${part}`;
  const field = (part: keyof LimitInput, label: string) => {
    const name = nameOf(part);
    return { label, name, value: limit[part], error: fields[path + name] };
  };
  const text = { autocomplete: "off", maxlength: slugCharactersMax };
  const choices = scopeChoices(catalogue);
  const scope = `${limit.productSlug}/${limit.metric}`;
  const isListed = choices.flatMap((one) => "choices" in one ? one.choices : [one])
    .some(({ value }) => value === scope);
  const isOpen = ["by", "notifyAt"].some((part) => fields[path + nameOf(part)] !== undefined) ||
    limit.by !== "";
  return (
    <fieldset class={`row limit${modes.length > 0 ? "" : " short"}`} aria-label={label}>
      <SelectField
        label="Product and metric"
        name={nameOf("scope")}
        value={isListed ? scope : otherScope}
        choices={choices}
        error={fields[path + prefix]}
      />
      <TextField
        {...field("quantity", "Quantity")}
        autocomplete="off"
        maxlength={quantityCharactersMax}
        placeholder="For example: 5 TB, 15M or 2 h"
      />
      <SelectField
        {...field("per", "Window")}
        choices={limitPeriods.map((per) => ({ value: per, label: perWords[per] }))}
      />
      {modes.length > 0 && <SelectField {...field("mode", "When exceeded")} choices={modes} />}
      {pace && <Pace {...pace} limit={limit} />}
      <div class="row half unlisted">
        <TextField
          {...field("productSlug", "Product slug")}
          {...text}
          placeholder="All products"
          list="products"
        />
        <TextField {...field("metric", "Metric slug")} {...text} placeholder="All metrics" list="metrics" />
      </div>
      <details class="event-group" open={isOpen}>
        <summary>
          <Icon name="chevron" />
          {canCountValues ? "Notifications and values" : "Notifications"}
        </summary>
        <div class="row half">
          <TextField
            {...field("notifyAt", "Notify at (%)")}
            autocomplete="off"
            placeholder={defaultNotifyAt.join(", ")}
            maxlength={percentagesCharactersMax}
          />
          {canCountValues && <TextField {...field("by", "For each")} {...text} placeholder="All together" />}
        </div>
      </details>
    </fieldset>
  );
}

function Pace({ href, wordsOf, limit }: LimitPace & { limit: LimitInput }) {
  return (
    <p
      class="hint pace"
      aria-live="polite"
      hx-get={href}
      hx-trigger='input from:"closest fieldset" delay:400ms, change from:"[name=apiKeyId]"'
      hx-include="closest fieldset, [name=apiKeyId]"
      hx-sync="this:replace"
      hx-swap="innerHTML ignoreTitle:true"
      hx-indicator="this"
    >
      {wordsOf(limit) ?? ""}
    </p>
  );
}

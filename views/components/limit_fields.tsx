// The rows of forms that set usage limits, with as many empty ones as can be added at a time.
import { type Catalogue, metricOf, productOf } from "../../domain/meter/catalogue.ts";
import { defaultNotifyAt, limitModes, limitPeriods } from "../../domain/meter/usage_limit.ts";
import { modeWords, perWords } from "../text/limit.ts";
import { type Choice, SelectField, TextField } from "./field.tsx";
import type { FormErrors } from "./form.tsx";

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
}

const slugCharactersMax = 64;
const quantityCharactersMax = 28;
const percentagesCharactersMax = 40;
const emptyRows = 3;
export const emptyLimit: LimitInput = {
  productSlug: "",
  metric: "",
  per: "month",
  by: "",
  quantity: "",
  mode: "hard",
  notifyAt: "",
};

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
  const rows = Math.min(limits.length + emptyRows, limitsMax);
  const modes: readonly Choice[] = [
    ...limitModes.map((mode) => ({ value: mode, label: modeWords[mode] })),
    ...(canLift ? [{ value: "none", label: "No limit" }] : []),
  ];
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
      {Array.from(
        { length: rows },
        (_, index) => (
          <LimitRow
            label={`Limit ${index + 1}`}
            prefix={`${list}[${index}]`}
            limit={limits[index] ?? emptyLimit}
            fields={fields}
            path={path}
            modes={modes}
            canCountValues={canCountValues}
          />
        ),
      )}
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

/** `prefix`: begins the names of the fields, empty for none. `modes`: empty for limits without a choice. */
export function LimitRow(
  { label, prefix, limit, fields, path = "", modes, canCountValues = false }: {
    label: string;
    prefix: string;
    limit: LimitInput;
    fields: FormErrors["fields"];
    path?: string;
    modes: readonly Choice[];
    canCountValues?: boolean;
  },
) {
  const field = (part: keyof LimitInput, label: string) => {
    const name = prefix === "" ? part : `${prefix}.${part}`;
    const ofRow = part === "productSlug" ? fields[path + prefix] : undefined;
    return { label, name, value: limit[part], error: fields[path + name] ?? ofRow };
  };
  const text = { autocomplete: "off", maxlength: slugCharactersMax };
  return (
    <fieldset
      class={`row limit${canCountValues ? " each" : ""}${modes.length > 0 ? "" : " short"}`}
      aria-label={label}
    >
      <TextField {...field("productSlug", "Product")} {...text} placeholder="All products" list="products" />
      <TextField {...field("metric", "Metric")} {...text} placeholder="All metrics" list="metrics" />
      {canCountValues && (
        <TextField
          {...field("by", "For each")}
          {...text}
          placeholder="All together"
        />
      )}
      <TextField
        {...field("quantity", "Quantity")}
        autocomplete="off"
        inputmode="decimal"
        maxlength={quantityCharactersMax}
      />
      <SelectField
        {...field("per", "Window")}
        choices={limitPeriods.map((per) => ({ value: per, label: perWords[per] }))}
      />
      {modes.length > 0 && <SelectField {...field("mode", "When exceeded")} choices={modes} />}
      <TextField
        {...field("notifyAt", "Notify at (%)")}
        autocomplete="off"
        placeholder={defaultNotifyAt.join(", ")}
        maxlength={percentagesCharactersMax}
      />
    </fieldset>
  );
}

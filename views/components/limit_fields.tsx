// The rows of forms that set usage limits, with as many empty ones as can be added at a time.
import { type Catalogue, metricOf, productOf } from "../../domain/meter/catalogue.ts";
import { limitModes, limitPeriods } from "../../domain/meter/usage_limit.ts";
import { modeWords, perWords } from "../text/limit.ts";
import { type Choice, SelectField, TextField } from "./field.tsx";
import type { FormErrors } from "./form.tsx";

export interface LimitInput {
  readonly productSlug: string;
  readonly metric: string;
  readonly per: string;
  readonly quantity: string;
  /** A mode, or `none`: the plan's limit is lifted. */
  readonly mode: string;
}

export interface LimitFieldsProps {
  readonly limits: readonly LimitInput[];
  readonly fields: FormErrors["fields"];
  /** Names of errors begin with it. */
  readonly path?: string;
  readonly limitsMax: number;
  readonly canLift?: boolean;
  readonly productSlugs: readonly string[];
  readonly metrics: readonly string[];
  /** The names of both. */
  readonly catalogue: Catalogue;
}

const slugCharactersMax = 64;
const quantityCharactersMax = 28;
const emptyRows = 3;
const empty: LimitInput = { productSlug: "", metric: "", per: "month", quantity: "", mode: "hard" };

/** The fields are `limits[0].productSlug` and so on. */
export function LimitFields(props: LimitFieldsProps) {
  const { limits, fields, path = "", limitsMax, canLift = false, catalogue } = props;
  const rows = Math.min(limits.length + emptyRows, limitsMax);
  const modes: readonly Choice[] = [
    ...limitModes.map((mode) => ({ value: mode, label: modeWords[mode] })),
    ...(canLift ? [{ value: "none", label: "No limit" }] : []),
  ];
  return (
    <>
      <Suggestions id="products" items={props.productSlugs.map((slug) => productOf(catalogue, slug))} />
      <Suggestions id="metrics" items={props.metrics.map((slug) => metricOf(catalogue, slug))} />
      {Array.from(
        { length: rows },
        (_, index) => (
          <LimitRow index={index} limit={limits[index] ?? empty} fields={fields} path={path} modes={modes} />
        ),
      )}
    </>
  );
}

function Suggestions(
  { id, items }: { id: string; items: readonly { readonly slug: string; readonly name: string }[] },
) {
  return (
    <datalist id={id}>
      {items.map(({ slug, name }) => <option value={slug} label={name} />)}
    </datalist>
  );
}

function LimitRow(
  { index, limit, fields, path, modes }: {
    index: number;
    limit: LimitInput;
    fields: FormErrors["fields"];
    path: string;
    modes: readonly Choice[];
  },
) {
  const field = (part: keyof LimitInput, label: string) => {
    const name = `limits[${index}].${part}`;
    const ofRow = part === "productSlug" ? fields[`${path}limits[${index}]`] : undefined;
    return { label, name, value: limit[part], error: fields[path + name] ?? ofRow };
  };
  const text = { autocomplete: "off", maxlength: slugCharactersMax };
  return (
    <fieldset class="row limit" aria-label={`Limit ${index + 1}`}>
      <TextField {...field("productSlug", "Product")} {...text} placeholder="All products" list="products" />
      <TextField {...field("metric", "Metric")} {...text} placeholder="All metrics" list="metrics" />
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
      <SelectField {...field("mode", "When exceeded")} choices={modes} />
    </fieldset>
  );
}

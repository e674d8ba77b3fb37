// The fields of a metric in the form of a product.
import { productUnitCharactersMax } from "../../domain/limits.ts";
import { aggregationLabels, aggregations } from "../../domain/meter/aggregation.ts";
import { SelectField, TextField } from "../components/field.tsx";
import type { PageForm } from "../components/form_page.tsx";

/** Matches the maximum in usage records. */
export const slugCharactersMax = 64;
/** The sum is the default, so that a row without a choice is empty. */
const choices = aggregations.map((one) => ({
  value: one === "sum" ? "" : one,
  label: aggregationLabels[one],
}));

export function MetricRow(
  { index, field, dimensionsFault, hasExamples }: {
    index: number;
    field: PageForm["field"];
    dimensionsFault: string | undefined;
    hasExamples: boolean;
  },
) {
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
        {...field("dimensions")}
        {...(dimensionsFault === undefined ? {} : { error: dimensionsFault })}
        {...example("region, model + type")}
        maxlength={600}
      />
      <SelectField label="Counted as" {...field("aggregation")} choices={choices} />
      <TextField
        label="Distinct property (optional)"
        {...field("uniqueProperty")}
        {...example("userId")}
        maxlength={64}
      />
    </fieldset>
  );
}

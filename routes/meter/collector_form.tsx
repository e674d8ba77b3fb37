// The form of a mapping of events, in the console.
import { type EventMapping, mappedMetricsMax } from "../../domain/meter/event_mapping.ts";
import { mappingPresets } from "../../domain/meter/mapping_presets.ts";
import { NameField, SelectField, TextField } from "../../views/components/field.tsx";
import { type FormInput, FormPage, type PageForm } from "../../views/components/form_page.tsx";
import { rowFields, rowsOf, withInput } from "../portal/noun_pages.ts";

const parts = ["productSlug", "metric", "path", "scale", "round", "whenMissing", "properties"] as const;
const emptyRows = 1;
const namedTextMax = 6_000;

/** Returns a mapping as the API takes it, without empty rows. */
export function mappingInput(input: FormInput) {
  const metrics = rowsOf(input, { name: "metrics", parts, rowsMax: mappedMetricsMax }).map((metric) => ({
    productSlug: metric.productSlug.trim(),
    metric: metric.metric.trim(),
    path: metric.path.trim(),
    scale: metric.scale.trim() || null,
    round: metric.round || null,
    whenMissing: metric.whenMissing || "reject",
    properties: namedTexts(metric.properties),
  }));
  return {
    name: input["name"] ?? "",
    type: (input["type"] ?? "").trim(),
    source: input["source"]?.trim() || null,
    subject: input["subject"]?.trim() || null,
    properties: namedTexts(input["properties"] ?? ""),
    metrics,
  };
}

/** Reads `model = data.model, user = user.id`, or a JSON object, which can also have commas. */
function namedTexts(typed: string): Record<string, unknown> {
  if (typed.trim().startsWith("{")) {
    try {
      return JSON.parse(typed);
    } catch {
      // The schema rejects it as a name.
      return { "": typed };
    }
  }
  const pairs = typed.split(",").filter((part) => part.trim() !== "").map((part) => {
    const at = part.indexOf("=");
    return at < 0 ? [part.trim(), ""] : [part.slice(0, at).trim(), part.slice(at + 1).trim()];
  });
  return Object.fromEntries(pairs);
}

function textOf(named: Readonly<Record<string, string>>): string {
  const text = Object.entries(named).map(([name, value]) => `${name} = ${value}`).join(", ");
  const isSame = JSON.stringify(namedTexts(text)) === JSON.stringify(named);
  return isSame ? text : JSON.stringify(named);
}

function fieldsOf({ name, type, source, subject, properties, metrics }: Omit<EventMapping, "id">): FormInput {
  const rows = metrics.map((metric) => ({
    ...metric,
    whenMissing: metric.whenMissing === "reject" ? "" : metric.whenMissing,
    properties: textOf(metric.properties),
  }));
  return {
    name,
    type,
    source: source ?? "",
    subject: subject ?? "",
    properties: textOf(properties),
    ...rowFields("metrics", rows),
  };
}

const empty: Omit<EventMapping, "id"> = {
  name: "",
  type: "",
  source: null,
  subject: null,
  properties: {},
  metrics: [],
};

/** @param options `mapping`: what the form shows first; its name is that before it is edited. `path`: the page of a new mapping. */
export function mappingForm(
  form: PageForm,
  { mapping = empty, isNew, path }: {
    mapping?: Omit<EventMapping, "id"> | undefined;
    isNew: boolean;
    path: string;
  },
) {
  const shown = withInput(form, form.input ?? fieldsOf(mapping));
  /** The fault of one of several lines is shown at all of them. */
  const field = (name: string) => {
    const fault = form.fields[name] ??
      Object.entries(form.fields).find(([path]) => path.startsWith(`${name}.`))?.[1];
    return { ...shown.field(name), error: fault };
  };
  const rows = rowCount(form.input, mapping);
  return (
    <FormPage
      {...form}
      title={isNew ? "Add mapping" : "Edit mapping"}
      heading={isNew ? undefined : "Edit “{name}”"}
      name={isNew ? undefined : mapping.name}
      text={isNew
        ? <Presets path={path} />
        : "Recorded usage doesn't change. Events that are sent again don't count twice."}
      error={form.error ?? form.fields["metrics"] ?? faultOfRow(form)}
      submit={isNew ? "Add mapping" : "Save"}
      more={[
        <>
          <h2>Records</h2>
          <p class="muted small">
            Each event is recorded as one record of each metric, all or none. Empty rows are left out. A path
            leads into the data of the event, such as <code>usage.total_tokens</code>; <code>@subject</code>
            {" "}
            and <code>@source</code> are those of the event. The quantity is multiplied by the scale.
          </p>
          {Array.from({ length: rows }, (_, index) => (
            <MetricRow
              index={index}
              field={(part) => field(`metrics[${index}].${part}`)}
            />
          ))}
        </>,
      ]}
    >
      <NameField label="Name" {...field("name")} autofocus />
      <div class="row half">
        <TextField label="Type of the events" {...field("type")} required maxlength={255} />
        <TextField
          label="Source (optional)"
          {...field("source")}
          hint="Without one, events from all sources that have no mapping of their own."
          maxlength={1_024}
        />
      </div>
      <TextField
        label="Path of the subject (optional)"
        {...field("subject")}
        hint="Whose usage it is. Without one, the subject of the event."
        maxlength={255}
      />
      <TextField
        label="Properties (optional)"
        {...field("properties")}
        hint="Names and paths, separated by commas, such as model = model, user = metadata.user."
        maxlength={namedTextMax}
      />
    </FormPage>
  );
}

function rowCount(input: FormInput | undefined, { metrics }: Pick<EventMapping, "metrics">): number {
  const filled = input === undefined
    ? metrics.length
    : Array.from({ length: mappedMetricsMax }, (_, index) => index + 1)
      .filter((row) => parts.some((part) => (input[`metrics[${row - 1}].${part}`] ?? "") !== "")).at(-1) ?? 0;
  return Math.min(filled + emptyRows, mappedMetricsMax);
}

function faultOfRow({ fields }: PageForm): string | undefined {
  const [path, message] = Object.entries(fields).find(([path]) => /^metrics\[\d+\]$/.test(path)) ?? [];
  return path === undefined ? undefined : `Record ${Number(path.slice(8, -1)) + 1} ${message}`;
}

function Presets({ path }: { path: string }) {
  return (
    <>
      Start from the events of {Object.entries(mappingPresets).map(([preset, { name }], index) => (
        <>
          {index === 0 ? "" : ", "}
          <a href={`${path}?preset=${preset}`}>{name}</a>
        </>
      ))}, or from none.
    </>
  );
}

const rounds = [
  { value: "", label: "To 6 decimals" },
  { value: "nearest", label: "To the nearest whole number" },
  { value: "up", label: "Up to a whole number" },
];
const missing = [
  { value: "", label: "Reject the event" },
  { value: "skip", label: "Skip this record" },
];

function MetricRow({ index, field }: { index: number; field: PageForm["field"] }) {
  return (
    <fieldset class="row four" aria-label={`Record ${index + 1}`}>
      <TextField label="Product" {...field("productSlug")} maxlength={64} />
      <TextField label="Metric" {...field("metric")} maxlength={64} />
      <TextField label="Path of the quantity" {...field("path")} maxlength={255} />
      <TextField label="Scale (optional)" {...field("scale")} inputmode="decimal" maxlength={25} />
      <SelectField label="Rounded" {...field("round")} choices={rounds} />
      <SelectField label="Without a quantity" {...field("whenMissing")} choices={missing} />
      <TextField
        label="Constant properties (optional)"
        {...field("properties")}
        placeholder={index === 0 ? "For example: type = input" : ""}
        maxlength={namedTextMax}
      />
    </fieldset>
  );
}

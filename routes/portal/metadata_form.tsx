// The rows of a form with metadata, which operators keep about organizations and API keys.
import { validationError } from "../../domain/errors.ts";
import { joinPath } from "../../domain/json_bounds.ts";
import {
  metadataKeyCharactersMax,
  metadataKeysMax,
  metadataValueCharactersMax,
} from "../../domain/limits.ts";
import { TextArea, TextField } from "../../views/components/field.tsx";
import type { FormInput, PageForm } from "../../views/components/form_page.tsx";
import { rowsOf } from "./noun_pages.ts";

type Metadata = Readonly<Record<string, string>>;

export interface MetadataRow {
  readonly key: string;
  readonly value: string;
}

export function metadataRows(metadata: Metadata): MetadataRow[] {
  return Object.entries(metadata).map(([key, value]) => ({ key, value }));
}

/** Returns the rows as typed, without those that have no key. */
export function typedMetadata(input: FormInput): MetadataRow[] {
  const rows = rowsOf(input, { name: "metadata", parts: ["key", "value"], rowsMax: metadataKeysMax });
  return rows.map(({ key, value }) => ({ key: key.trim(), value })).filter(({ key }) => key !== "");
}

/** Returns the change that leaves only these rows. */
export function metadataChange(
  before: Metadata,
  rows: readonly MetadataRow[],
): Record<string, string | null> {
  return {
    ...Object.fromEntries(Object.keys(before).map((key) => [key, null])),
    ...Object.fromEntries(rows.map(({ key, value }) => {
      // Browsers turn all line ends into one form.
      const kept = before[key];
      return [key, kept?.replaceAll(/\r\n?/g, "\n") === value ? kept : value];
    })),
  };
}

/** @throws {AppError} `validation_failed` for each row whose key is in a row above. */
export function requireDistinctKeys(metadata: readonly MetadataRow[]): void {
  const keys = metadata.map(({ key }) => key);
  const details = keys.flatMap((key, index) =>
    keys.indexOf(key) === index
      ? []
      : [{ path: `metadata[${index}].key`, message: "Each metadata key can be used only once." }]
  );
  if (details.length > 0) throw validationError(details);
}

const emptyRows = 3;

interface MetadataFieldsProps extends Pick<PageForm, "field" | "fields"> {
  readonly rows: readonly MetadataRow[];
}

export function MetadataFields({ rows, field, fields }: MetadataFieldsProps) {
  // The API names metadata by its key.
  const ofRow = (index: number) => fields[joinPath("metadata", rows[index]?.key ?? "")];
  return (
    <>
      <h2>Metadata</h2>
      <p class="muted small">Your own data. Members don't see it. Rows without a key are removed.</p>
      {Array.from(
        { length: Math.min(rows.length + emptyRows, metadataKeysMax) },
        (_, index) => (
          <div class="row half">
            <TextField
              label="Key"
              {...field(`metadata[${index}].key`)}
              maxlength={metadataKeyCharactersMax}
            />
            <TextArea
              label="Value"
              {...field(`metadata[${index}].value`)}
              error={ofRow(index)}
              rows={1}
              maxlength={metadataValueCharactersMax}
            />
          </div>
        ),
      )}
    </>
  );
}

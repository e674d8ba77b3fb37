// How long the quantity of a limit would last, below its field: for the page, and while people type.
import { type Catalogue, metricOf } from "../../domain/meter/catalogue.ts";
import { microsToNumber } from "../../domain/meter/quantity.ts";
import { parseTypedQuantity } from "../../domain/meter/typed_quantity.ts";
import type { Access } from "../../services/access/mod.ts";
import { readProductNames, readUsage } from "../../services/meter/mod.ts";
import type { LimitInput } from "../../views/components/limit_fields.tsx";
import { paceWords } from "../../views/text/limit.ts";
import type { AppContext } from "../env.ts";
import { isUpdate } from "../portal/choice.ts";
import { inTime } from "../portal/in_time.ts";
import type { PortalParts } from "../portal/page.ts";
import { limitRow } from "./limit_input.ts";

interface PaceOptions {
  readonly rows: readonly LimitInput[];
  readonly catalogue: Catalogue;
  /** The key whose usage counts; undefined for all. */
  readonly apiKey: string | undefined;
}

/** Returns what the quantity of each row means at the usage of the last week. Reads it only if a row has one. */
export async function limitPace(
  { services }: Pick<PortalParts, "services">,
  access: Access,
  { rows, catalogue, apiKey }: PaceOptions,
): Promise<(row: LimitInput) => string | null> {
  const quantityOf = ({ by, quantity, metric }: LimitInput) =>
    metric === "" || by !== "" ? null : parseTypedQuantity(quantity, metricOf(catalogue, metric).unit);
  const query = { apiKey: apiKey === undefined ? undefined : [apiKey] };
  const used = rows.every((row) => quantityOf(row) === null)
    ? null
    : await inTime((signal) => readUsage(services, access, { job: "sumRecentUsage", query, signal }));
  return (row) => {
    const quantity = quantityOf(row);
    const { aggregation, ...measure } = metricOf(catalogue, row.metric);
    if (quantity === null || used === null || aggregation !== undefined) return null;
    const micros = used
      .filter(({ productSlug, metric }) =>
        metric === row.metric && (row.productSlug === "" || productSlug === row.productSlug)
      )
      .reduce((sum, { micros }) => sum + micros, 0n);
    return paceWords(quantity, microsToNumber(micros), measure);
  };
}

/** Responds with the words about the row that someone types; null for a request for the page. */
export async function typedPace(
  c: AppContext,
  parts: PortalParts,
  access: Access,
  apiKey?: string,
): Promise<Response | null> {
  const typed = c.req.query();
  const name = Object.keys(typed).find((name) => /(^|\.)quantity$/.test(name));
  if (name === undefined || !isUpdate(c)) return null;
  const row = limitRow(typed, name.slice(0, -"quantity".length));
  const catalogue = await readProductNames(parts.services);
  const ofKey = typed["apiKeyId"] || apiKey;
  const wordsOf = await limitPace(parts, access, { rows: [row], catalogue, apiKey: ofKey });
  return await c.html(<>{wordsOf(row)}</>);
}

// Limits as typed in forms.
import { AppError, validationError } from "../../domain/errors.ts";
import { type Catalogue, metricOf } from "../../domain/meter/catalogue.ts";
import { parseTypedQuantity, quantityFault, typedQuantity } from "../../domain/meter/typed_quantity.ts";
import { defaultNotifyAt, hasScopeOf, type NewLimit } from "../../domain/meter/usage_limit.ts";
import { type LimitInput, otherScope } from "../../views/components/limit_fields.tsx";

/** Returns at most that many limits, without rows that set nothing. @param list The names of the fields begin with it. */
export function limitInput(
  form: Readonly<Record<string, string>>,
  limitsMax: number,
  list = "limits",
): LimitInput[] {
  return Array.from({ length: limitsMax }, (_, index) => limitRow(form, `${list}[${index}].`))
    .filter(({ quantity, mode }) => quantity !== "" || mode === noLimit);
}

/** @param prefix The names of the fields begin with it. */
export function limitRow(form: Readonly<Record<string, string>>, prefix = ""): LimitInput {
  const field = (part: keyof LimitInput) => (form[prefix + part] ?? "").trim();
  return {
    ...typedScope(form, prefix),
    per: field("per"),
    by: field("by"),
    quantity: field("quantity"),
    mode: field("mode"),
    notifyAt: field("notifyAt"),
  };
}

/** Returns the product and metric that a select has, or those that are typed. */
function typedScope(form: Readonly<Record<string, string>>, prefix: string) {
  const { [`${prefix}scope`]: scope = otherScope } = form;
  const typed = (part: string) => (form[prefix + part] ?? "").trim();
  const [productSlug = "", metric = ""] = scope === otherScope
    ? [typed("productSlug"), typed("metric")]
    : scope.split("/");
  return { productSlug, metric };
}

/** Returns the unit of a metric; null of all metrics together. */
function unitOf(metric: string | null, catalogue: Catalogue): string | null {
  return metric ? metricOf(catalogue, metric).unit : null;
}

/** Reads a typed quantity in the unit of its metric. Returns NaN for one that isn't understood. */
function quantityOf(
  { quantity, metric }: Pick<LimitInput, "quantity" | "metric">,
  catalogue: Catalogue,
) {
  return parseTypedQuantity(quantity, unitOf(metric, catalogue)) ?? NaN;
}

/**
 * Runs the check of a form with limits. Its messages about quantities say what is understood.
 *
 * @param lists Rows by the names of their list in the checked value; of a single row, it is empty.
 */
export async function checkLimits<T>(
  check: () => T | Promise<T>,
  lists: Readonly<Record<string, readonly Pick<LimitInput, "quantity" | "metric">[]>>,
  catalogue: Catalogue,
): Promise<T> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof AppError) || error.details === undefined) throw error;
    const faults = new Map(
      Object.entries(lists).flatMap(([list, rows]) =>
        rows.map((row, index) => [list && `${list}[${index}].`, row] as const)
          .filter(([, row]) => Number.isNaN(quantityOf(row, catalogue)))
          .map(([prefix, { metric }]) => [`${prefix}quantity`, quantityFault(unitOf(metric, catalogue))])
      ),
    );
    throw validationError(
      error.details.map(({ path, message }) => ({ path, message: faults.get(path) ?? message })),
    );
  }
}

/** Runs the check of a form with a quantity in the unit of a limit, which it gets as a number. */
export async function checkQuantity<T>(
  metric: string | null,
  { quantity, catalogue, run }: {
    quantity: string;
    catalogue: Catalogue;
    run: (quantity: number) => T | Promise<T>;
  },
): Promise<T> {
  const row = { quantity, metric: metric ?? "" };
  return await checkLimits(() => run(quantityOf(row, catalogue)), { "": [row] }, catalogue);
}

/** The mode of a row that lifts a limit of the plan. */
const noLimit = "none";

export function limitsOf(rows: readonly LimitInput[], catalogue: Catalogue) {
  return rows.map(({ productSlug, metric, per, by, quantity, mode, notifyAt }) => ({
    productSlug: productSlug || null,
    metric: metric || null,
    per,
    ...by !== "" && { by },
    ...(mode === noLimit
      ? { quantity: null, mode: undefined }
      : { quantity: quantityOf({ quantity, metric }, catalogue), mode }),
    notifyAt: percentagesOf(notifyAt),
  }));
}

/** Returns typed limits with the exceptions of those with the same scope, which forms don't have. */
export function withExceptions<T extends NewLimit>(limits: readonly T[], before: readonly NewLimit[]): T[] {
  return limits.map((limit) => {
    const values = limit.by ? before.find((one) => hasScopeOf(one, limit))?.values : undefined;
    return values === undefined ? limit : { ...limit, values };
  });
}

export function typedLimits(limits: readonly NewLimit[], catalogue: Catalogue): LimitInput[] {
  return limits.map(({ productSlug, metric, per, by, quantity, mode, notifyAt }) => ({
    productSlug: productSlug ?? "",
    metric: metric ?? "",
    per,
    by: by ?? "",
    quantity: quantity === null ? "" : typedQuantity(quantity, unitOf(metric, catalogue)),
    mode: quantity === null ? noLimit : mode,
    notifyAt: (notifyAt ?? defaultNotifyAt).join(", "),
  }));
}

/** Parses typed percentages such as `80, 100%`. Returns null without any. Invalid numbers become 0, which is rejected. */
export function percentagesOf(text: string): number[] | null {
  const typed = text.split(/[\s,;%]+/).filter((part) => part !== "");
  return typed.length === 0 ? null : typed.map((part) => /^\d{1,9}$/.test(part) ? Number(part) : 0);
}

/** Parses a typed number, which may have commas between thousands. Returns NaN for invalid input. */
export function numberOf(text: string): number {
  const digits = text.trim();
  if (digits === "") return NaN;
  return Number(/^\d{1,3}(,\d{3})+(\.\d*)?$/.test(digits) ? digits.replaceAll(",", "") : digits);
}

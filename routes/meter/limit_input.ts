// Limits as typed in forms.
import { defaultNotifyAt, hasScopeOf, type NewLimit } from "../../domain/meter/usage_limit.ts";
import { typedDigits } from "../../domain/number_text.ts";
import type { LimitInput } from "../../views/components/limit_fields.tsx";

/** Returns at most that many limits, without rows that set nothing. @param list The names of the fields begin with it. */
export function limitInput(
  form: Readonly<Record<string, string>>,
  limitsMax: number,
  list = "limits",
): LimitInput[] {
  return Array.from({ length: limitsMax }, (_, index) => {
    const field = (part: keyof LimitInput) => (form[`${list}[${index}].${part}`] ?? "").trim();
    return {
      productSlug: field("productSlug"),
      metric: field("metric"),
      per: field("per"),
      by: field("by"),
      quantity: field("quantity"),
      mode: field("mode"),
      notifyAt: field("notifyAt"),
    };
  }).filter(({ quantity, mode }) => quantity !== "" || mode === noLimit);
}

/** The mode of a row that lifts a limit of the plan. */
const noLimit = "none";

export function limitsOf(rows: readonly LimitInput[]) {
  return rows.map(({ productSlug, metric, per, by, quantity, mode, notifyAt }) => ({
    productSlug: productSlug || null,
    metric: metric || null,
    per,
    ...by !== "" && { by },
    ...(mode === noLimit ? { quantity: null } : { quantity: numberOf(quantity), mode }),
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

export function typedLimits(limits: readonly NewLimit[]): LimitInput[] {
  return limits.map(({ productSlug, metric, per, by, quantity, mode, notifyAt }) => ({
    productSlug: productSlug ?? "",
    metric: metric ?? "",
    per,
    by: by ?? "",
    quantity: quantity === null ? "" : typedDigits(quantity),
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

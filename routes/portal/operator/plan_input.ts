// What the forms about plans and limits share.
import { productsMax } from "../../../domain/limits.ts";
import { planNumberNames, type PlanNumbers } from "../../../domain/operator/plan.ts";
import { listProducts } from "../../../services/operator/products.ts";
import type { PortalParts } from "../page.ts";

type Numbers<T> = Readonly<Record<keyof PlanNumbers, T>>;

/** @returns What `to` makes of each number of a plan. */
export function mapNumbers<T>(to: (name: keyof PlanNumbers) => T): Numbers<T> {
  return Object.fromEntries(planNumberNames.map((name) => [name, to(name)])) as Numbers<T>;
}

/** @returns The names of products and metrics in the catalogue. */
export async function catalogueSlugs({ services }: PortalParts) {
  const { products } = await listProducts(services, { limit: productsMax });
  const metrics = products.flatMap((product) => product.metrics.map(({ slug }) => slug));
  return { productSlugs: products.map(({ slug }) => slug), metrics: [...new Set(metrics)] };
}

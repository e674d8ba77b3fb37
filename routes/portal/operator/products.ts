// The console's pages of the catalogue of products.
import { pageItemsDefault, productMetricsMax } from "../../../domain/limits.ts";
import type { Product } from "../../../domain/product.ts";
import {
  changeProduct,
  createProduct,
  deleteProduct,
  getProduct,
  listProducts,
} from "../../../services/operator/products.ts";
import { deleteProductPage, productFormPage, productsPage } from "../../../views/operator/products.tsx";
import type { App, AppContext } from "../../env.ts";
import { check } from "../../schemas/check.ts";
import { changeProductSchema, createProductSchema } from "../../schemas/products.ts";
import { flashOf, mountForm } from "../form.ts";
import { type PortalParts, redirect, sendPage } from "../page.ts";
import { mountConfirmation, operatorForms, operatorFrame, operatorPages } from "./page.ts";

const path = "/operator/products";

/** Mounts `/operator/products`. */
export function operatorProductPages(app: App, parts: PortalParts): void {
  listRoutes(app, parts);
  createRoutes(app, parts);
  editRoutes(app, parts);
  deleteRoutes(app, parts);
}

function listRoutes(app: App, parts: PortalParts): void {
  const { get } = operatorPages(app, parts);
  get(path, async (c, actor) => {
    const { products, nextCursor } = await listProducts(parts.services, {
      limit: pageItemsDefault,
      cursor: c.req.query("cursor"),
    });
    const page = productsPage({
      frame: operatorFrame(parts, actor),
      products,
      nextHref: nextCursor && `${path}?cursor=${encodeURIComponent(nextCursor)}`,
      flash: flashOf(c, { added: "Product added.", saved: "Product saved.", deleted: "Product deleted." }),
    });
    return await sendPage(c, page);
  });
}

function createRoutes(app: App, parts: PortalParts): void {
  mountForm(operatorForms(app, parts), {
    path: `${path}/new`,
    show: (c, actor, { input = {}, ...state }) =>
      sendPage(
        c,
        productFormPage({
          frame: operatorFrame(parts, actor),
          product: null,
          input: productInput(input),
          ...state,
        }),
        state.status,
      ),
    async submit(c, actor, form) {
      const { slug, ...input } = productInput(form);
      const product = check(createProductSchema, { slug, ...withUnits(input) }, "body");
      await createProduct(parts.services, actor, product);
      return redirect(c, `${path}?done=added`);
    },
  });
}

function editRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(operatorForms(app, parts), {
    path: `${path}/:slug/edit`,
    async show(c, actor, { input, ...state }) {
      const product = await getProduct(services, slugOf(c));
      const page = productFormPage({
        frame: operatorFrame(parts, actor),
        product,
        input: input === undefined ? typed(product) : { ...productInput(input), slug: product.slug },
        ...state,
      });
      return await sendPage(c, page, state.status);
    },
    async submit(c, actor, form) {
      const { name, metrics } = productInput(form);
      const change = check(changeProductSchema, withUnits({ name, metrics }), "body");
      await changeProduct(services, actor, { slug: slugOf(c), ...change });
      return redirect(c, `${path}?done=saved`);
    },
  });
}

function deleteRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountConfirmation(app, parts, {
    path: `${path}/:slug/delete`,
    show: async (c, asked) => deleteProductPage({ ...asked, product: await getProduct(services, slugOf(c)) }),
    async act(c, actor) {
      await deleteProduct(services, actor, slugOf(c));
      return `${path}?done=deleted`;
    },
  });
}

function slugOf(c: AppContext): string {
  return c.req.param("slug") ?? "";
}

/** @returns The product as typed, without rows that are empty. */
function productInput(form: Readonly<Record<string, string>>) {
  const field = (name: string) => form[name] ?? "";
  const rows = Array.from({ length: productMetricsMax }, (_, index) => ({
    slug: field(`metrics[${index}].slug`),
    name: field(`metrics[${index}].name`),
    unit: field(`metrics[${index}].unit`),
  }));
  return {
    slug: field("slug"),
    name: field("name"),
    metrics: rows.filter((row) => Object.values(row).some((text) => text.trim() !== "")),
  };
}

function withUnits<T extends Pick<ReturnType<typeof productInput>, "metrics">>(input: T) {
  const metrics = input.metrics.map((metric) => ({ ...metric, unit: metric.unit.trim() || null }));
  return { ...input, metrics };
}

function typed({ slug, name, metrics }: Product) {
  return { slug, name, metrics: metrics.map((metric) => ({ ...metric, unit: metric.unit ?? "" })) };
}

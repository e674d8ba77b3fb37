// The pages of the catalogue of products: the list, the form, and the page that deletes one.
import { productMetricsMax, productUnitCharactersMax } from "../../domain/limits.ts";
import { countOf } from "../../domain/number_text.ts";
import type { Product } from "../../domain/product.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { NameField, TextField } from "../components/field.tsx";
import { Form, type FormErrors } from "../components/form.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { actionsColumn, Cell, Name, Row, Table } from "../components/table.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";

const list = "/operator/products";
const place = "operator/products";
/** As in usage records. */
const slugCharactersMax = 64;
const newProductHref = `${list}/new`;

/** @returns The address of a page about one product. */
function productHref(slug: string, action: "edit" | "delete"): string {
  return `${list}/${encodeURIComponent(slug)}/${action}`;
}

/** What the list shows. */
export interface ProductsPageProps {
  readonly frame: PortalFrame;
  readonly products: readonly Product[];
  readonly nextHref: string | null;
  /** What was just done. */
  readonly flash: string | null;
}

/** @returns The list of products. */
export function productsPage({ frame, products, nextHref, flash }: ProductsPageProps): Page {
  const add = <ButtonLink tone="primary" href={newProductHref}>Add product</ButtonLink>;
  return (
    <PortalPage title="Products" frame={frame} place={place}>
      <PageHead
        title="Products"
        text="Names and units for pages and statements. Usage of other products is recorded too."
      >
        {products.length > 0 && add}
      </PageHead>
      <Notice tone="done" text={flash} />
      <Card title="Catalogue" flush>
        {products.length === 0
          ? (
            <EmptyState
              title="No products yet"
              text="Until you add one, pages show the names in usage records."
            >
              {add}
            </EmptyState>
          )
          : <ProductTable products={products} now={frame.now} />}
      </Card>
      <PageLinks links={[{ href: nextHref, label: "More products" }]} />
    </PortalPage>
  );
}

function ProductTable({ products, now }: { products: readonly Product[]; now: number }) {
  return (
    <Table label="Products" columns={["Product", "Slug", "Metrics", "Added", actionsColumn]}>
      {products.map(({ slug, name, metrics, createdAt }) => (
        <Row>
          <Cell place="title" value={<Name text={name} />} />
          <Cell label="Slug" value={<code>{slug}</code>} />
          <Cell label="Metrics" value={<span>{metricsText(metrics)}</span>} />
          <Cell label="Added" value={<DayTime at={createdAt} now={now} />} />
          <Cell place="actions">
            <div class="actions-row">
              <ButtonLink tone="quiet" href={productHref(slug, "edit")} about={name}>Edit</ButtonLink>
              <ButtonLink tone="quiet-destroy" href={productHref(slug, "delete")} about={name}>
                Delete
              </ButtonLink>
            </div>
          </Cell>
        </Row>
      ))}
    </Table>
  );
}

function metricsText(metrics: Product["metrics"]): string {
  if (metrics.length === 0) return "None";
  return metrics.map(({ name, unit }) => unit === null ? name : `${name} (${unit})`).join(", ");
}

/** A product as typed. */
export interface ProductInput {
  readonly slug: string;
  readonly name: string;
  readonly metrics: readonly { readonly slug: string; readonly name: string; readonly unit: string }[];
}

/** What the form shows. */
export interface ProductFormProps extends FormErrors {
  readonly frame: PortalFrame;
  /** The product that is edited; null for a new one. */
  readonly product: Pick<Product, "slug" | "name"> | null;
  readonly input: ProductInput;
}

/** Rows for further metrics. */
const emptyRows = 2;

/** @returns The page that adds or edits a product. */
export function productFormPage({ frame, product, input, fields, message }: ProductFormProps): Page {
  const rows = input.metrics.length + Math.min(emptyRows, productMetricsMax - input.metrics.length);
  const title = product === null ? "Add product" : "Edit product";
  return (
    <PortalPage title={title} frame={frame} place={place}>
      <PageHead
        back={{ href: list, label: "Products" }}
        title={product === null ? title : "Edit “{name}”"}
        name={product?.name}
        text="Closed statements keep the names that they were closed with."
      />
      <Form
        class="card"
        action={product === null ? newProductHref : productHref(product.slug, "edit")}
        error={null}
      >
        <div class="body">
          <Notice tone="refused" text={message ?? fields["metrics"]} />
          <div class="row half">
            <NameField label="Name" value={input.name} error={fields["name"]} autocomplete="off" autofocus />
            <TextField
              label="Slug"
              name="slug"
              value={input.slug}
              hint="As in usage records."
              error={fields["slug"]}
              autocomplete="off"
              required
              readonly={product !== null}
              maxlength={slugCharactersMax}
            />
          </div>
        </div>
        <div class="body ruled">
          <h2>Metrics</h2>
          <p class="muted small">In the order in which they are shown. Empty rows are left out.</p>
          {Array.from(
            { length: rows },
            (_, index) => <MetricRow index={index} metric={input.metrics[index]} fields={fields} />,
          )}
        </div>
        <footer>
          <SubmitButton>{product === null ? "Add product" : "Save"}</SubmitButton>
          <ButtonLink href={list}>Cancel</ButtonLink>
        </footer>
      </Form>
    </PortalPage>
  );
}

function MetricRow(
  { index, metric, fields }: {
    index: number;
    metric: ProductInput["metrics"][number] | undefined;
    fields: FormErrors["fields"];
  },
) {
  const field = (part: "slug" | "name" | "unit", label: string, maxlength: number, placeholder: string) => (
    <TextField
      label={label}
      name={`metrics[${index}].${part}`}
      value={metric?.[part] ?? ""}
      error={fields[`metrics[${index}].${part}`]}
      placeholder={index === 0 && metric === undefined ? placeholder : ""}
      autocomplete="off"
      maxlength={maxlength}
    />
  );
  return (
    <fieldset class="row three" aria-label={`Metric ${index + 1}`}>
      {field("slug", "Slug", slugCharactersMax, "For example: bytes")}
      {field("name", "Name", 100, "For example: Data transfer")}
      {field("unit", "Unit (optional)", productUnitCharactersMax, "For example: GB")}
    </fieldset>
  );
}

/** @returns The page that asks whether to delete a product. */
export function deleteProductPage(
  { frame, product, message }: { frame: PortalFrame; product: Product; message: string | null },
): Page {
  const { slug, name, metrics } = product;
  return (
    <ConfirmPage
      frame={frame}
      place={place}
      title="Delete product"
      heading="Delete “{name}”?"
      name={name}
      text="Its names and units are removed from the catalogue. Recorded usage and closed statements stay as they are."
      facts={[
        { label: "Slug", value: <code>{slug}</code> },
        { label: "Metrics", value: countOf(metrics.length, "metric") },
      ]}
      action={productHref(slug, "delete")}
      submit="Delete product"
      back={{ href: list, label: "Products" }}
      error={message}
    />
  );
}

// The page of the API, for everybody: the OpenAPI document in words, made by this server and with nothing from any other.
import type { Assets } from "../../../views/layout.tsx";
import { docsPage } from "../../../views/docs/docs.tsx";
import type { OpenApiDocument } from "../../api/openapi/openapi.ts";
import type { App } from "../../env.ts";
import { docsContent } from "./docs_content.ts";

/** What the page needs. */
export interface DocsOptions {
  readonly assets: Assets;
  /** Makes the OpenAPI document. */
  readonly document: () => OpenApiDocument;
}

/** Mounts `/docs`. The page is the same for everybody: it is made when somebody first asks, and kept. */
export function docsRoutes(app: App, { assets, document }: DocsOptions): void {
  let page: Promise<string> | undefined;
  app.get("/docs", async (c) => {
    page ??= Promise.resolve(docsPage({ assets, content: docsContent(document()) })).then(String);
    c.set("responseHeaders", [["cache-control", "public, max-age=60"]]);
    return c.html(await page);
  });
}

// The documentation's routes. Everyone can read it; people who are signed in see their organization's name.
import { notFoundError } from "../../../domain/errors.ts";
import {
  type DocsFrame,
  docsPage,
  docsQueryCharactersMax,
  type DocsReader,
  docsSearchPage,
} from "../../../views/docs/docs_page.tsx";
import type { OpenApiDocument } from "../../api/openapi/openapi.ts";
import { sessionTokens } from "../../cookies.ts";
import type { App, AppContext } from "../../env.ts";
import { findSession } from "../../session.ts";
import { type PortalParts, sendPage } from "../page.ts";
import type { Documentation } from "./documentation.ts";

const publicHeaders: [string, string][] = [["cache-control", "public, max-age=60"], ["vary", "Cookie"]];

/** Mounts `/docs` and `/download`. Responses to people without a session can be cached. */
export function docsRoutes(
  app: App,
  parts: PortalParts,
  { document, version }: { document: () => OpenApiDocument; version: string },
): void {
  const { origin } = parts.config.baseUrl;
  let made: Promise<Documentation> | undefined;
  const docs = () =>
    made ??= documentationOf(document(), origin).catch((error) => {
      // The next request tries again.
      made = undefined;
      throw error;
    });
  const frame = ({ navigation }: Documentation, reader: DocsReader): DocsFrame => ({
    assets: parts.assets,
    navigation,
    version,
    reader,
  });
  const show = async (c: AppContext) => {
    const { path } = c.req;
    const documentation = await docs();
    const found = documentation.find(path);
    if (found === null) throw notFoundError();
    const reader = await readerOf(c, parts);
    if (!hasCookie(c)) c.set("responseHeaders", publicHeaders);
    return sendPage(
      c,
      docsPage({
        ...found,
        frame: frame(documentation, reader),
        origin: path === "/docs" ? origin : null,
      }),
    );
  };

  app.get("/docs/search", async (c) => {
    const query = (c.req.query("q") ?? "").slice(0, docsQueryCharactersMax).trim();
    const documentation = await docs();
    const [results, reader] = await Promise.all([documentation.search(query), readerOf(c, parts)]);
    return sendPage(c, docsSearchPage({ frame: frame(documentation, reader), query, results }));
  });
  app.get("/docs", show);
  app.get("/docs/:page", show);
  app.get("/docs/reference/:group", show);
  app.get("/docs/reference/:group/:operation", show);

  app.get("/download", (c) => c.redirect("/download/", 308));
  app.get("/download/", async (c) => {
    const [documentation, reader, downloads] = await Promise.all([
      docs(),
      readerOf(c, parts),
      loadDownloads(),
    ]);
    const text = await downloads.describeDownloads({ version, origin });
    return sendPage(
      c,
      docsPage({
        article: { path: downloads.downloadsPath, title: "Downloads" },
        text,
        frame: frame(documentation, reader),
        origin: null,
      }),
    );
  });
  app.get("/download/:file", async (c) => {
    const file = await (await loadDownloads()).findDownload(version, c.req.param("file"));
    if (file === undefined) throw notFoundError();
    c.set("responseHeaders", [["cache-control", "public, max-age=60"]]);
    return c.body(file.content, 200, { "Content-Type": file.type });
  });

  app.get("/docs/examples/:file", async (c) => {
    const content = (await import("./guides.ts")).exampleFiles.get(c.req.param("file"));
    if (content === undefined) throw notFoundError();
    c.set("responseHeaders", publicHeaders);
    return c.text(content);
  });
}

function loadDownloads() {
  return import("./downloads.ts");
}

/** Loads the texts and their renderer, which are large, when someone first reads them. */
async function documentationOf(document: OpenApiDocument, origin: string): Promise<Documentation> {
  const { Documentation } = await import("./documentation.ts");
  return new Documentation(document, origin);
}

function hasCookie(c: AppContext): boolean {
  return sessionTokens(c.get("headers")["cookie"]).length > 0;
}

async function readerOf(c: AppContext, parts: PortalParts): Promise<DocsReader> {
  const session = hasCookie(c) ? await findSession(c, parts) : null;
  return session === null ? null : { organization: session.organization?.name ?? null };
}

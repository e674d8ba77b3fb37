// The files that pages load. They are embedded in the program; the URL of each changes with its content.
import { hash } from "node:crypto";
import type { Hono } from "hono";
import geist from "@fontsource-variable/geist/files/geist-latin-wght-normal.woff2" with { type: "bytes" };
import geistMono from "@fontsource-variable/geist-mono/files/geist-mono-latin-wght-normal.woff2" with {
  type: "bytes",
};
import htmx from "htmx.org/dist/htmx.min.js" with { type: "text" };
import favicon from "../static/favicon.svg" with { type: "text" };
import passkeys from "../static/passkeys.js" with { type: "text" };
import css from "../static/portal.css" with { type: "text" };
import script from "../static/portal.js" with { type: "text" };
import type { Assets } from "../views/layout.tsx";
import type { AppEnv } from "./env.ts";

const yearSeconds = 365 * 24 * 3600;

/** An embedded file and how it is sent. */
export interface ServedFile {
  readonly path: string;
  readonly content: string | Uint8Array;
  /** Its media type. */
  readonly type: string;
  /** Headers of every response, including 304. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** Mounts a file, with an ETag derived from its content. */
export function serveFile(app: Hono<AppEnv>, { path, content, type, headers }: ServedFile): void {
  // A copy: a response takes its bytes' buffer for itself.
  const body = typeof content === "string" ? content : new Uint8Array(content);
  const etag = `"${hash("sha256", content, "hex").slice(0, 16)}"`;
  app.get(path, (c) => {
    c.set("responseHeaders", [...headers, ["ETag", etag]]);
    // Proxies that compress a response weaken its ETag.
    const known = c.req.header("If-None-Match")?.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
    if (known?.includes(etag)) return c.body(null, 304);
    return c.body(body, 200, { "Content-Type": type });
  });
}

/** Mounts `/static/*`. @returns The URLs for pages to use. */
export function assetRoutes(app: Hono<AppEnv>): Assets {
  function serve(path: string, content: string | Uint8Array, type: string): string {
    serveFile(app, {
      path,
      content,
      type,
      headers: [
        ["Cache-Control", `public, max-age=${yearSeconds}, immutable`],
        ["Cross-Origin-Resource-Policy", "same-site"],
      ],
    });
    return path;
  }
  const versioned = (name: string, content: string, type: string): string => {
    const [stem, ending] = name.split(".");
    return serve(`/static/${stem}.${hash("sha256", content, "hex").slice(0, 10)}.${ending}`, content, type);
  };
  const geistPath = serve("/static/geist.5-3-0.woff2", geist, "font/woff2");
  const geistMonoPath = serve("/static/geist-mono.5-3-0.woff2", geistMono, "font/woff2");
  const styles = css.replaceAll("/static/geist.woff2", geistPath).replaceAll(
    "/static/geist-mono.woff2",
    geistMonoPath,
  );
  return {
    css: versioned("portal.css", styles, "text/css; charset=utf-8"),
    script: versioned("portal.js", script, "text/javascript; charset=utf-8"),
    passkeys: versioned("passkeys.js", passkeys, "text/javascript; charset=utf-8"),
    htmx: versioned("htmx.js", htmx, "text/javascript; charset=utf-8"),
    favicon: versioned("favicon.svg", favicon, "image/svg+xml"),
    geist: geistPath,
    geistMono: geistMonoPath,
  };
}

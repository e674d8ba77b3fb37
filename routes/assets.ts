// The files that pages load. They are embedded in the program; the URL of each changes with its content.
import { hash } from "node:crypto";
import type { Hono } from "hono";
import geist from "@fontsource-variable/geist/files/geist-latin-wght-normal.woff2" with { type: "bytes" };
import geistMono from "@fontsource-variable/geist-mono/files/geist-mono-latin-wght-normal.woff2" with {
  type: "bytes",
};
import htmx from "htmx.org/dist/htmx.min.js" with { type: "text" };
import favicon from "../static/favicon.svg" with { type: "text" };
import tags from "../static/tags.js" with { type: "text" };
import palette from "../static/palette.js" with { type: "text" };
import passkeys from "../static/passkeys.js" with { type: "text" };
import base from "../static/styles/base.css" with { type: "text" };
import charts from "../static/styles/charts.css" with { type: "text" };
import components from "../static/styles/components.css" with { type: "text" };
import docs from "../static/styles/docs.css" with { type: "text" };
import frame from "../static/styles/frame.css" with { type: "text" };
import gate from "../static/styles/gate.css" with { type: "text" };
import keys from "../static/styles/keys.css" with { type: "text" };
import overview from "../static/styles/overview.css" with { type: "text" };
import operator from "../static/styles/operator.css" with { type: "text" };
import responsive from "../static/styles/responsive.css" with { type: "text" };
import tables from "../static/styles/tables.css" with { type: "text" };
import usage from "../static/styles/usage.css" with { type: "text" };
import script from "../static/portal.js" with { type: "text" };
import type { Config } from "../config.ts";
import { type Accent, accentsOf, iconAspectMax, logoAspect } from "../domain/brand.ts";
import type { Assets } from "../views/layout.tsx";
import type { AppEnv } from "./env.ts";

/** The style sheet. Later rules override earlier ones. */
const css = [base, frame, components, tables, charts, usage, keys, overview, operator, docs, gate, responsive]
  .join(
    "\n",
  );
const yearSeconds = 365 * 24 * 3600;

/** Mounts a file, with an ETag derived from its content. */
export function serveFile(app: Hono<AppEnv>, { path, content, type, headers }: {
  path: string;
  content: string | Uint8Array;
  type: string;
  /** Headers of every response, including 304. */
  headers: readonly (readonly [name: string, value: string])[];
}): void {
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

/** For an address that changes with its content. */
const lasting = [
  ["Cache-Control", `public, max-age=${yearSeconds}, immutable`],
  ["Cross-Origin-Resource-Policy", "same-site"],
] as const;

function versionedPath(name: string, content: string | Uint8Array): string {
  const [stem, ending] = name.split(".");
  return `/static/${stem}.${hash("sha256", content, "hex").slice(0, 10)}.${ending}`;
}

export function assetRoutes(app: Hono<AppEnv>, { brand }: Config): Assets {
  function serve(path: string, content: string | Uint8Array, type: string): string {
    serveFile(app, {
      path,
      content,
      type,
      headers: lasting,
    });
    return path;
  }
  const versioned = (name: string, content: string, type: string): string =>
    serve(versionedPath(name, content), content, type);
  const geistPath = serve("/static/geist.5-3-0.woff2", geist, "font/woff2");
  const geistMonoPath = serve("/static/geist-mono.5-3-0.woff2", geistMono, "font/woff2");
  const styles = `${css}\n${accentStyles(brand.color)}`.replaceAll("/static/geist.woff2", geistPath)
    .replaceAll(
      "/static/geist-mono.woff2",
      geistMonoPath,
    );
  return {
    brand: { name: brand.name, logo: serveLogo(app, brand.logo) },
    css: versioned("portal.css", styles, "text/css; charset=utf-8"),
    script: versioned("portal.js", script, "text/javascript; charset=utf-8"),
    passkeys: versioned("passkeys.js", passkeys, "text/javascript; charset=utf-8"),
    tags: versioned("tags.js", tags, "text/javascript; charset=utf-8"),
    palette: versioned("palette.js", palette, "text/javascript; charset=utf-8"),
    htmx: versioned("htmx.js", htmx, "text/javascript; charset=utf-8"),
    favicon: versioned("favicon.svg", favicon, "image/svg+xml"),
    geist: geistPath,
    geistMono: geistMonoPath,
  };
}

function accentStyles(color: string | null): string {
  if (color === null) return "";
  const { light, dark } = accentsOf(color);
  const pair = (name: keyof Accent) => `light-dark(${light[name]}, ${dark[name]})`;
  return `:root { --accent: ${pair("accent")}; --accent-ink: ${pair("ink")}; --accent-soft: ${
    pair("soft")
  }; }`;
}

/** Serves the logo so that opening its address runs nothing either. @param url Of its content. */
function serveLogo(app: Hono<AppEnv>, url: string | undefined): Assets["brand"]["logo"] {
  const [, type, text] = /^data:(image\/(?:png|svg\+xml));base64,(.*)$/.exec(url ?? "") ?? [];
  if (type === undefined || text === undefined) return null;
  const content = Uint8Array.fromBase64(text);
  const path = versionedPath(type === "image/png" ? "logo.png" : "logo.svg", content);
  const policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";
  serveFile(app, { path, content, type, headers: [...lasting, ["Content-Security-Policy", policy]] });
  return { path, type, isWide: logoAspect(content) > iconAspectMax };
}

// Files that are embedded in the program, as answers.
import { hash } from "node:crypto";
import type { Hono } from "hono";
import type { AppEnv } from "./env.ts";

/** A file and how it is sent. */
export interface ServedFile {
  readonly path: string;
  readonly content: string | Uint8Array;
  /** Its media type. */
  readonly type: string;
  /** Sent with it, and with the answer that the browser's copy is still good. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** Mounts a file, with an ETag made of its content. */
export function serveFile(app: Hono<AppEnv>, file: ServedFile): void {
  const { path, content, type, headers } = file;
  // A copy: a response takes its bytes' buffer for itself.
  const body = typeof content === "string" ? content : new Uint8Array(content);
  const etag = `"${hash("sha256", content, "hex").slice(0, 16)}"`;
  app.get(path, (c) => {
    c.set("responseHeaders", [...headers, ["ETag", etag]]);
    // Whoever compresses an answer on its way weakens its tag.
    const known = c.req.header("If-None-Match")?.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
    if (known?.includes(etag)) return c.body(null, 304);
    return c.body(body, 200, { "Content-Type": type });
  });
}

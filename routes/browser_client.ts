// Serves the browser client to every origin. What it may request is decided by CORS on `/api/auth/*`, not here.
import type { Hono } from "hono";
import script from "../static/gatehouse.js" with { type: "text" };
import types from "../packages/client/src/browser.d.ts" with { type: "text" };
import type { AppEnv } from "./env.ts";
import { serveFile } from "./assets.ts";

/** Short, because the URL never changes. */
const maxAgeSeconds = 300;

export function browserClientRoutes(app: Hono<AppEnv>): void {
  const headers = [
    ["Cache-Control", `public, max-age=${maxAgeSeconds}`],
    ["Access-Control-Allow-Origin", "*"],
    ["Cross-Origin-Resource-Policy", "cross-origin"],
  ] as const;
  serveFile(app, {
    path: "/gatehouse.js",
    content: script,
    type: "text/javascript; charset=utf-8",
    // Deno finds the types of a remote module by this header.
    headers: [...headers, ["X-TypeScript-Types", "./gatehouse.d.ts"]],
  });
  serveFile(app, {
    path: "/gatehouse.d.ts",
    content: types,
    type: "application/typescript; charset=utf-8",
    headers,
  });
}

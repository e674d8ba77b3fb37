// The example product's server: it serves three files, and at /server asks Gatehouse who sent the request.
//
//   deno run --allow-net --allow-read=. server.ts http://localhost:8000 8001

import { Gatehouse, GatehouseError } from "../../packages/client/src/index.ts";

const files = { "/": "index.html", "/product.js": "product.js", "/product.css": "product.css" };
const types = { html: "text/html", js: "text/javascript", css: "text/css" };

/**
 * Responds to a request to the product.
 *
 * @param gatehouse The client of Gatehouse.
 */
export async function respond(request: Request, gatehouse: Gatehouse): Promise<Response> {
  const { pathname } = new URL(request.url);
  const policy =
    `default-src 'none'; script-src 'self' ${gatehouse.url}; style-src 'self'; connect-src ${gatehouse.url}; ` +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  const headers = { "Content-Security-Policy": policy, "Cache-Control": "no-store" };
  if (pathname === "/server") {
    try {
      return Response.json(await gatehouse.me(request), { headers });
    } catch (error) {
      if (!(error instanceof GatehouseError)) throw error;
      // If Gatehouse can't be asked, deny access.
      return new Response("Try again shortly.", { status: 503, headers });
    }
  }
  const name = files[pathname as keyof typeof files];
  if (name === undefined) return new Response("Page not found.", { status: 404, headers });
  const text = await Deno.readTextFile(new URL(name, import.meta.url));
  const type = types[name.split(".")[1] as keyof typeof types];
  return new Response(text.replace("GATEHOUSE", gatehouse.url), {
    headers: { ...headers, "Content-Type": `${type}; charset=utf-8` },
  });
}

if (import.meta.main) {
  const [url = "http://localhost:8000", port = "8001"] = Deno.args;
  const gatehouse = new Gatehouse({ url });
  Deno.serve({ port: Number(port), hostname: "127.0.0.1" }, (request) => respond(request, gatehouse));
}

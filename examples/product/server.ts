// The example product's server: it serves three files, and at /server asks Gatehouse who sent the request.
//
//   deno run --allow-net --allow-read=. server.ts http://localhost:8000 8001

const files = { "/": "index.html", "/product.js": "product.js", "/product.css": "product.css" };
const types = { html: "text/html", js: "text/javascript", css: "text/css" };

/**
 * Responds to a request to the product.
 *
 * @param gatehouse Gatehouse's origin, such as `https://auth.example.com`.
 * @param ask Sends a request to Gatehouse.
 */
export async function respond(request: Request, gatehouse: string, ask = fetch): Promise<Response> {
  const { pathname } = new URL(request.url);
  const policy =
    `default-src 'none'; script-src 'self' ${gatehouse}; style-src 'self'; connect-src ${gatehouse}; ` +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  const headers = { "Content-Security-Policy": policy, "Cache-Control": "no-store" };
  if (pathname === "/server") {
    const cookie = request.headers.get("Cookie") ?? "";
    const who = await ask(`${gatehouse}/api/auth/me`, { headers: { Cookie: cookie } }).catch(() => null);
    // If Gatehouse can't be asked, deny access.
    if (who?.ok !== true) return new Response("Try again shortly.", { status: 503, headers });
    return Response.json(await who.json(), { headers });
  }
  const name = files[pathname as keyof typeof files];
  if (name === undefined) return new Response("Page not found.", { status: 404, headers });
  const text = await Deno.readTextFile(new URL(name, import.meta.url));
  const type = types[name.split(".")[1] as keyof typeof types];
  return new Response(text.replace("GATEHOUSE", gatehouse), {
    headers: { ...headers, "Content-Type": `${type}; charset=utf-8` },
  });
}

if (import.meta.main) {
  const [gatehouse = "http://localhost:8000", port = "8001"] = Deno.args;
  Deno.serve({ port: Number(port), hostname: "127.0.0.1" }, (request) => respond(request, gatehouse));
}

// A product that shows its customers their API keys and usage: in a frame at /, and by a redirect at /keys.
//
//   GATEHOUSE_TOKEN=service_operator_… deno run --allow-net --allow-env embedding.ts http://localhost:8000 8001

/** `token`: an operator token with the scope `portal_sessions:write`. It stays on the server. */
export interface Gatehouse {
  readonly url: string;
  readonly token: string;
  readonly fetch?: typeof fetch;
}

/** The customer who is signed in to the product. A real one finds them with its own session. */
export interface Customer {
  /** The external id of their organization in Gatehouse. */
  readonly externalId: string;
  readonly user: { readonly externalId: string; readonly name: string };
}

const example: Customer = {
  externalId: "customer-4711",
  user: { externalId: "user-12", name: "Ada Lovelace" },
};

/** Responds to a request to the product. */
export async function respond(
  request: Request,
  gatehouse: Gatehouse,
  customer: Customer = example,
): Promise<Response> {
  const { pathname, origin } = new URL(request.url);
  if (pathname === "/") {
    const address = await portalAddress(gatehouse, { ...customer, pages: ["keys", "usage", "limits"] });
    const headers = {
      "Content-Type": "text/html; charset=utf-8",
      // An address works once, so the page must not be stored.
      "Cache-Control": "no-store",
      "Content-Security-Policy":
        `default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data:; frame-src ${gatehouse.url}`,
    };
    return new Response(page(address), { headers });
  }
  if (pathname === "/frame.js") {
    return new Response(frameScript(gatehouse), { headers: { "Content-Type": "text/javascript" } });
  }
  if (pathname === "/keys") {
    const returnUrl = `${origin}/`;
    return Response.redirect(
      await portalAddress(gatehouse, { ...customer, pages: ["keys"], returnUrl }),
      303,
    );
  }
  return new Response("Page not found.", { status: 404 });
}

/** Signs the customer in to some pages of the portal. Returns the address to open, once. */
async function portalAddress(
  { url, token, fetch = globalThis.fetch }: Gatehouse,
  session: object,
): Promise<string> {
  const response = await fetch(`${url}/api/operator/portal-sessions`, {
    method: "POST",
    headers: { "Authorization": `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify(session),
  });
  if (!response.ok) throw new Error(`Gatehouse: ${response.status} ${await response.text()}`);
  return (await response.json()).url;
}

/** Makes the frame as high as its page. */
const frameScript = ({ url }: Gatehouse) => `
addEventListener("message", ({ origin, source, data }) => {
  const frame = document.querySelector("iframe");
  if (origin !== "${url}" || source !== frame.contentWindow) return;
  if (data.type === "gatehouse:height") frame.style.height = data.height + "px";
});
`;

function page(address: string): string {
  return `<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Settings</title>
    <link rel="icon" href="data:,">
    <script src="/frame.js"></script>
    <style>
      body { margin: 0; font-family: sans-serif } h1, p { margin: 16px }
      iframe { width: 100%; height: calc(100vh - 120px); border: 0 }
    </style>
  </head>
  <body>
    <h1>Settings</h1>
    <p><a href="/keys">API keys on their own page</a></p>
    <iframe src="${address}&ground=transparent" title="API keys and usage"></iframe>
  </body>
</html>
`;
}

if (import.meta.main) {
  const [url = "http://localhost:8000", port = "8001"] = Deno.args;
  const token = Deno.env.get("GATEHOUSE_TOKEN") ?? "";
  Deno.serve({ port: Number(port), hostname: "127.0.0.1" }, (request) => respond(request, { url, token }));
}

// The upper limit: Hono on Deno that only echoes JSON. `/read` discards the body, which shows how much the load generator
// can send. `/headers` shows the cost of our response headers.
import { Hono } from "hono";

const app = new Hono();
app.post("/echo", async (c) => c.json(await c.req.json()));
app.post("/read", async (c) => {
  await c.req.arrayBuffer();
  return c.body(null, 201);
});

/** As many headers of the same length as in each response of the usage API. */
const headers = {
  "x-request-id": "req_01a1fe5e54ef792db24f9dc074465b74",
  "x-content-type-options": "nosniff",
  "referrer-policy": "strict-origin-when-cross-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store, no-transform",
  "ratelimit": '"key";r=1000;t=1',
  "ratelimit-policy": '"key";q=1000;w=1',
};
app.post("/headers", async (c) => {
  const body = JSON.stringify(await c.req.json());
  return new Response(body, { status: 201, headers: { "content-type": "application/json", ...headers } });
});
Deno.serve({ hostname: "127.0.0.1", port: Number(Deno.args[0]), onListen: () => {} }, app.fetch);

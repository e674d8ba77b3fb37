// The ceiling: Hono on Deno, echoing JSON and doing nothing else. `/read` throws the body away: what the load
// generator can send at most.
import { Hono } from "hono";

const app = new Hono();
app.post("/echo", async (c) => c.json(await c.req.json()));
app.post("/read", async (c) => {
  await c.req.arrayBuffer();
  return c.body(null, 201);
});
Deno.serve({ hostname: "127.0.0.1", port: Number(Deno.args[0]), onListen: () => {} }, app.fetch);

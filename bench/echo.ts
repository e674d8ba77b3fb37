// The ceiling: Hono on Deno, echoing JSON and doing nothing else.
import { Hono } from "hono";

const app = new Hono();
let session = "{}";
app.post("/echo", async (c) => c.json(await c.req.json()));
app.put("/session", async (c) => {
  session = await c.req.text();
  return c.body(null, 204);
});
app.get("/session", (c) => c.json(JSON.parse(session)));
Deno.serve({ hostname: "127.0.0.1", port: Number(Deno.args[0]) }, app.fetch);

// The ceiling: Hono on Deno, echoing JSON and doing nothing else.
import { Hono } from "hono";

const app = new Hono();
app.post("/echo", async (c) => c.json(await c.req.json()));
Deno.serve({ hostname: "127.0.0.1", port: Number(Deno.args[0]) }, app.fetch);

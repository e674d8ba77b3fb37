// The upper limit: Hono on Deno that only echoes JSON (`POST /`), or responds with the JSON of its second argument
// (`GET`).
import { Hono } from "hono";

const [port, json = "null"] = Deno.args;
const value = JSON.parse(json);
const app = new Hono();
app.get("*", (c) => c.json(value));
app.post("/", async (c) => c.json(await c.req.json()));
Deno.serve({ hostname: "127.0.0.1", port: Number(port), onListen: () => {} }, app.fetch);

// A product with Hono.
import { type Context, Hono } from "hono";
import { cors } from "hono/cors";
import {
  type KeyEnv,
  requireKey,
  requireSession,
  type SessionEnv,
} from "../../../../packages/client/src/hono.ts";
import { Gatehouse } from "../../../../packages/client/src/gatehouse.ts";
import type { Product, ProductSettings } from "./settings.ts";
import { clientsOf, Model, runs, Work } from "./work.js";

export function startHonoProduct(settings: ProductSettings): Promise<Product> {
  const { gatehouse, down, slow, misconfigured } = clientsOf(Gatehouse, settings);
  const work = new Work();
  const model = new Model(settings.modelUrl);
  const app = new Hono<SessionEnv & KeyEnv>();
  const member = (c: Context<SessionEnv>) => c.json(c.get("session"));
  const key = (c: Context<KeyEnv>) => work.respond(c.req.raw, c.get("apiKey"));

  app.use("/board/*", requireSession({ gatehouse }));
  app.all("/board/*", member);
  app.use("/cors/*", cors({ origin: "https://app.example.com", credentials: true }));
  app.get("/cors/*", requireSession({ gatehouse }), member);
  app.get("/admin/*", requireSession({ gatehouse, role: "ADMIN", organization: true }), member);
  app.get(
    "/orgs/:id",
    requireSession({ gatehouse, organization: (c) => c.req.param("id"), role: "ADMIN" }),
    member,
  );
  app.get("/team", requireSession({ gatehouse, organization: settings.organizationId }), member);
  app.get("/public/*", requireSession({ gatehouse, publicUrl: "https://app.example.com/base/" }), member);
  app.get("/secure", requireSession({ gatehouse, signInUrl: "https://auth.example.com/sign-in" }), member);
  app.get("/socket", requireSession({ gatehouse }), (c) => openSocket(c.req.raw));

  app.all("/render", requireKey({ gatehouse, permission: ["maps:render", "maps:edit"] }), key);
  app.get("/query", requireKey({ gatehouse, keyFrom: (c) => c.req.query("key") }), key);
  const tiles = {
    product: "tiles",
    metric: "requests",
    quantity: (_c: Context, response?: Response) => Number(response?.headers.get("x-tiles") ?? 0),
  };
  app.get("/tiles", requireKey({ gatehouse, meter: tiles }), key);
  app.get("/jobs", requireKey({ gatehouse, meter: runs, limit: true }), key);
  app.get("/jobs/socket", requireKey({ gatehouse, meter: runs, limit: true }), (c) => openSocket(c.req.raw));
  const quantity = (c: Context) => Number(c.req.query("runs"));
  const askedRuns = { ...runs, quantity };
  app.get("/fits", requireKey({ gatehouse, limit: askedRuns }), key);
  app.get("/work", requireKey({ gatehouse, meter: askedRuns }), key);
  app.get("/free", requireKey({ gatehouse, meter: askedRuns, limit: false }), key);

  const holding = work.holding((c: Context) => new URL(c.req.url));
  const generate = (c: Context) => work.generate(c.req.raw);
  app.all("/generate", requireKey({ gatehouse, ...holding }), generate);
  app.get("/generate-down", requireKey({ gatehouse: down, ...holding }), generate);

  app.get("/model", requireKey({ gatehouse, ...model.holding() }), (c) => model.ask(c.req.raw));

  app.get("/down", requireSession({ gatehouse: down }), member);
  app.get("/down-key", requireKey({ gatehouse: down }), key);
  app.get("/slow", requireSession({ gatehouse: slow }), member);
  app.get("/slow-key", requireKey({ gatehouse: slow, meter: runs, limit: true }), key);
  app.get("/misconfigured", requireKey({ gatehouse: misconfigured }), key);
  app.onError((_error, c) => c.text("broken", 500));

  app.get("/state", () => work.state());
  app.post("/release", () => work.release());
  app.post(
    "/flush",
    async (c) => c.json({ isFlushed: await gatehouse.meter.flush(), ...gatehouse.meter.stats() }),
  );
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, app.fetch);
  return Promise.resolve({
    url: `http://127.0.0.1:${server.addr.port}`,
    async stop() {
      await gatehouse.close();
      await server.shutdown();
    },
  });
}

function openSocket(request: Request): Response {
  const { socket, response } = Deno.upgradeWebSocket(request);
  socket.onmessage = ({ data }) => socket.send(data);
  return response;
}

// A product with Fastify, run by Node.js. The first argument is the package's name.
import process from "node:process";
import { Readable } from "node:stream";
import { clientsOf, Model, runs, Work } from "./work.js";

const client = new URL("package/dist/", import.meta.url);
const { Gatehouse } = await import(new URL("index.js", client));
const { apiKeyOf, requireKey, requireSession, sessionOf } = await import(new URL("fastify.js", client));
const [, , version, settingsText] = process.argv;
const { default: fastify } = await import(version);
const settings = JSON.parse(settingsText);
const { gatehouse, down, slow, misconfigured } = clientsOf(Gatehouse, settings);
const work = new Work();
const model = new Model(settings.modelUrl);

/** Aborts when the client has disconnected. */
function leaving(reply) {
  const controller = new AbortController();
  reply.raw.on("close", () => controller.abort());
  return controller.signal;
}

const asRequest = (request, reply) => ({
  url: new URL(request.originalUrl, "http://localhost"),
  signal: leaving(reply),
});

/** Sends what a handler of the other products returns. */
function send(reply, made) {
  reply.code(made.status).headers(Object.fromEntries(made.headers));
  return reply.send(made.body === null ? undefined : Readable.fromWeb(made.body));
}

const member = (request) => sessionOf(request);
const key = async (request, reply) => {
  request.work = { tiles: request.query.tiles ?? "1" };
  return send(reply, await work.respond(asRequest(request, reply), apiKeyOf(request)));
};

const app = fastify({ exposeHeadRoutes: true });
const session = (path, options = {}, asked = gatehouse) =>
  app.all(path, { onRequest: requireSession({ gatehouse: asked, ...options }) }, member);
const keyed = (path, options = {}, asked = gatehouse, handler = key) =>
  app.all(path, { preHandler: requireKey({ gatehouse: asked, ...options }) }, handler);

for (const path of ["/board", "/board/*"]) session(path);
session("/admin/*", { role: "ADMIN", organization: true });
session("/orgs/:id", { organization: (request) => request.params.id, role: "ADMIN" });
session("/team", { organization: settings.organizationId });
session("/public/*", { publicUrl: "https://app.example.com/base/" });
session("/secure", { signInUrl: "https://auth.example.com/sign-in" });

keyed("/render", { permission: ["maps:render", "maps:edit"] });
keyed("/query", { keyFrom: (request) => request.query.key });
keyed("/tiles", {
  meter: { product: "tiles", metric: "requests", quantity: (request) => Number(request.work.tiles) },
});
keyed("/jobs", { meter: runs, limit: true });
const askedRuns = { ...runs, quantity: (request) => Number(request.query.runs) };
keyed("/fits", { limit: askedRuns });
keyed("/work", { meter: askedRuns });
keyed("/free", { meter: askedRuns, limit: false });

const generate = async (request, reply) => send(reply, await work.generate(asRequest(request, reply)));
const holding = work.holding((request) => new URL(request.originalUrl, "http://localhost"));
keyed("/generate", holding, gatehouse, generate);
keyed("/generate-down", holding, down, generate);
keyed(
  "/model",
  model.holding(),
  gatehouse,
  async (request, reply) => send(reply, await model.ask(asRequest(request, reply))),
);

session("/down", {}, down);
keyed("/down-key", {}, down);
session("/slow", {}, slow);
keyed("/slow-key", { meter: runs, limit: true }, slow);
keyed("/misconfigured", {}, misconfigured);

app.get("/state", (_request, reply) => send(reply, work.state()));
app.post("/release", (_request, reply) => send(reply, work.release()));
app.post("/flush", async () => ({ isFlushed: await gatehouse.meter.flush(), ...gatehouse.meter.stats() }));
app.setErrorHandler((error, _request, reply) => reply.code(error.statusCode ?? 500).send("broken"));
const address = await app.listen({ port: 0, host: "127.0.0.1" });
process.stdout.write(`${new URL(address).port}\n`);
process.stdin.on("end", () => process.exit()).resume();

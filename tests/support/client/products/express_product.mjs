// A product with Express, run by Node.js. The first argument is the version's package name.
import { Buffer } from "node:buffer";
import process from "node:process";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { clientsOf, Model, runs, Work } from "./work.js";

const client = new URL("package/dist/", import.meta.url);
const { Gatehouse } = await import(new URL("gatehouse.js", client));
const { apiKeyOf, requireKey, requireSession, sessionOf } = await import(new URL("express.js", client));
const [, , version, settingsText] = process.argv;
const { default: express } = await import(version);
const settings = JSON.parse(settingsText);
const { gatehouse, down, slow, misconfigured } = clientsOf(Gatehouse, settings);
const work = new Work();
const model = new Model(settings.modelUrl);

/** Sends what a handler of the other products returns. */
async function send(response, made) {
  response.status(made.status).set(Object.fromEntries(made.headers));
  if (made.headers.has("content-type")) response.send(await made.text());
  else await pipeline(Readable.fromWeb(made.body), response).catch(() => {});
}

const member = (request, response) => response.json(sessionOf(request));
const key = (request, response, next) => {
  request.work = { tiles: request.query.tiles ?? "1" };
  const leaving = new AbortController();
  response.on("close", () => leaving.abort());
  const url = new URL(request.originalUrl, "http://localhost");
  const made = work.respond({ url, signal: leaving.signal }, apiKeyOf(request));
  // Express 4 doesn't handle rejected promises.
  made.then((made) => send(response, made)).catch(next);
};

const app = express();
const board = express.Router();
board.use(requireSession({ gatehouse }), member);
app.use("/board", board);
app.get(/^\/admin\//, requireSession({ gatehouse, role: "ADMIN", organization: true }), member);
const ofPath = { organization: (request) => request.params.id, role: "ADMIN" };
app.get("/orgs/:id", requireSession({ gatehouse, ...ofPath }), member);
app.get("/team", requireSession({ gatehouse, organization: settings.organizationId }), member);
app.use("/public", requireSession({ gatehouse, publicUrl: "https://app.example.com/base/" }), member);
app.get("/secure", requireSession({ gatehouse, signInUrl: "https://auth.example.com/sign-in" }), member);

app.all("/render", requireKey({ gatehouse, permission: ["maps:render", "maps:edit"] }), key);
app.get("/query", requireKey({ gatehouse, keyFrom: (request) => request.query.key }), key);
const tiles = {
  product: "tiles",
  metric: "requests",
  quantity: (request) => Number(request.work.tiles),
};
app.get("/tiles", requireKey({ gatehouse, meter: tiles }), key);
app.get("/jobs", requireKey({ gatehouse, meter: runs, limit: true }), key);
const askedRuns = { ...runs, quantity: (request) => Number(request.query.runs) };
app.get("/fits", requireKey({ gatehouse, limit: askedRuns }), key);
app.get("/work", requireKey({ gatehouse, meter: askedRuns }), key);
app.get("/free", requireKey({ gatehouse, meter: askedRuns, limit: false }), key);

// Streams as most handlers do that read another stream: without an end if the client has gone.
const generate = (request, response, next) => {
  const leaving = new AbortController();
  response.on("close", () => leaving.abort());
  const url = new URL(request.originalUrl, "http://localhost");
  work.generate({ url, signal: leaving.signal }).then((made) => send(response, made)).catch(next);
};
const holding = work.holding((request) => new URL(request.originalUrl, "http://localhost"));
app.all("/generate", requireKey({ gatehouse, ...holding }), generate);
app.get("/generate-down", requireKey({ gatehouse: down, ...holding }), generate);

// Sends the body as it arrives, and as text.
app.get("/model", requireKey({ gatehouse, ...model.holding() }), async (request, response, next) => {
  const leaving = new AbortController();
  response.on("close", () => leaving.abort());
  const url = new URL(request.originalUrl, "http://localhost");
  try {
    const made = await model.ask({ url, signal: leaving.signal });
    response.status(made.status).type(made.headers.get("content-type"));
    for await (const bytes of made.body) response.write(Buffer.from(bytes).toString("latin1"), "latin1");
    response.end();
  } catch (error) {
    // As most handlers do: without an end if the client has gone.
    if (!leaving.signal.aborted) next(error);
  }
});

app.get("/down", requireSession({ gatehouse: down }), member);
app.get("/down-key", requireKey({ gatehouse: down }), key);
app.get("/slow", requireSession({ gatehouse: slow }), member);
app.get("/slow-key", requireKey({ gatehouse: slow, meter: runs, limit: true }), key);
app.get("/misconfigured", requireKey({ gatehouse: misconfigured }), key);

app.get("/state", (_request, response) => send(response, work.state()));
app.post("/release", (_request, response) => send(response, work.release()));
app.post("/flush", async (_request, response) => {
  response.json({ isFlushed: await gatehouse.meter.flush(), ...gatehouse.meter.stats() });
});
app.use((error, _request, response, next) => {
  if (response.headersSent) return next(error);
  response.status(error.status ?? 500).send("broken");
});
const server = app.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
process.stdin.on("end", () => process.exit()).resume();

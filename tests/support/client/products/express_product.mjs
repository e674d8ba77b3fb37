// A product with Express, run by Node.js. The first argument is the version's package name.
import { Buffer } from "node:buffer";
import process from "node:process";
import { pipeline, Readable } from "node:stream";

const client = new URL("client/", import.meta.url);
const { Gatehouse } = await import(new URL("gatehouse.js", client));
const { apiKeyOf, requireKey, requireSession, sessionOf } = await import(new URL("express.js", client));
const [, , version, settingsText] = process.argv;
const { default: express } = await import(version);
const settings = JSON.parse(settingsText);
const { operatorToken, gatehouseUrl: url } = settings;
const gatehouse = new Gatehouse({ url, operatorToken });
const down = new Gatehouse({ url: settings.downUrl, operatorToken });
const slow = new Gatehouse({ url: settings.slowUrl, operatorToken, timeoutMs: 50 });
const misconfigured = new Gatehouse({ url, operatorToken: "invalid" });
const runs = { product: "jobs", metric: "runs" };
const released = [];
const state = { waiting: 0, gone: 0 };

function* endlessChunks() {
  for (;;) yield Buffer.alloc(65_536);
}

function* breakingChunks() {
  yield Buffer.alloc(65_536);
  yield Buffer.alloc(65_536);
  throw new Error("broken while streaming");
}

async function respond(request, response, who) {
  request.work = { tiles: request.query.tiles ?? "1" };
  response.set("x-tiles", request.work.tiles);
  switch (request.query.do) {
    case "fail":
      return response.status(404).json({});
    case "throw":
      throw new Error("thrown by the handler");
    case "stream":
      return pipeline(Readable.from(endlessChunks()), response, () => {});
    case "break":
      return pipeline(Readable.from(breakingChunks()), response, () => {});
    case "wait":
      state.waiting++;
      response.on("close", () => state.gone++);
      await new Promise((resolve) => released.push(resolve));
  }
  response.json(who);
}

const member = (request, response) => response.json(sessionOf(request));
// Express 4 doesn't handle rejected promises.
const key = (request, response, next) => {
  respond(request, response, apiKeyOf(request)).catch(next);
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

app.get("/down", requireSession({ gatehouse: down }), member);
app.get("/down-key", requireKey({ gatehouse: down }), key);
app.get("/slow", requireSession({ gatehouse: slow }), member);
app.get("/slow-key", requireKey({ gatehouse: slow, meter: runs, limit: true }), key);
app.get("/misconfigured", requireKey({ gatehouse: misconfigured }), key);

app.get("/state", (_request, response) => response.json(state));
app.post("/release", (_request, response) => {
  released.splice(0).forEach((resolve) => resolve());
  response.json({});
});
app.post("/flush", async (_request, response) => {
  response.json({ isFlushed: await gatehouse.meter.flush(), ...gatehouse.meter.stats() });
});
app.use((error, _request, response, next) => {
  if (response.headersSent) return next(error);
  response.status(error.status ?? 500).send("broken");
});
const server = app.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
process.stdin.on("end", () => process.exit()).resume();

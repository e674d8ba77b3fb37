// Uses of the Express middlewares that must compile with the types of Express 4 and 5.
// deno-lint-ignore no-import-prefix
import type * as express4 from "npm:@types/express@4.17.25";
// deno-lint-ignore no-import-prefix
import type * as express5 from "npm:@types/express@5.0.6";
import { apiKeyOf, requireKey, requireSession, sessionOf } from "../../packages/client/src/express.ts";
import type { Gatehouse } from "../../packages/client/src/gatehouse.ts";

const tiles = { product: "tiles", metric: "requests" };

export function withExpress5(app: express5.Express, gatehouse: Gatehouse): void {
  app.use("/board", requireSession({ gatehouse }));
  app.get("/name", requireSession({ gatehouse, role: "ADMIN" }), (request, response) => {
    response.send(sessionOf(request).user.name);
  });
  app.get("/:id", requireSession({ gatehouse, organization: (request) => request.params["id"] }));
  const ofPath = (request: express5.Request<{ id: string }>) => request.params.id;
  app.get("/:id", requireSession({ gatehouse, organization: ofPath }), (request) => request.params.id);
  app.use(
    requireKey({
      gatehouse,
      keyFrom: (request: express5.Request) => request.get("x-api-key"),
      meter: {
        ...tiles,
        quantity: (_request, response?: express5.Response) => Number(response?.get("x-tiles")),
      },
    }),
    (request, response) => response.send(apiKeyOf(request).organization.id),
  );
}

export function withHolds(app: express5.Express, gatehouse: Gatehouse): void {
  const tokens = (quantity: number) => ({ product: "models", metric: "tokens", quantity });
  const held = requireKey({
    gatehouse,
    hold: (request: express5.Request) => [tokens(Number(request.query["max"]))],
    settle: (response: express5.Response) => response.locals["tokens"] && tokens(response.locals["tokens"]),
    expiresIn: 60,
    onExpiry: "record",
  });
  app.get("/chat", held, (request, response) => response.send(apiKeyOf(request).hold?.id));
}

export function withExpress4(app: express4.Express, gatehouse: Gatehouse): void {
  app.use("/board", requireSession({ gatehouse }));
  const ofPath = (request: express4.Request<{ id: string }>) => request.params.id;
  app.get("/:id", requireSession({ gatehouse, organization: ofPath }), (request) => request.params.id);
  const quantity = (request: express4.Request) => Number(request.query["tiles"]);
  app.use(requireKey({ gatehouse, meter: { ...tiles, quantity }, limit: true }), (request, response) => {
    response.send(apiKeyOf(request).organization.id);
  });
}

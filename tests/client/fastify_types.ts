// Uses of the hooks for Fastify that must compile with its types.
// deno-lint-ignore no-import-prefix
import type { FastifyInstance, FastifyReply, FastifyRequest } from "npm:fastify@5.12.8";
import { apiKeyOf, requireKey, requireSession, sessionOf } from "../../packages/client/src/fastify.ts";
import type { Gatehouse } from "../../packages/client/src/gatehouse.ts";

export function withFastify(app: FastifyInstance, gatehouse: Gatehouse): void {
  app.addHook("onRequest", requireSession({ gatehouse }));
  app.get(
    "/name",
    { onRequest: requireSession({ gatehouse, role: "ADMIN" }) },
    (request) => sessionOf(request).user.name,
  );
  const tokens = (quantity: number) => ({ product: "models", metric: "tokens", quantity });
  const held = requireKey({
    gatehouse,
    hold: (request: FastifyRequest) => tokens((request.body as { max_tokens: number }).max_tokens),
    settle: (reply: FastifyReply, request, { usage, bytes }) =>
      reply.statusCode < 400 && request.ip !== "" && usage ? tokens(usage.totalTokens) : tokens(bytes / 4),
  });
  app.post("/chat", { preHandler: held }, (request) => apiKeyOf(request).hold?.id);
  app.addHook("preHandler", requireKey({ gatehouse, meter: { product: "tiles", metric: "requests" } }));
}

// A product without a framework.
import { requireKey, requireSession } from "../../../../packages/client/src/fetch.ts";
import { Gatehouse } from "../../../../packages/client/src/gatehouse.ts";
import type { Product, ProductSettings } from "./settings.ts";
import { clientsOf, Model, runs, Work } from "./work.js";

type Handler = (request: Request) => Response | Promise<Response>;

export function startFetchProduct(settings: ProductSettings): Promise<Product> {
  const { gatehouse, down, slow, misconfigured } = clientsOf(Gatehouse, settings);
  const work = new Work();
  const model = new Model(settings.modelUrl);
  const member = (options: Omit<Parameters<typeof requireSession>[0], "gatehouse"> = {}, asked = gatehouse) =>
    requireSession({ gatehouse: asked, ...options }, (_request, { session }) => Response.json(session));
  const key = (options: Omit<Parameters<typeof requireKey>[0], "gatehouse"> = {}, asked = gatehouse) =>
    requireKey({ gatehouse: asked, ...options }, (request, { apiKey }) => work.respond(request, apiKey));
  const quantity = (request: Request) => Number(new URL(request.url).searchParams.get("runs"));
  const askedRuns = { ...runs, quantity };
  const holding = work.holding((request: Request) => new URL(request.url));
  const routes: Record<string, Handler> = {
    board: member(),
    admin: member({ role: "ADMIN", organization: true }),
    orgs: member({ organization: (request) => new URL(request.url).pathname.split("/")[2], role: "ADMIN" }),
    team: member({ organization: settings.organizationId }),
    public: member({ publicUrl: "https://app.example.com/base/" }),
    secure: member({ signInUrl: "https://auth.example.com/sign-in" }),
    render: key({ permission: ["maps:render", "maps:edit"] }),
    query: key({ keyFrom: (request) => new URL(request.url).searchParams.get("key") }),
    tiles: key({
      meter: {
        product: "tiles",
        metric: "requests",
        quantity: (_request, response) => Number(response?.headers.get("x-tiles")),
      },
    }),
    jobs: key({ meter: runs, limit: true }),
    fits: key({ limit: askedRuns }),
    work: key({ meter: askedRuns }),
    free: key({ meter: askedRuns, limit: false }),
    generate: requireKey({ gatehouse, ...holding }, (request) => work.generate(request)),
    "generate-down": requireKey({ gatehouse: down, ...holding }, (request) => work.generate(request)),
    model: requireKey({ gatehouse, ...model.holding() }, (request) => model.ask(request)),
    down: member({}, down),
    "down-key": key({}, down),
    slow: member({}, slow),
    "slow-key": key({ meter: runs, limit: true }, slow),
    misconfigured: key({}, misconfigured),
    release: () => work.release(),
    state: () => work.state(),
    flush: async () =>
      Response.json({ isFlushed: await gatehouse.meter.flush(), ...gatehouse.meter.stats() }),
  };
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {}, onError },
    async (request) => {
      const [, name = ""] = new URL(request.url).pathname.split("/");
      return await routes[name]?.(request) ?? new Response(null, { status: 404 });
    },
  );
  return Promise.resolve({
    url: `http://127.0.0.1:${server.addr.port}`,
    async stop() {
      await gatehouse.close();
      await server.shutdown();
    },
  });
}

function onError(): Response {
  return new Response("broken", { status: 500 });
}

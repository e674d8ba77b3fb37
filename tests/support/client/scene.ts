// A running Gatehouse with products that use the client's middleware, one for each framework, and customers for them.
import assert from "node:assert/strict";
import { cookieOf, testPassword } from "../app/app.ts";
import {
  expressFolder,
  type ExpressVersion,
  startExpressProduct,
  startFastApiProduct,
} from "./products/express_product.ts";
import { startFetchProduct } from "./products/fetch_product.ts";
import { startHonoProduct } from "./products/hono_product.ts";
import { type FakeModel, startModel } from "./model.ts";
import type { Product } from "./products/settings.ts";
import { runCommand } from "../process/command.ts";
import { sendJson } from "../process/journey.ts";
import { isReady, killProgram, startProgram } from "../process/program.ts";
import { mailedToken } from "../network/proxy_scene.ts";
import { freePort } from "../database/sqld.ts";
import { visit, type Visited } from "../network/visit.ts";

export interface Person {
  readonly cookie: string;
  readonly email: string;
  readonly organizationId: string;
}

export interface Customer {
  readonly organizationId: string;
  readonly keyId: string;
  readonly apiKey: string;
}

type ProductName = "fetch" | "hono" | "express 5" | "express 4" | "fastify" | "fastapi";

export interface ClientScene {
  readonly gatehouseUrl: string;
  readonly operatorToken: string;
  /** By name, such as `hono`. */
  readonly products: Readonly<Record<ProductName, Product>>;
  /** OWNER of the organization in the products' settings. */
  readonly ada: Person;
  /** MEMBER of Ada's organization, which is active, and OWNER of another one. */
  readonly bob: Person & { readonly ownOrganizationId: string };
  readonly model: FakeModel;
  /** Calls the operators' API. @returns The body of the response. */
  // deno-lint-ignore no-explicit-any
  operate(method: string, path: string, json?: unknown): Promise<any>;
  /** Creates an organization with a key. @param overrides Such as `limits`. */
  newCustomer(permissions?: string[], overrides?: Record<string, unknown>): Promise<Customer>;
  /** @returns The count and sum of what the customer's organization recorded. */
  usageOf(customer: Customer, metric: string): Promise<[count: number, sum: number]>;
}

/** @param names The products to start. Default: those with the package for TypeScript. */
export async function withClientScene(
  run: (scene: ClientScene) => Promise<void>,
  names: readonly ProductName[] = ["fetch", "hono", "express 5", "express 4", "fastify"],
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-client-" });
  const program = startProgram({
    folder,
    env: { HTTP_THREADS: "1", API_KEY_REQUESTS_PER_SECOND: "0", ALLOWED_ORIGINS: "https://app.example.com" },
  });
  const compiled = names.includes("fastify") ? expressFolder() : Deno.makeTempDir();
  const model = startModel();
  const hanging = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const products: Product[] = [];
  try {
    await isReady(program);
    const people = await signUpPeople(program);
    const scopes = "keys:verify,keys:write,usage:read,usage:write,organizations:read,organizations:write";
    const operatorToken = (await runCommand({ folder }, "token", "create", "Products", "--scope", scopes))
      .stdout
      .trim();
    const settings = {
      gatehouseUrl: program.baseUrl,
      operatorToken,
      organizationId: people.ada.organizationId,
      modelUrl: model.url,
      downUrl: `http://127.0.0.1:${freePort()}`,
      slowUrl: `http://127.0.0.1:${hanging.addr.port}`,
    };
    const inNode = async (version: ExpressVersion) =>
      await startExpressProduct(await compiled, { version, settings });
    const starts: Readonly<Record<ProductName, () => Promise<Product>>> = {
      "fetch": () => startFetchProduct(settings),
      "hono": () => startHonoProduct(settings),
      "express 5": () => inNode("express"),
      "express 4": () => inNode("express4"),
      "fastify": () => inNode("fastify"),
      "fastapi": () => startFastApiProduct(settings),
    };
    const started = await Promise.all(names.map((name) => starts[name]()));
    products.push(...started);
    const operate = operations(program.baseUrl, operatorToken);
    await run({
      ...people,
      gatehouseUrl: program.baseUrl,
      model,
      operatorToken,
      products: Object.fromEntries(names.map((name, at) => [name, started[at]])) as ClientScene["products"],
      operate,
      async newCustomer(permissions = ["maps:edit", "maps:render"], overrides = {}) {
        const { organization: { id } } = await operate("POST", "organizations", { name: "Customer" });
        await operate("PATCH", `organizations/${id}`, { overrides });
        const json = { name: "Production", permissions };
        const { apiKey, fullKey } = await operate("POST", `organizations/${id}/api-keys`, json);
        return { organizationId: id, keyId: apiKey.id, apiKey: fullKey };
      },
      async usageOf({ organizationId }, metric) {
        const query = `window=total&organizationId=${organizationId}&metric=${metric}`;
        const { data: [row = { count: 0, sum: 0 }] } = await operate("GET", `usage?${query}`);
        return [row.count, row.sum];
      },
    });
  } finally {
    for (const product of products) await product.stop();
    hanging.close();
    await model.stop();
    await killProgram(program);
    for (const path of [folder, await compiled]) await Deno.remove(path, { recursive: true });
  }
}

function operations(baseUrl: string, apiKey: string): ClientScene["operate"] {
  return async (method, path, json) => {
    const response = await sendJson(baseUrl, `/api/operator/${path}`, { method, apiKey, json });
    const text = await response.text();
    assert(response.ok, `${method} ${path}: ${text}`);
    return text === "" ? null : JSON.parse(text);
  };
}

async function signUpPeople(
  program: ReturnType<typeof startProgram>,
): Promise<Pick<ClientScene, "ada" | "bob">> {
  const { baseUrl } = program;
  const signUp = async (json: Record<string, string>) => {
    const response = await sendJson(baseUrl, "/api/auth/sign-up", {
      json: { password: testPassword, ...json },
    });
    assert.equal(response.status, 201, await response.clone().text());
    const { user, organizationId } = await response.json();
    return { cookie: cookieOf(response), email: user.email, organizationId };
  };
  const ada = await signUp({ name: "Ada", email: "ada@example.com" });
  const bob = await signUp({ name: "Bob", email: "bob@example.com" });
  const post = async (path: string, json: Record<string, string>) => {
    const response = await sendJson(baseUrl, path, { cookie: bob.cookie, json });
    assert(response.ok, await response.clone().text());
  };
  await post("/api/auth/email/verify", { token: await mailedToken(program, bob.email) });
  await sendJson(baseUrl, `/api/portal/organizations/${ada.organizationId}/invitations`, {
    cookie: ada.cookie,
    json: { email: "bob@example.com", role: "MEMBER" },
  });
  await post("/api/portal/invitations/accept", { token: await mailedToken(program, bob.email, 2) });
  await post("/api/auth/organization", { organizationId: ada.organizationId });
  return { ada, bob: { ...bob, organizationId: ada.organizationId, ownOrganizationId: bob.organizationId } };
}

export interface See {
  (path: string, headers?: Readonly<Record<string, string | string[]>>, method?: string): Promise<Visited>;
  readonly host: string;
}

export type ProductCases = Readonly<Record<string, (see: See, scene: ClientScene) => Promise<void>>>;

/** Runs cases, by the middleware that they are about, with each product. */
export async function eachProduct(
  t: Deno.TestContext,
  scene: ClientScene,
  cases: Readonly<Record<string, ProductCases>>,
): Promise<void> {
  for (const [product, { url }] of Object.entries(scene.products)) {
    const { host, port } = new URL(url);
    const see: See = Object.assign(
      (path: string, headers = {}, method = "GET") =>
        visit(Number(port), { host: "127.0.0.1", path, method, headers }),
      { host },
    );
    for (const [middleware, named] of Object.entries(cases)) {
      for (const [name, run] of Object.entries(named)) {
        await t.step(`${product}: ${middleware} ${name}`, () => run(see, scene));
      }
    }
  }
}

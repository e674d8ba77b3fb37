// Runs a proxy with the real program and an application behind it, and creates users.
import assert from "node:assert/strict";
import { testPassword } from "../app/app.ts";
import { poll } from "../runner/poll.ts";
import type { Program } from "../process/program.ts";
import { onServer } from "../process/scene.ts";
import {
  type EchoApplication,
  type Proxy,
  type ProxyKind,
  type ProxyRecipe,
  recipeSettings,
  startEchoApplication,
  startProxy,
} from "./proxies.ts";
import { freePort } from "../database/sqld.ts";
import { type Visit, visit, type Visited } from "./visit.ts";

export interface ScenePerson {
  readonly cookie: string;
  readonly userId: string;
  readonly email: string;
  readonly organizationId: string;
}

/** A proxy with Gatehouse and an application behind it, and users. */
export interface ProxyScene {
  readonly port: number;
  readonly application: EchoApplication;
  readonly program: Program;
  /** OWNER of the organization in the proxy's configuration, with a confirmed email address. */
  readonly ada: ScenePerson;
  /** MEMBER of the same organization. */
  readonly bob: ScenePerson;
  /** OWNER of another organization, with a confirmed email address. */
  readonly eve: ScenePerson;
  /** A user whose email address isn't confirmed. */
  readonly uma: ScenePerson;
  readonly apiKey: string;
  readonly keyId: string;
  /** @returns The cookie of a new session. */
  signInAgain(person: ScenePerson): Promise<string>;
  see(given: Visit): Promise<Visited>;
  /** Asserts that the request reaches the application once. @returns The request as received. */
  arrives(given: Visit): Promise<EchoApplication["received"][number]>;
  /** Asserts that the request doesn't reach the application. @returns The response. */
  isBlocked(given: Visit): Promise<Visited>;
}

/** @returns The `Cookie` header that a browser sends after this response. */
export function cookieFrom({ setCookies }: Visited): string {
  return setCookies.filter((text) => !/max-age=0/i.test(text)).map((text) => text.split(";")[0]).join("; ");
}

/** Starts everything, runs a test, and stops everything. */
export async function withProxyScene(
  { kind, recipe }: { kind: ProxyKind; recipe: ProxyRecipe },
  run: (scene: ProxyScene) => Promise<void>,
): Promise<void> {
  const port = freePort();
  const gatehousePort = freePort();
  const settings = {
    ...recipeSettings(recipe, port),
    PORT: String(gatehousePort),
    DATABASE_URL: "file:./gatehouse.db",
  };
  await onServer({ env: settings }, async ({ folder, program }) => {
    const application = startEchoApplication();
    const { received } = application;
    const see = (given: Visit) => visit(port, given);
    // The proxy's configuration contains the organization's id, so its owner signs up before the proxy starts.
    const api = (path: string, json: unknown, cookie = "") =>
      postJson(port, gatehousePort, { path, json, cookie });
    let proxy: Proxy | undefined;
    try {
      const signUp = async (json: Record<string, unknown>): Promise<ScenePerson> => {
        const response = await api("/api/auth/sign-up", { password: testPassword, ...json });
        assert.equal(response.status, 201, response.body);
        const { user, organizationId } = JSON.parse(response.body);
        return { cookie: cookieFrom(response), userId: user.id, email: user.email, organizationId };
      };
      const ada = await signUp({ name: "Zoë 100%", email: "ada@example.com" });
      await api("/api/auth/email/verify", { token: await mailedToken(program, ada.email) }, ada.cookie);
      const invitations = `/api/portal/organizations/${ada.organizationId}/invitations`;
      await api(invitations, { email: "bob@example.com", role: "MEMBER" }, ada.cookie);
      const bob = await signUp({
        name: "Bob",
        invitationToken: await mailedToken(program, "bob@example.com"),
      });
      const eve = await signUp({ name: "Eve", email: "eve@example.com" });
      await api("/api/auth/email/verify", { token: await mailedToken(program, eve.email) }, eve.cookie);
      const uma = await signUp({ name: "Uma", email: "uma@example.com" });
      const key = await api("/api/portal/api-keys", {
        name: "Programs",
        permissions: ["maps:render", "usage:read", "usage:write"],
      }, ada.cookie);
      const { apiKey: { id: keyId }, fullKey: apiKey } = JSON.parse(key.body);
      const { organizationId } = ada;
      proxy = await startProxy(kind, port, {
        recipe,
        folder,
        settings,
        applicationPort: application.port,
        organizationId,
      });
      await run({
        port,
        application,
        program,
        ada,
        bob,
        eve,
        uma,
        apiKey,
        keyId,
        see,
        async signInAgain({ email }) {
          return cookieFrom(await api("/api/auth/sign-in", { email, password: testPassword }));
        },
        async arrives(given) {
          const count = received.length;
          const { status, body } = await see(given);
          assert.equal(status, 200, `${JSON.stringify(given)} ${body}`);
          assert.equal(received.length, count + 1);
          const got = received.at(-1);
          assert.ok(got);
          return got;
        },
        async isBlocked(given) {
          const count = received.length;
          const response = await see(given);
          assert(response.status >= 300, `${JSON.stringify(given)} ${response.status}`);
          assert.equal(received.length, count);
          return response;
        },
      });
    } finally {
      await proxy?.stop();
      await application.stop();
    }
  });
}

/** Sends JSON directly to Gatehouse, as its own pages do. @param port The port in `BASE_URL`. */
function postJson(
  port: number,
  gatehousePort: number,
  { path, json, cookie }: { path: string; json: unknown; cookie: string },
): Promise<Visited> {
  return visit(gatehousePort, {
    host: "auth.example.com",
    path,
    method: "POST",
    headers: { origin: `http://auth.example.com:${port}`, "content-type": "application/json", cookie },
    body: JSON.stringify(json),
  });
}

/**
 * Waits until the program has logged emails with links to an address.
 *
 * @param count How many emails to wait for.
 * @returns The token in the link of the newest one.
 */
export async function mailedToken(program: Program, to: string, count = 1): Promise<string> {
  let tokens: string[] = [];
  await poll(() => {
    const lines = program.output().split("\n").filter((line) => line.includes(to));
    tokens = lines.flatMap((line) => /token=([\w-]{43})/.exec(line)?.[1] ?? []);
    return tokens.length >= count;
  });
  return tokens.at(-1) ?? "";
}

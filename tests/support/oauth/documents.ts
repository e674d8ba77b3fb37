// An https server that publishes metadata documents of clients, and an app that reads them.
import assert from "node:assert/strict";
import { startTestApp, type TestApp, type TestPerson } from "../app/app.ts";
import { isMissing } from "../runner/needs.ts";
import { authorizeAddress, confirmed, consentTo, post, redirectUri, verifier } from "./scene.ts";
import { testAuthority } from "../network/smtp_tls.ts";

/** Responds to a request for a path. */
type Publish = (path: string) => Response | Promise<Response>;

export interface Publisher extends AsyncDisposable {
  readonly test: TestApp;
  readonly host: string;
  /** The paths that were asked for. */
  readonly asked: string[];
  /** Answers all further requests. */
  publish: Publish;
  /** Publishes a document at a path, with these fields. @returns Its URL. */
  document(path: string, fields?: Readonly<Record<string, unknown>>): string;
}

async function startPublisher({ timeoutMs = 60_000 }): Promise<Publisher> {
  const authority = await testAuthority();
  const certificate = await authority.certify("127.0.0.1");
  const asked: string[] = [];
  const documents = new Map<string, object>();
  let publish: Publish = (path) =>
    documents.has(path) ? Response.json(documents.get(path)) : new Response("", { status: 404 });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, ...certificate, onListen() {} },
    (request) => {
      const { pathname } = new URL(request.url);
      asked.push(pathname);
      return publish(pathname);
    },
  );
  const host = `127.0.0.1:${server.addr.port}`;
  const test = await startTestApp({
    OAUTH_CLIENT_HOSTS: host,
    WEBHOOK_ALLOWED_HOSTS: "127.0.0.1",
    SECRETS_KEY: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
  }, { documents: { caCerts: [authority.cert], timeoutMs } });
  return {
    test,
    host,
    asked,
    get publish() {
      return publish;
    },
    set publish(next) {
      publish = next;
    },
    document(path, fields = {}) {
      const id = `https://${host}${path}`;
      documents.set(path, {
        client_id: id,
        client_name: "Tools",
        redirect_uris: ["https://app.example.com/callback"],
        grant_types: ["authorization_code", "refresh_token"],
        ...fields,
      });
      return id;
    },
    async [Symbol.asyncDispose]() {
      await test.dispose();
      await server.shutdown();
      await authority.dispose();
    },
  };
}

export const minuteMs = 60_000;
/** Defines a test with its own server and app. It needs openssl. */
export function withPublisher(
  name: string,
  fn: (publisher: Publisher) => Promise<void>,
  options: { timeoutMs?: number } = {},
): void {
  Deno.test({
    name,
    ignore: isMissing("openssl"),
    async fn() {
      await using publisher = await startPublisher(options);
      await fn(publisher);
    },
  });
}

/** Returns the address of an authorization request. */
export const addressOf = (id: string, changes: Record<string, string | null> = {}) =>
  authorizeAddress({ id, secret: "" }, { scope: "openid profile offline_access", ...changes });
export const newPerson = async ({ test }: Publisher) => await confirmed(test, await test.signUp());

/** Opens an authorization request. */
export async function open({ test }: Publisher, cookie: string | null, address: string) {
  const response = await test.send(address, cookie === null ? {} : { cookie });
  return {
    status: response.status,
    location: response.headers.get("location"),
    text: await response.text(),
  };
}

export const exchange = ({ test }: Publisher, id: string, code: string, more = {}) =>
  post(test, "/oauth/token", {
    grant_type: "authorization_code",
    client_id: id,
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
    ...more,
  });
export const refresh = ({ test }: Publisher, id: string, token: string) =>
  post(test, "/oauth/token", { grant_type: "refresh_token", client_id: id, refresh_token: token });

/** Consents to an application, and returns its tokens. */
export async function signIn(publisher: Publisher, id: string, person: TestPerson) {
  const code = (await consentTo(publisher.test, person, addressOf(id))).get("code") ?? "";
  const { status, body } = await exchange(publisher, id, code);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

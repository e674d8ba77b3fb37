// GitHub's sign-in on a free loopback port, with the addresses of a GitHub Enterprise Server. It signs a chosen person in.
import { createHash, randomBytes, randomUUID } from "node:crypto";

/** An address of someone's account, as `GET /user/emails` lists it. */
export interface GithubEmail {
  readonly email: string;
  readonly primary: boolean;
  readonly verified: boolean;
  readonly visibility?: string | null;
}

/** Someone with an account. */
export interface GithubPerson {
  readonly id: number;
  readonly login: string;
  readonly name?: string | null;
  /** The public address in the profile, which nobody has to prove. */
  readonly email?: string | null;
  readonly emails: readonly GithubEmail[];
}

/** A running server. */
export interface TestGithub {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Who signs in next. */
  person: GithubPerson;
  stop(): Promise<void>;
}

/** Starts a server. */
export function startGithub(
  person: GithubPerson = {
    id: 583231,
    login: "ada",
    name: "Ada Lovelace",
    email: null,
    emails: [{ email: "ada@example.com", primary: true, verified: true, visibility: "private" }],
  },
): TestGithub {
  const stop = new AbortController();
  const options = { port: 0, hostname: "127.0.0.1", signal: stop.signal, onListen() {} };
  const grants = new Map<string, { person: GithubPerson; challenge: string | null; scopes: string }>();
  const tokens = new Map<string, { person: GithubPerson; scopes: string }>();
  const server = Deno.serve(options, respondTo);
  const github: TestGithub = {
    url: `http://127.0.0.1:${server.addr.port}`,
    clientId: `Iv1.${randomBytes(8).toString("hex")}`,
    clientSecret: randomUUID(),
    person,
    async stop() {
      stop.abort();
      await server.finished;
    },
  };

  async function respondTo(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const name = `${request.method} ${pathname}`;
    if (name === "GET /login/oauth/authorize") return authorize(searchParams);
    if (name === "POST /login/oauth/access_token") {
      const answer = token(new URLSearchParams(await request.text()));
      // GitHub responds with a form unless JSON is asked for, and with 200 even to errors.
      const wantsJson = request.headers.get("accept")?.includes("json") ?? false;
      return wantsJson ? Response.json(answer) : new Response(new URLSearchParams(answer));
    }
    const known = tokens.get(request.headers.get("authorization")?.replace(/^(Bearer|token) /i, "") ?? "");
    if (known === undefined) return Response.json({ message: "Bad credentials" }, { status: 401 });
    if (request.headers.get("user-agent") === null) return new Response(null, { status: 403 });
    const { emails, ...profile } = known.person;
    if (name === "GET /api/v3/user") return Response.json(profile);
    const maySeeEmails = /\buser(:email)?\b/.test(known.scopes);
    if (name === "GET /api/v3/user/emails" && maySeeEmails) return Response.json(emails);
    return Response.json({ message: "Not Found" }, { status: 404 });
  }

  function authorize(asked: URLSearchParams): Response {
    if (asked.get("client_id") !== github.clientId) return new Response(null, { status: 404 });
    const code = randomBytes(10).toString("hex");
    const [challenge, scopes] = [asked.get("code_challenge"), asked.get("scope") ?? ""];
    grants.set(code, { person: github.person, challenge, scopes });
    const back = new URL(asked.get("redirect_uri") ?? "");
    back.searchParams.set("code", code);
    back.searchParams.set("state", asked.get("state") ?? "");
    return new Response(null, { status: 302, headers: { location: back.href } });
  }

  function token(form: URLSearchParams): Record<string, string> {
    const isClient = form.get("client_id") === github.clientId &&
      form.get("client_secret") === github.clientSecret;
    if (!isClient) return { error: "incorrect_client_credentials" };
    const code = form.get("code") ?? "";
    const grant = grants.get(code);
    grants.delete(code);
    const challenge = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
    if (grant === undefined || (grant.challenge !== null && grant.challenge !== challenge)) {
      return { error: "bad_verification_code" };
    }
    const token = `gho_${randomBytes(18).toString("hex")}`;
    tokens.set(token, grant);
    return { access_token: token, token_type: "bearer", scope: grant.scopes.replaceAll(" ", ",") };
  }

  return github;
}

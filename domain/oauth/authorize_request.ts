// The parameters of an authorization request, and their rules that need no database.
import type { Client } from "./client.ts";
import { OAuthError } from "./oauth_error.ts";
import { parseScopes } from "./scope_names.ts";

const prompts = ["none", "login", "consent", "select_account"] as const;
type Prompt = (typeof prompts)[number];
const isPrompt = (text: string): text is Prompt => (prompts as readonly string[]).includes(text);

export interface AuthorizeRequest {
  /** The S256 challenge; null without PKCE. */
  readonly challenge: string | null;
  readonly scopes: readonly string[];
  readonly prompts: readonly Prompt[];
  readonly maxAgeMs: number | null;
  readonly resource: string | null;
  readonly nonce: string | null;
  readonly idTokenHint: string | null;
}

const textCharactersMax = 2_000;

/** Reads a request of a client whose redirect address is known good. @throws {OAuthError} To be sent there. */
export function readAuthorizeRequest(
  parameters: URLSearchParams,
  client: Pick<Client, "type" | "requirePkce" | "grants">,
): AuthorizeRequest {
  if (parameters.getAll("resource").length > 1) {
    throw new OAuthError("invalid_target", "Ask for one resource.");
  }
  const repeated = [...parameters.keys()].find((name) => parameters.getAll(name).length > 1);
  if (repeated !== undefined) throw invalid("A parameter is repeated.");
  const get = (name: string) => {
    const value = parameters.get(name);
    return value === "" ? null : value;
  };
  if (get("request") !== null) {
    throw new OAuthError("request_not_supported", "Send the parameters themselves.");
  }
  if (get("request_uri") !== null) {
    throw new OAuthError("request_uri_not_supported", "Send the parameters themselves.");
  }
  if (get("response_type") !== "code") {
    if (get("response_type") === null) throw invalid("The parameter response_type is missing.");
    throw new OAuthError("unsupported_response_type", "Only the response type code is supported.");
  }
  if (!client.grants.includes("authorization_code")) {
    throw new OAuthError("unauthorized_client", "The client may not use authorization codes.");
  }
  if (!["query", null].includes(get("response_mode"))) {
    throw invalid("Only the response mode query is supported.");
  }
  const nonce = get("nonce");
  if ((nonce?.length ?? 0) > textCharactersMax) throw invalid("The nonce is too long.");
  return {
    challenge: readChallenge(
      { challenge: get("code_challenge"), method: get("code_challenge_method") },
      client,
    ),
    scopes: parseScopes(get("scope") ?? undefined),
    prompts: readPrompts(get("prompt")),
    maxAgeMs: readMaxAge(get("max_age")),
    resource: get("resource"),
    nonce,
    idTokenHint: get("id_token_hint"),
  };
}

function readChallenge(
  { challenge, method }: { challenge: string | null; method: string | null },
  { type, requirePkce }: Pick<Client, "type" | "requirePkce">,
): string | null {
  if (challenge === null) {
    if (method !== null || requirePkce || type === "public") {
      throw invalid("The parameter code_challenge is missing.");
    }
    return null;
  }
  if (method !== "S256") throw invalid("The code_challenge_method must be S256.");
  if (!/^[\w-]{43}$/.test(challenge)) throw invalid("The code_challenge must be a SHA-256 in base64url.");
  return challenge;
}

function readPrompts(text: string | null): Prompt[] {
  const given = parseScopes(text ?? undefined);
  if (!given.every(isPrompt)) throw invalid("The prompt is unknown.");
  if (given.includes("none") && given.length > 1) throw invalid("The prompt none stands alone.");
  return given;
}

function readMaxAge(text: string | null): number | null {
  if (text === null) return null;
  if (!/^\d{1,9}$/.test(text)) throw invalid("The max_age must be a number of seconds.");
  return Number(text) * 1_000;
}

const invalid = (message: string) => new OAuthError("invalid_request", message);

/** Adds the parameters of a response to a redirect address. */
export function responseAddress(
  redirectUri: string,
  parameters: Readonly<Record<string, string | null>>,
): string {
  const pairs = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== null);
  return redirectUri + (redirectUri.includes("?") ? "&" : "?") + new URLSearchParams(pairs);
}

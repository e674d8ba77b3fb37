// A relying party with Debian's Authlib, in its own process. It finds everything by discovery, and checks ID tokens itself.
import { python } from "../client/python_meter.ts";

/** Reads requests as lines of JSON and prints responses the same way. An error ends it. */
const program = `import json, sys
import requests
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey, JsonWebToken
from authlib.oidc.core import CodeIDToken

settings = json.loads(sys.argv[1])
metadata = requests.get(settings["issuer"] + "/.well-known/openid-configuration").json()
session = OAuth2Session(settings["id"], settings["secret"], redirect_uri=settings["redirect_uri"],
    scope="openid email offline_access", code_challenge_method="S256")
verifier, nonce = generate_token(48), generate_token(20)

def validated(id_token, nonce=None):
    keys = JsonWebKey.import_key_set(requests.get(metadata["jwks_uri"]).json())
    claims = JsonWebToken(["RS256"]).decode(id_token, keys, claims_cls=CodeIDToken, claims_options={
        "iss": {"essential": True, "value": metadata["issuer"]},
        "aud": {"essential": True, "value": settings["id"]},
    }, claims_params={"client_id": settings["id"], **({"nonce": nonce} if nonce else {})})
    claims.validate(leeway=300)
    return {"claims": dict(claims), "kid": claims.header["kid"]}

def start(_):
    url, state = session.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier,
        nonce=nonce)
    session.state = state
    return url

def finish(answer):
    token = session.fetch_token(metadata["token_endpoint"], authorization_response=answer, code_verifier=verifier)
    userinfo = session.get(metadata["userinfo_endpoint"]).json()
    return {**validated(token["id_token"], nonce), "userinfo": userinfo, "idToken": token["id_token"]}

def refresh(_):
    token = session.refresh_token(metadata["token_endpoint"])
    return {**validated(token["id_token"]), "status": session.get(metadata["userinfo_endpoint"]).status_code}

def revoke(_):
    session.revoke_token(metadata["revocation_endpoint"], session.token["refresh_token"])
    return requests.get(metadata["userinfo_endpoint"], headers={
        "Authorization": "Bearer " + session.token["access_token"]}).status_code

acts = {"start": start, "finish": finish, "refresh": refresh, "revoke": revoke, "validate": validated}
for line in sys.stdin:
    act, value = json.loads(line)
    print(json.dumps(acts[act](value)), flush=True)
`;

export interface Authlib {
  // deno-lint-ignore no-explicit-any -- each act has its own result
  run(act: "start" | "finish" | "refresh" | "revoke" | "validate", value?: string): Promise<any>;
}

/** Runs the relying party while `act` runs. */
export async function withAuthlib(
  settings: { issuer: string; id: string; secret: string; redirect_uri: string },
  act: (authlib: Authlib) => Promise<void>,
): Promise<void> {
  const child = new Deno.Command(python, {
    args: ["-c", program, JSON.stringify(settings)],
    env: { AUTHLIB_INSECURE_TRANSPORT: "1" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const said = new Response(child.stderr).text();
  const input = child.stdin.getWriter();
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    await act({
      async run(act, value = "") {
        await input.write(new TextEncoder().encode(`${JSON.stringify([act, value])}\n`));
        while (!text.includes("\n")) {
          const { done, value: more } = await output.read();
          if (done) throw new Error(await said);
          text += more;
        }
        const end = text.indexOf("\n");
        const line = text.slice(0, end);
        text = text.slice(end + 1);
        return JSON.parse(line);
      },
    });
  } finally {
    await input.close().catch(() => {});
    await output.cancel();
    await child.status;
    await said;
  }
}

// Who is allowed to use each route of the OpenID provider. Clients authenticate with their secrets, which the tests of oauth/ try.
import { type Entry, open, signedIn } from "./entry.ts";

/** Programs send it. Without a client, a token or a code, they get an error of OAuth. */
const forPrograms: Entry = { who: open, also: [400, 401, 404], writes: [] };
const document: Entry = { who: open, also: [404, 503] };
const preflights = [
  "/.well-known/oauth-authorization-server",
  "/.well-known/openid-configuration",
  "/oauth/device",
  "/oauth/introspect",
  "/oauth/jwks",
  "/oauth/revoke",
  "/oauth/token",
  "/oauth/userinfo",
];

export const oauthTable: Readonly<Record<string, Entry>> = {
  "GET /.well-known/oauth-authorization-server": document,
  "GET /.well-known/openid-configuration": document,
  "GET /.well-known/webfinger": { who: open, also: [400, 404] },
  "GET /oauth/jwks": document,
  ...Object.fromEntries(preflights.map((path) => [`OPTIONS ${path}`, { who: open }])),
  // Without a known client, there is a page with the error.
  "GET /oauth/authorize": { who: open, also: [400] },
  "POST /oauth/authorize": forPrograms,
  "GET /oauth/userinfo": { who: open, also: [401] },
  "POST /oauth/userinfo": forPrograms,
  "POST /oauth/token": forPrograms,
  "POST /oauth/introspect": forPrograms,
  "POST /oauth/revoke": forPrograms,
  "POST /oauth/device": forPrograms,
  "GET /oauth/logout": { who: open, also: [400] },
  "POST /oauth/logout": { ...forPrograms, attempt: () => ({ form: {} }) },
  // The proofs in these forms are tried by the tests of the pages.
  "POST /authorize/decision": { who: signedIn, attempt: () => ({ form: {} }), also: [400], writes: [] },
  "GET /device": { who: signedIn },
  "POST /device": { who: signedIn, attempt: () => ({ form: { code: "" } }), also: [422], writes: [] },
  // Without an entered code, it leads to where one is entered.
  "GET /device/decision": { who: open },
  "POST /device/decision": {
    who: signedIn,
    attempt: () => ({ form: {} }),
    also: [400, 404, 409, 422],
    writes: [],
  },
  "GET /sign-out/confirm": { who: open, also: [400] },
  "POST /sign-out/confirm": { who: open, attempt: () => ({ form: {} }), also: [400, 422], writes: [] },
};

// Settings of well-known applications for signing in here, filled in. `isTried`: a test runs the application with them.
import type { CodeSample } from "../components/code_example.tsx";

export interface Recipe {
  readonly name: string;
  /** The path of its redirect address, or the whole address. */
  readonly redirect: string;
  readonly language: string;
  readonly lines: readonly string[];
  readonly isTried?: true;
}

/** Placeholders: `{issuer}`, `{id}`; `{host}` is the application's own address. The secret is never known here. */
export const recipes: Readonly<Record<string, Recipe>> = {
  grafana: {
    name: "Grafana",
    redirect: "/login/generic_oauth",
    language: "toml",
    lines: [
      "[auth.generic_oauth]",
      "enabled = true",
      "client_id = {id}",
      "client_secret = CLIENT_SECRET",
      "scopes = openid profile email groups",
      "auth_url = {issuer}/oauth/authorize",
      "token_url = {issuer}/oauth/token",
      "api_url = {issuer}/oauth/userinfo",
      "login_attribute_path = sub",
      "role_attribute_path = contains(groups[*], 'operator') && 'Admin' || 'Viewer'",
      "use_pkce = true",
    ],
  },
  gitea: {
    name: "Gitea",
    redirect: "/user/oauth2/gatehouse/callback",
    language: "sh",
    lines: [
      "gitea admin auth add-oauth --name gatehouse --provider openidConnect \\",
      "  --key {id} --secret CLIENT_SECRET \\",
      "  --auto-discover-url {issuer}/.well-known/openid-configuration \\",
      "  --scopes 'openid profile email groups' --group-claim-name groups",
    ],
  },
  "argo-cd": {
    name: "Argo CD",
    redirect: "/auth/callback",
    language: "yaml",
    lines: [
      "# In the ConfigMap argocd-cm",
      "oidc.config: |",
      "  name: Gatehouse",
      "  issuer: {issuer}",
      "  clientID: {id}",
      "  clientSecret: $oidc.clientSecret",
      "  enablePKCEAuthentication: true",
      "  requestedScopes: [openid, profile, email, groups]",
    ],
  },
  tailscale: {
    name: "Tailscale",
    redirect: "https://login.tailscale.com/a/oauth_response",
    language: "text",
    lines: [
      "# Custom OIDC sign-in. OPENID_WEBFINGER must list your domain.",
      "Issuer:        {issuer}",
      "Client ID:     {id}",
      "Client secret: CLIENT_SECRET",
    ],
  },
  "open-webui": {
    name: "Open WebUI",
    redirect: "/oauth/oidc/callback",
    language: "sh",
    lines: [
      "ENABLE_OAUTH_SIGNUP=true",
      "OAUTH_PROVIDER_NAME=Gatehouse",
      "OAUTH_CLIENT_ID={id}",
      "OAUTH_CLIENT_SECRET=CLIENT_SECRET",
      "OPENID_PROVIDER_URL={issuer}/.well-known/openid-configuration",
      "OAUTH_SCOPES='openid profile email'",
      "OAUTH_CODE_CHALLENGE_METHOD=S256",
    ],
  },
  pgadmin: {
    name: "pgAdmin",
    redirect: "/oauth2/authorize",
    language: "py",
    lines: [
      "AUTHENTICATION_SOURCES = ['oauth2']",
      "OAUTH2_CONFIG = [{",
      "    'OAUTH2_NAME': 'gatehouse',",
      "    'OAUTH2_DISPLAY_NAME': 'Gatehouse',",
      "    'OAUTH2_CLIENT_ID': '{id}',",
      "    'OAUTH2_CLIENT_SECRET': 'CLIENT_SECRET',",
      "    'OAUTH2_SERVER_METADATA_URL': '{issuer}/.well-known/openid-configuration',",
      "    'OAUTH2_SCOPE': 'openid profile email',",
      "    'OAUTH2_CHALLENGE_METHOD': 'S256',",
      "    'OAUTH2_RESPONSE_TYPE': 'code',",
      "}]",
    ],
  },
  "oauth2-proxy": {
    name: "oauth2-proxy",
    redirect: "/oauth2/callback",
    language: "toml",
    lines: [
      'provider = "oidc"',
      'oidc_issuer_url = "{issuer}"',
      'client_id = "{id}"',
      'client_secret = "CLIENT_SECRET"',
      'redirect_url = "{host}/oauth2/callback"',
      'scope = "openid profile email groups"',
      'code_challenge_method = "S256"',
      'email_domains = ["*"]',
    ],
  },
  apache: {
    name: "Apache mod_auth_openidc",
    isTried: true,
    redirect: "/redirect-uri",
    language: "sh",
    lines: [
      "OIDCProviderMetadataURL {issuer}/.well-known/openid-configuration",
      "OIDCClientID {id}",
      "OIDCClientSecret CLIENT_SECRET",
      "OIDCRedirectURI {host}/redirect-uri",
      "OIDCCryptoPassphrase RANDOM_PASSPHRASE",
      'OIDCScope "openid profile email groups"',
      "OIDCPKCEMethod S256",
      "<Location />",
      "  AuthType openid-connect",
      "  Require valid-user",
      "</Location>",
    ],
  },
  jupyterhub: {
    name: "JupyterHub",
    redirect: "/hub/oauth_callback",
    language: "py",
    lines: [
      "c.JupyterHub.authenticator_class = 'generic-oauth'",
      "c.GenericOAuthenticator.client_id = '{id}'",
      "c.GenericOAuthenticator.client_secret = 'CLIENT_SECRET'",
      "c.GenericOAuthenticator.oauth_callback_url = '{host}/hub/oauth_callback'",
      "c.GenericOAuthenticator.authorize_url = '{issuer}/oauth/authorize'",
      "c.GenericOAuthenticator.token_url = '{issuer}/oauth/token'",
      "c.GenericOAuthenticator.userdata_url = '{issuer}/oauth/userinfo'",
      "c.GenericOAuthenticator.scope = ['openid', 'profile', 'email']",
      "c.GenericOAuthenticator.username_claim = 'email'",
      "c.GenericOAuthenticator.allow_all = True",
    ],
  },
  vaultwarden: {
    name: "Vaultwarden",
    redirect: "/identity/connect/oidc-signin",
    language: "sh",
    lines: [
      "SSO_ENABLED=true",
      "SSO_AUTHORITY={issuer}",
      "SSO_CLIENT_ID={id}",
      "SSO_CLIENT_SECRET=CLIENT_SECRET",
      "SSO_SCOPES='profile email offline_access'",
      "SSO_PKCE=true",
    ],
  },
  "cloudflare-access": {
    name: "Cloudflare Access",
    redirect: "https://TEAM.cloudflareaccess.com/cdn-cgi/access/callback",
    language: "text",
    lines: [
      "App ID:          {id}",
      "Client secret:   CLIENT_SECRET",
      "Auth URL:        {issuer}/oauth/authorize",
      "Token URL:       {issuer}/oauth/token",
      "Certificate URL: {issuer}/oauth/jwks",
      "PKCE:            on",
      "OIDC claims:     groups",
    ],
  },
  mcp: {
    name: "MCP server",
    redirect: "http://127.0.0.1/callback",
    language: "json",
    lines: [
      "{",
      '  "resource": "{host}/mcp",',
      '  "authorization_servers": ["{issuer}"],',
      '  "bearer_methods_supported": ["header"]',
      "}",
    ],
  },
};

/** Fills in a recipe. The application's own address comes from its redirect addresses. */
export function fillRecipe(
  { lines, redirect }: Recipe,
  { issuer, id, redirectUris }: { issuer: string; id: string; redirectUris: readonly string[] },
): { readonly code: string; readonly redirectUri: string } {
  const own = redirectUris.find((uri) => uri.startsWith("https://"));
  const host = own === undefined ? "https://app.example.com" : new URL(own).origin;
  const values: Record<string, string> = { issuer, id, host };
  const code = lines.join("\n").replace(/\{(issuer|id|host)\}/g, (_, name: string) => values[name] ?? "");
  return { code, redirectUri: redirect.startsWith("/") ? host + redirect : redirect };
}

/** Returns code that checks the tokens of a resource, filled in. */
export function resourceSamples(
  { issuer, resource: { id, uri, scopes } }: {
    issuer: string;
    resource: { readonly id: string; readonly uri: string; readonly scopes: readonly string[] };
  },
): readonly CodeSample[] {
  return [
    {
      language: "sh",
      code: `curl -u "${id}:$RESOURCE_SECRET" -d "token=$TOKEN" ${issuer}/oauth/introspect`,
    },
    {
      language: "js",
      code: `import { Gatehouse } from "@gatehouse/client";
import { requireToken } from "@gatehouse/client/mcp";

app.use(requireToken({
  gatehouse: new Gatehouse({ url: "${issuer}" }),
  uri: ${JSON.stringify(uri)},
  id: "${id}",
  secret: process.env.RESOURCE_SECRET,
  scopes: ${JSON.stringify(scopes)},
}));`,
    },
  ];
}

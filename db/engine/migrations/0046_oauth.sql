-- Applications that sign people in here. `access` is null for everyone, otherwise a JSON object with `organizationIds` and `minRole`.
-- Lists are JSON; `name`s are as operators gave them.
CREATE TABLE oauth_clients (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  type TEXT NOT NULL CHECK (type IN ('confidential', 'public')),
  disabled_at INTEGER,
  secret_hash TEXT,
  grants TEXT NOT NULL,
  redirect_uris TEXT NOT NULL,
  post_logout_redirect_uris TEXT NOT NULL,
  backchannel_logout_uri TEXT,
  access TEXT,
  scopes TEXT NOT NULL,
  -- The id of a resource.
  default_resource TEXT,
  created_at INTEGER NOT NULL,
  -- 1 if people are asked before they give access; 0 for a company's own applications.
  consent INTEGER NOT NULL DEFAULT 1,
  id_token_algorithm TEXT NOT NULL DEFAULT 'RS256' CHECK (id_token_algorithm IN ('RS256', 'ES256')),
  require_pkce INTEGER NOT NULL DEFAULT 1,
  -- A JSON object: names that the claim `groups` has in place of those of this service.
  group_names TEXT NOT NULL DEFAULT '{}'
) STRICT, WITHOUT ROWID;

-- APIs and MCP servers for which applications get tokens. `clients` is null for all.
CREATE TABLE oauth_resources (
  id TEXT PRIMARY KEY,
  uri TEXT NOT NULL,
  compared_uri TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  token_format TEXT NOT NULL CHECK (token_format IN ('opaque', 'jwt')),
  clients TEXT,
  secret_hash TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What a person has given to an application: for one organization, or none. `session_id` is that of the session in which they did;
-- `offline_until` is set for grants that outlive it.
CREATE TABLE oauth_grants (
  id TEXT PRIMARY KEY,
  client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  session_id TEXT NOT NULL,
  organization_id TEXT,
  resource_id TEXT REFERENCES oauth_resources (id) ON DELETE CASCADE,
  scopes TEXT NOT NULL,
  auth_time INTEGER NOT NULL,
  offline_until INTEGER,
  created_at INTEGER NOT NULL,
  -- How the person signed in, as in `sessions`.
  amr TEXT,
  -- Each refresh token is derived from the one before it with this secret.
  refresh_secret TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_grants_client ON oauth_grants (client_id);

CREATE INDEX oauth_grants_user ON oauth_grants (user_id);

CREATE INDEX oauth_grants_session ON oauth_grants (session_id);

CREATE INDEX oauth_grants_resource ON oauth_grants (resource_id);

-- Only hashes. `scopes` may be narrower than those of the grant.
CREATE TABLE oauth_tokens (
  token_hash TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('access', 'refresh')),
  grant_id TEXT NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
  scopes TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  -- When a refresh token was used, and the one that replaced it.
  used_at INTEGER,
  successor_hash TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_tokens_grant ON oauth_tokens (grant_id);

CREATE INDEX oauth_tokens_expires_at ON oauth_tokens (expires_at);

-- Codes that applications exchange for tokens, once. A used one is kept so that a second use ends what the first received.
CREATE TABLE oauth_codes (
  code_hash TEXT PRIMARY KEY,
  client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  session_id TEXT NOT NULL,
  organization_id TEXT,
  resource_id TEXT REFERENCES oauth_resources (id) ON DELETE CASCADE,
  scopes TEXT NOT NULL,
  redirect_uri TEXT NOT NULL,
  challenge TEXT,
  nonce TEXT,
  auth_time INTEGER NOT NULL,
  amr TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at INTEGER,
  grant_id TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_codes_client ON oauth_codes (client_id);

CREATE INDEX oauth_codes_user ON oauth_codes (user_id);

CREATE INDEX oauth_codes_resource ON oauth_codes (resource_id);

CREATE INDEX oauth_codes_session ON oauth_codes (session_id, expires_at);

CREATE INDEX oauth_codes_expires_at ON oauth_codes (expires_at);

-- What a person has allowed an application. Empty texts stand for no organization and no resource.
CREATE TABLE oauth_consents (
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
  organization_id TEXT NOT NULL,
  resource_id TEXT NOT NULL,
  scopes TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, client_id, organization_id, resource_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_consents_client ON oauth_consents (client_id);

-- Keys of ID tokens. They are numbered, so that several servers make each of them once. `private_key` is sealed.
CREATE TABLE oauth_signing_keys (
  algorithm TEXT NOT NULL CHECK (algorithm IN ('RS256', 'ES256')),
  number INTEGER NOT NULL,
  id TEXT NOT NULL UNIQUE,
  private_key TEXT NOT NULL,
  public_key TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  signs_from INTEGER NOT NULL,
  PRIMARY KEY (algorithm, number)
) STRICT, WITHOUT ROWID;

-- Requests that are too long for a parameter, while their person signs in. Only the browser has the token.
CREATE TABLE oauth_requests (
  token_hash TEXT PRIMARY KEY,
  query TEXT NOT NULL,
  address TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_requests_address ON oauth_requests (address, expires_at);

CREATE INDEX oauth_requests_expires_at ON oauth_requests (expires_at);

-- Devices that ask to be connected. `session_id` is that of the person who entered the code, and compares it.
CREATE TABLE oauth_devices (
  device_hash TEXT PRIMARY KEY,
  user_code TEXT NOT NULL UNIQUE,
  client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
  resource_id TEXT REFERENCES oauth_resources (id) ON DELETE CASCADE,
  scopes TEXT NOT NULL,
  address TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('waiting', 'allowed', 'denied')),
  session_id TEXT,
  organization_id TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_devices_client ON oauth_devices (client_id);

CREATE INDEX oauth_devices_resource ON oauth_devices (resource_id);

CREATE INDEX oauth_devices_address ON oauth_devices (address, expires_at);

CREATE INDEX oauth_devices_expires_at ON oauth_devices (expires_at);

-- Sessions, and access to organizations, that ended: applications with `backchannel_logout_uri` are told. `due_at` is when the next
-- attempt is made. The times of the session tell whether it had expired anyway.
CREATE TABLE oauth_logouts (
  number INTEGER PRIMARY KEY,
  client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  session_created_at INTEGER,
  session_seen_at INTEGER,
  session_expires_at INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL DEFAULT 0,
  UNIQUE (client_id, session_id)
) STRICT;

CREATE INDEX oauth_logouts_due_at ON oauth_logouts (due_at);

-- Access ends with the session, except for grants that outlive it.
CREATE TRIGGER sessions_logged_out AFTER DELETE ON sessions
WHEN EXISTS (SELECT 1 FROM oauth_grants g WHERE g.session_id = OLD.id)
BEGIN
  INSERT INTO oauth_logouts (client_id, user_id, session_id, session_created_at, session_seen_at, session_expires_at)
    SELECT DISTINCT g.client_id, g.user_id, g.session_id, OLD.created_at, OLD.last_seen_at, OLD.expires_at
    FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
    WHERE g.session_id = OLD.id AND c.backchannel_logout_uri IS NOT NULL ON CONFLICT DO NOTHING
  ; DELETE FROM oauth_grants WHERE session_id = OLD.id AND offline_until IS NULL
  ; END;

CREATE TRIGGER memberships_ended_grants AFTER DELETE ON memberships
WHEN EXISTS (SELECT 1 FROM oauth_grants g WHERE g.user_id = OLD.user_id AND g.organization_id = OLD.organization_id)
BEGIN
  INSERT INTO oauth_logouts (client_id, user_id, session_id)
    SELECT DISTINCT g.client_id, g.user_id, g.session_id FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
    WHERE g.user_id = OLD.user_id AND g.organization_id = OLD.organization_id
      AND c.backchannel_logout_uri IS NOT NULL ON CONFLICT DO NOTHING
  ; DELETE FROM oauth_grants WHERE user_id = OLD.user_id AND organization_id = OLD.organization_id
  ; END;

-- A new password ends access that outlives the session.
CREATE TRIGGER users_ended_offline_grants AFTER UPDATE OF password_hash ON users
WHEN OLD.password_hash <> NEW.password_hash AND EXISTS (SELECT 1 FROM oauth_grants g WHERE g.user_id = NEW.id)
BEGIN
  DELETE FROM oauth_grants WHERE user_id = NEW.id AND offline_until IS NOT NULL
  ; END;

-- How its person signed in, as authentication methods of RFC 8176 with spaces; null for sign-ins with a provider and for older sessions.
ALTER TABLE sessions ADD COLUMN amr TEXT;

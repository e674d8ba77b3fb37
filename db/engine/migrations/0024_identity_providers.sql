-- Signing in with providers: OpenID providers and GitHub. Those without an organization are of the whole service. An organization's own is
-- believed only for addresses of its verified domains. `client_secret` is as `Secrets` stores it. With `enforced`, people with an address of
-- a verified domain sign in only with it. `session_max_days` shortens their sessions.
CREATE TABLE identity_providers (
  id TEXT PRIMARY KEY,
  organization_id TEXT UNIQUE REFERENCES organizations (id),
  slug TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('oidc', 'google', 'microsoft', 'github')),
  name TEXT NOT NULL,
  issuer TEXT NOT NULL,
  client_id TEXT NOT NULL,
  client_secret TEXT NOT NULL,
  trust_email INTEGER NOT NULL DEFAULT 0,
  sign_up INTEGER NOT NULL DEFAULT 1,
  position INTEGER NOT NULL,
  role TEXT CHECK (role IN ('ADMIN', 'MEMBER')),
  enforced INTEGER NOT NULL DEFAULT 0,
  session_max_days INTEGER,
  tested_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  CHECK (organization_id IS NULL OR (role IS NOT NULL AND trust_email = 0))
) STRICT, WITHOUT ROWID;

-- How providers name people. `email` is what the provider said last, for people to recognize it; nothing is decided by it.
CREATE TABLE identities (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  email TEXT,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  UNIQUE (issuer, subject)
) STRICT, WITHOUT ROWID;

CREATE INDEX identities_user ON identities (user_id);

-- Providers that vouch for an address ask for invitations to it.
CREATE INDEX invitations_email ON invitations (email) WHERE accepted_at IS NULL AND revoked_at IS NULL;

-- Visits to a provider that have not come back. The browser that began has a cookie whose SHA-256 is `browser_hash`. `user_id` and
-- `session_id` are those of someone who is signed in and links or tests. `invitation_hash` is that of an invitation's link.
CREATE TABLE provider_attempts (
  state_hash TEXT PRIMARY KEY,
  provider_id TEXT NOT NULL REFERENCES identity_providers (id) ON DELETE CASCADE,
  browser_hash TEXT NOT NULL,
  purpose TEXT NOT NULL CHECK (purpose IN ('sign_in', 'confirm', 'link', 'test')),
  user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
  session_id TEXT,
  return_to TEXT,
  invitation_hash TEXT,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX provider_attempts_provider ON provider_attempts (provider_id);

CREATE INDEX provider_attempts_user ON provider_attempts (user_id);

CREATE INDEX provider_attempts_expires_at ON provider_attempts (expires_at);

-- Domains of organizations, in lower case and Punycode. `token` is what the TXT record must contain. One organization has a verified domain.
CREATE TABLE organization_domains (
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  domain TEXT NOT NULL,
  token TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  verified_at INTEGER,
  PRIMARY KEY (organization_id, domain)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX organization_domains_verified ON organization_domains (domain) WHERE verified_at IS NOT NULL;

-- False for accounts that were created by a provider: their hash is that of a random text. Whoever sets another one has a password.
ALTER TABLE users ADD COLUMN has_password INTEGER NOT NULL DEFAULT 1;

CREATE TRIGGER users_password_set AFTER UPDATE OF password_hash ON users WHEN OLD.has_password = 0 AND NEW.has_password = 0 BEGIN UPDATE users SET has_password = 1 WHERE id = NEW.id; END;

-- The provider that a session or a sign-in began with; null for a password or a passkey. A session with `expires_at` ends then at the latest.
ALTER TABLE sessions ADD COLUMN provider_id TEXT;

ALTER TABLE sessions ADD COLUMN expires_at INTEGER;

ALTER TABLE pending_sign_ins ADD COLUMN provider_id TEXT;

-- Who runs the service: their accounts and tokens, and what they note about organizations.

-- Since when the user is an operator; null for everyone else.
ALTER TABLE users ADD COLUMN operator_since INTEGER;

CREATE INDEX users_operator_since ON users (operator_since) WHERE operator_since IS NOT NULL;

-- When a passkey or a code was last used in the session; null if it never was.
ALTER TABLE sessions ADD COLUMN second_factor_at INTEGER;

-- `scopes` and `addresses` are JSON lists; no addresses means any. `created_by` is null for tokens made on the command line.
CREATE TABLE operator_tokens (
  id TEXT PRIMARY KEY,
  token_hash TEXT NOT NULL UNIQUE,
  token_prefix TEXT NOT NULL,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  addresses TEXT NOT NULL,
  created_by TEXT REFERENCES users (id) ON DELETE SET NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX operator_tokens_created_by ON operator_tokens (created_by);

-- `metadata` is a JSON object of texts.
ALTER TABLE organizations ADD COLUMN external_id TEXT;

ALTER TABLE organizations ADD COLUMN suspended_at INTEGER;

ALTER TABLE organizations ADD COLUMN metadata TEXT NOT NULL DEFAULT '{}';

CREATE UNIQUE INDEX organizations_external_id ON organizations (external_id)
WHERE external_id IS NOT NULL AND deleted_at IS NULL;

CREATE INDEX organizations_suspended_at ON organizations (suspended_at) WHERE suspended_at IS NOT NULL;

CREATE TABLE organization_notes (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  text TEXT NOT NULL,
  author_id TEXT,
  author_name TEXT,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX organization_notes_organization ON organization_notes (organization_id, id);

-- A JSON list. `created_by` is null if an operator created the key.
ALTER TABLE api_keys ADD COLUMN permissions TEXT NOT NULL DEFAULT '["usage:read","usage:write"]';

ALTER TABLE api_keys ADD COLUMN created_by_operator INTEGER NOT NULL DEFAULT 0;

CREATE INDEX audit_events_operator ON audit_events (at) WHERE actor_type = 'operator';

-- Customers of a product in the portal, signed in by the product. Only hashes of tokens are stored.

-- `entry_hash` is of the address that opens the session, once and until `entry_expires_at`; `token_hash` of the cookie, null before.
-- `pages` is a JSON list. The external id and the name are those of the product's user, if it gave them.
CREATE TABLE portal_sessions (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  operator_token_id TEXT NOT NULL REFERENCES operator_tokens (id) ON DELETE CASCADE,
  entry_hash TEXT NOT NULL UNIQUE,
  entry_expires_at INTEGER NOT NULL,
  token_hash TEXT,
  pages TEXT NOT NULL,
  read_only INTEGER NOT NULL,
  user_external_id TEXT,
  user_name TEXT,
  return_url TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX portal_sessions_organization ON portal_sessions (organization_id, expires_at);

CREATE INDEX portal_sessions_operator_token ON portal_sessions (operator_token_id);

CREATE INDEX portal_sessions_expires_at ON portal_sessions (expires_at);

-- Clients whose id is the URL of a metadata document also have a row in `oauth_clients`, which is its copy.
CREATE TABLE oauth_documents (
  id TEXT PRIMARY KEY,
  client_id TEXT NOT NULL UNIQUE REFERENCES oauth_clients (id) ON DELETE CASCADE,
  host TEXT NOT NULL,
  -- Of what was read, to notice changes.
  content_hash TEXT NOT NULL,
  read_at INTEGER NOT NULL,
  fresh_until INTEGER NOT NULL,
  -- A JWKS with the public keys of its assertions, and the URL that has them, if the document hasn't.
  keys TEXT,
  keys_uri TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_documents_read_at ON oauth_documents (read_at);

-- Assertions with which clients authenticated: each works once.
CREATE TABLE oauth_assertions (
  client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
  assertion_hash TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (client_id, assertion_hash)
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_assertions_expires_at ON oauth_assertions (expires_at);

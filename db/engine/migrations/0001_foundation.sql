-- Times are milliseconds since 1970. Hashes are SHA-256 in hexadecimal. A statement ends with a semicolon at the end of a line.

CREATE TABLE users (
  id TEXT PRIMARY KEY,
  email TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  password_hash TEXT NOT NULL,
  email_verified_at INTEGER,
  disabled_at INTEGER,
  last_organization_id TEXT,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The number is what usage rows carry: three bytes instead of thirty.
CREATE TABLE organizations (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE memberships (
  user_id TEXT NOT NULL REFERENCES users (id),
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  role TEXT NOT NULL CHECK (role IN ('OWNER', 'ADMIN', 'MEMBER')),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, organization_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX memberships_organization ON memberships (organization_id);

CREATE TABLE sessions (
  token_hash TEXT PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  user_id TEXT NOT NULL REFERENCES users (id),
  organization_id TEXT REFERENCES organizations (id),
  created_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL,
  address TEXT NOT NULL,
  user_agent TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_user ON sessions (user_id);

-- Delays after failed sign-ins. The subject is a hash of the canonical address, known or not.
CREATE TABLE sign_in_failures (
  subject TEXT PRIMARY KEY,
  failures INTEGER NOT NULL,
  blocked_until INTEGER NOT NULL,
  failed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sign_in_failures_failed_at ON sign_in_failures (failed_at);

CREATE TABLE api_keys (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  key_hash TEXT NOT NULL UNIQUE,
  key_prefix TEXT NOT NULL,
  name TEXT NOT NULL,
  created_by TEXT REFERENCES users (id),
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT;

CREATE INDEX api_keys_organization ON api_keys (organization_id, id);

-- One row for each organization, product, metric and key that ever recorded. Usage rows name their parents by number and
-- declare no foreign keys: the statement that inserts them joins the parents, and a check for each record would cost a look-up.
CREATE TABLE usage_series (
  id INTEGER PRIMARY KEY,
  organization INTEGER NOT NULL,
  product_slug TEXT NOT NULL,
  metric TEXT NOT NULL,
  api_key INTEGER NOT NULL,
  UNIQUE (organization, product_slug, metric, api_key)
) STRICT;

-- A quantity is a whole number and millionths. `id` is the 16 bytes of a UUID.
CREATE TABLE usage_records (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  organization INTEGER NOT NULL,
  series INTEGER NOT NULL,
  timestamp INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL,
  quantity_whole INTEGER NOT NULL,
  quantity_micro INTEGER NOT NULL,
  idempotency_key TEXT,
  properties TEXT
) STRICT;

CREATE UNIQUE INDEX usage_records_idempotency ON usage_records (organization, idempotency_key)
WHERE idempotency_key IS NOT NULL;

CREATE INDEX usage_records_timestamp ON usage_records (organization, timestamp);

-- A series in one quarter of an hour. A sum is (high * 2^26 + low) + micro / 10^6: no part overflows before 2^36 records.
-- Smallest and largest are texts of 22 digits, 16 whole and 6 millionths, which sort as the numbers do.
CREATE TABLE usage_rollups (
  series INTEGER NOT NULL,
  quarter INTEGER NOT NULL,
  count INTEGER NOT NULL,
  sum_high INTEGER NOT NULL,
  sum_low INTEGER NOT NULL,
  sum_micro INTEGER NOT NULL,
  smallest TEXT NOT NULL,
  largest TEXT NOT NULL,
  PRIMARY KEY (series, quarter)
) STRICT, WITHOUT ROWID;

-- The last `seq` whose record is in the rollups. It moves in the same batch as the records.
CREATE TABLE usage_cursor (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  seq INTEGER NOT NULL
) STRICT;

INSERT INTO usage_cursor (only_row, seq) VALUES (1, 0);

-- A disabled key is active and doesn't work. What an operator disabled, only operators enable.
ALTER TABLE api_keys ADD COLUMN disabled_at INTEGER;

ALTER TABLE api_keys ADD COLUMN disabled_by_operator INTEGER NOT NULL DEFAULT 0;

-- The CIDR blocks from which a key may be used, a JSON list; null for any address.
ALTER TABLE api_keys ADD COLUMN addresses TEXT;

-- A key's own rate. The lower one of it and its organization's takes effect.
ALTER TABLE api_keys ADD COLUMN requests_per_second INTEGER;

-- What only operators set and see. `metadata` is a JSON object of texts.
ALTER TABLE api_keys ADD COLUMN external_id TEXT;

ALTER TABLE api_keys ADD COLUMN metadata TEXT NOT NULL DEFAULT '{}';

CREATE INDEX api_keys_external_id ON api_keys (external_id, id) WHERE external_id IS NOT NULL;

-- When a key that another system issued was imported. A key of another form than ours is looked up in this index alone, which is empty until
-- then.
ALTER TABLE api_keys ADD COLUMN imported_at INTEGER;

CREATE UNIQUE INDEX api_keys_imported ON api_keys (key_hash) WHERE imported_at IS NOT NULL;

CREATE INDEX api_keys_imported_prefix ON api_keys (key_prefix COLLATE NOCASE) WHERE imported_at IS NOT NULL;

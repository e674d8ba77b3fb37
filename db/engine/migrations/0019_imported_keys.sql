-- Keys that another system issued. A key of another form than ours is looked up in this index alone, which is empty until one is imported.
ALTER TABLE api_keys ADD COLUMN imported INTEGER NOT NULL DEFAULT 0;

CREATE UNIQUE INDEX api_keys_imported ON api_keys (key_hash) WHERE imported = 1;

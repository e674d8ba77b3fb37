-- A disabled key is active and doesn't work. What an operator disabled, only operators enable.
ALTER TABLE api_keys ADD COLUMN disabled_at INTEGER;

ALTER TABLE api_keys ADD COLUMN disabled_by_operator INTEGER NOT NULL DEFAULT 0;

-- Servers take over a key's requests per second from each commit with the key, so changes needn't be counted.
DROP TRIGGER plans_rate_changed;

DROP TRIGGER organizations_rate_changed;

ALTER TABLE usage_cursor DROP COLUMN rates_version;

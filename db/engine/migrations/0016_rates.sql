-- Servers take over a key's requests per second from each commit with the key, so changes needn't be counted. The column
-- usage_cursor.rates_version stays: servers of the version before read it until they are replaced.
DROP TRIGGER plans_rate_changed;

DROP TRIGGER organizations_rate_changed;

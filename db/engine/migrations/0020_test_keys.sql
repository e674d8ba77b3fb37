-- Test keys. Their usage has the negative number of its organization in all tables of usage, so that queries that read an organization's
-- usage by its number read live usage alone. The total of a product and metric of all test usage is a series of organization -2147483648.
ALTER TABLE api_keys ADD COLUMN environment TEXT NOT NULL DEFAULT 'live' CHECK (environment IN ('live', 'test'));

-- Keys are found by the 8 characters after their tag, with the ellipsis that ends it: servers may have had different prefixes.
CREATE INDEX api_keys_characters ON api_keys (substr(key_prefix, -9) COLLATE NOCASE);

DROP TRIGGER usage_series_inserted;

DROP TRIGGER usage_series_deleted;

CREATE TRIGGER usage_series_inserted AFTER INSERT ON usage_series WHEN NEW.organization NOT IN (0, -2147483648) BEGIN INSERT INTO usage_series (organization, product_slug, metric, api_key) VALUES (iif(NEW.organization < 0, -2147483648, 0), NEW.product_slug, NEW.metric, 0) ON CONFLICT DO NOTHING; UPDATE usage_series SET total = (SELECT t.id FROM usage_series t WHERE t.organization = iif(NEW.organization < 0, -2147483648, 0) AND t.product_slug = NEW.product_slug AND t.metric = NEW.metric AND t.api_key = 0) WHERE id = NEW.id; UPDATE organizations SET series = series + 1 WHERE number = abs(NEW.organization); END;

CREATE TRIGGER usage_series_deleted AFTER DELETE ON usage_series WHEN OLD.organization NOT IN (0, -2147483648) BEGIN DELETE FROM usage_series WHERE id = OLD.total AND NOT EXISTS (SELECT 1 FROM usage_rollups r WHERE r.series = OLD.total); UPDATE organizations SET series = series - 1 WHERE number = abs(OLD.organization); END;

-- A server of an earlier version, which doesn't know test keys, records nothing with them, and keeps an organization that has test usage.
CREATE TRIGGER usage_series_of_test_key BEFORE INSERT ON usage_series WHEN NEW.organization > 0 AND EXISTS (SELECT 1 FROM api_keys k WHERE k.number = NEW.api_key AND k.environment = 'test') BEGIN SELECT RAISE(IGNORE); END;

CREATE TRIGGER organizations_with_test_usage BEFORE DELETE ON organizations WHEN EXISTS (SELECT 1 FROM usage_series s WHERE s.organization = -OLD.number) OR EXISTS (SELECT 1 FROM usage_records r WHERE r.organization = -OLD.number) BEGIN SELECT RAISE(IGNORE); END;

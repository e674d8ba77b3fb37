-- Each product and metric has a series of organization 0 and key 0, its total: what all organizations recorded. A series names
-- its total; a total names none. Triggers keep this, so that nothing that adds or deletes a series can forget it. The total of
-- series that were all rejected goes with them.
DROP TRIGGER usage_series_inserted;

DROP TRIGGER usage_series_deleted;

ALTER TABLE usage_series ADD COLUMN total INTEGER;

INSERT INTO usage_series (organization, product_slug, metric, api_key) SELECT DISTINCT 0, product_slug, metric, 0 FROM usage_series;

UPDATE usage_series AS s SET total = (SELECT t.id FROM usage_series t WHERE t.organization = 0 AND t.product_slug = s.product_slug AND t.metric = s.metric AND t.api_key = 0)
WHERE s.organization <> 0;

CREATE TRIGGER usage_series_inserted AFTER INSERT ON usage_series WHEN NEW.organization <> 0 BEGIN INSERT INTO usage_series (organization, product_slug, metric, api_key) VALUES (0, NEW.product_slug, NEW.metric, 0) ON CONFLICT DO NOTHING; UPDATE usage_series SET total = (SELECT t.id FROM usage_series t WHERE t.organization = 0 AND t.product_slug = NEW.product_slug AND t.metric = NEW.metric AND t.api_key = 0) WHERE id = NEW.id; UPDATE organizations SET series = series + 1 WHERE number = NEW.organization; END;

CREATE TRIGGER usage_series_deleted AFTER DELETE ON usage_series WHEN OLD.organization <> 0 BEGIN DELETE FROM usage_series WHERE id = OLD.total AND NOT EXISTS (SELECT 1 FROM usage_rollups r WHERE r.series = OLD.total); UPDATE organizations SET series = series - 1 WHERE number = OLD.organization; END;

INSERT INTO usage_rollups (series, quarter, count, sum_high, sum_low, sum_micro, smallest, largest)
SELECT s.total, r.quarter, sum(r.count), sum(r.sum_high), sum(r.sum_low), sum(r.sum_micro), min(r.smallest), max(r.largest)
FROM usage_rollups r JOIN usage_series s ON s.id = r.series WHERE s.organization <> 0 AND r.count > 0 GROUP BY 1, 2;

INSERT INTO usage_rollups_hourly (series, hour, count, sum_high, sum_low, sum_micro, smallest, largest)
SELECT r.series, r.quarter / 4, sum(r.count), sum(r.sum_high), sum(r.sum_low), sum(r.sum_micro), min(r.smallest), max(r.largest)
FROM usage_rollups r JOIN usage_series s ON s.id = r.series WHERE s.organization = 0 GROUP BY 1, 2;

-- The same by calendar months of UTC, counted from January 1970, in the order in which one month of all organizations is read.
-- Totals are those of organization 0. The quarters are the first and the last with a record, also when it was voided.
CREATE TABLE usage_rollups_monthly (
  month INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  series INTEGER NOT NULL,
  count INTEGER NOT NULL,
  sum_high INTEGER NOT NULL,
  sum_low INTEGER NOT NULL,
  sum_micro INTEGER NOT NULL,
  smallest ANY NOT NULL,
  largest ANY NOT NULL,
  first_quarter INTEGER NOT NULL,
  last_quarter INTEGER NOT NULL,
  PRIMARY KEY (month, organization, series)
) STRICT, WITHOUT ROWID;

INSERT INTO usage_rollups_monthly (month, organization, series, count, sum_high, sum_low, sum_micro, smallest, largest, first_quarter, last_quarter)
SELECT (strftime('%Y', r.quarter * 900, 'unixepoch') - 1970) * 12 + strftime('%m', r.quarter * 900, 'unixepoch') - 1, s.organization, r.series,
  sum(r.count), sum(r.sum_high), sum(r.sum_low), sum(r.sum_micro), min(r.smallest), max(r.largest), min(r.quarter), max(r.quarter)
FROM usage_rollups r JOIN usage_series s ON s.id = r.series WHERE r.count > 0 GROUP BY 1, 2, 3;

ALTER TABLE usage_added ADD COLUMN organization INTEGER NOT NULL DEFAULT 0;

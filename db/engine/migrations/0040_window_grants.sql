-- Grants also raise limits with a window. `per` is that of their limits. `window_takes` is what was last taken for windows, or given back:
-- a JSON list of window number, place, end and micros.
ALTER TABLE usage_grants ADD COLUMN per TEXT NOT NULL DEFAULT 'total';

ALTER TABLE usage_grants ADD COLUMN window_takes TEXT;

ALTER TABLE usage_refills ADD COLUMN per TEXT NOT NULL DEFAULT 'total';

-- What windows have taken from grants, in the order of use. It belongs to the calendar window, and outlives the limit and its counter.
CREATE TABLE usage_grant_windows (
  organization INTEGER NOT NULL,
  product_slug TEXT NOT NULL,
  metric TEXT NOT NULL,
  per TEXT NOT NULL,
  window_number INTEGER NOT NULL,
  place INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  grant_number INTEGER NOT NULL,
  micros INTEGER NOT NULL,
  PRIMARY KEY (organization, product_slug, metric, per, window_number, place, ends_at, grant_number)
) STRICT, WITHOUT ROWID;

DROP TRIGGER usage_grants_inserted;

DROP TRIGGER usage_grants_taken;

DROP TRIGGER usage_grants_turned;

-- An account for each `per`. Those of windows have no sums.
CREATE TABLE usage_grant_accounts_by_period (
  organization INTEGER NOT NULL,
  product_slug TEXT NOT NULL,
  metric TEXT NOT NULL,
  per TEXT NOT NULL DEFAULT 'total',
  taken_whole INTEGER NOT NULL DEFAULT 0,
  taken_micro INTEGER NOT NULL DEFAULT 0,
  mark_whole INTEGER NOT NULL DEFAULT 0,
  mark_micro INTEGER NOT NULL DEFAULT 0,
  mark_opened INTEGER,
  turn_at INTEGER NOT NULL DEFAULT 9007199254740991,
  PRIMARY KEY (organization, product_slug, metric, per)
) STRICT, WITHOUT ROWID;

INSERT INTO usage_grant_accounts_by_period (organization, product_slug, metric, taken_whole, taken_micro, mark_whole, mark_micro, mark_opened, turn_at)
SELECT organization, product_slug, metric, taken_whole, taken_micro, mark_whole, mark_micro, mark_opened, turn_at FROM usage_grant_accounts;

DROP TABLE usage_grant_accounts;

ALTER TABLE usage_grant_accounts_by_period RENAME TO usage_grant_accounts;

-- Tells whether there are any.
CREATE INDEX usage_grant_accounts_windows ON usage_grant_accounts (per) WHERE per <> 'total';

DROP INDEX usage_grants_open;

-- Grants that can be used, in the order of their use.
CREATE INDEX usage_grants_open ON usage_grants (organization, product_slug, metric, per, ends_at, number, starts_at) WHERE voided_at IS NULL AND used_micros < quantity_micros;

CREATE TRIGGER usage_grants_inserted AFTER INSERT ON usage_grants BEGIN INSERT INTO usage_grant_accounts (organization, product_slug, metric, per) VALUES (NEW.organization, NEW.product_slug, NEW.metric, NEW.per) ON CONFLICT DO NOTHING; END;

CREATE TRIGGER usage_grants_taken AFTER UPDATE OF used_micros ON usage_grants WHEN NEW.per = 'total' BEGIN UPDATE usage_grant_accounts SET taken_whole = taken_whole + NEW.used_micros / 1000000 - OLD.used_micros / 1000000, taken_micro = taken_micro + NEW.used_micros % 1000000 - OLD.used_micros % 1000000 WHERE organization = NEW.organization AND product_slug = NEW.product_slug AND metric = NEW.metric AND per = 'total'; END;

CREATE TRIGGER usage_grants_taken_by_windows AFTER UPDATE OF window_takes ON usage_grants WHEN NEW.window_takes IS NOT NULL BEGIN INSERT INTO usage_grant_windows (organization, product_slug, metric, per, window_number, place, ends_at, grant_number, micros) SELECT NEW.organization, NEW.product_slug, NEW.metric, NEW.per, e.value ->> 0, e.value ->> 1, e.value ->> 2, NEW.number, e.value ->> 3 FROM json_each(NEW.window_takes) e WHERE true ON CONFLICT DO UPDATE SET micros = micros + excluded.micros; END;

-- The first group of records after a turn takes from grants that expire. Percentages then count from what was used before it, and can be noted again.
CREATE TRIGGER usage_grants_turned AFTER UPDATE OF used_at ON usage_grants WHEN NEW.per = 'total' AND EXISTS (SELECT 1 FROM usage_grant_accounts WHERE organization = NEW.organization AND product_slug = NEW.product_slug AND metric = NEW.metric AND per = 'total' AND turn_at <= NEW.used_at) BEGIN DELETE FROM limit_notices WHERE organization = NEW.organization AND window_number = 0 AND percent < 100 AND usage_limit IN (SELECT l.number FROM usage_limit_added a CROSS JOIN usage_limits l ON l.number = a.usage_limit WHERE a.organization = NEW.organization AND l.product_slug = NEW.product_slug AND l.metric = NEW.metric AND l.per = 'total' AND l.lineage IS NULL AND l.alert_of IS NULL); UPDATE usage_grant_accounts SET mark_whole = n.sum_high * 67108864 + n.sum_low - a.sum_high * 67108864 - a.sum_low, mark_micro = n.sum_micro - a.sum_micro, mark_opened = iif(n.is_known, NULL, n.opened_seq), turn_at = coalesce((SELECT min(g.starts_at) FROM usage_grants g WHERE g.organization = NEW.organization AND g.product_slug = NEW.product_slug AND g.metric = NEW.metric AND g.per = 'total' AND g.ends_at > NEW.used_at AND g.starts_at > NEW.used_at AND g.voided_at IS NULL AND g.used_micros < g.quantity_micros), 9007199254740991) FROM usage_limit_added a CROSS JOIN usage_limits l ON l.number = a.usage_limit CROSS JOIN usage_limit_counters n ON n.usage_limit = a.usage_limit AND n.organization = a.organization AND n.window_number = a.window_number WHERE usage_grant_accounts.organization = NEW.organization AND usage_grant_accounts.product_slug = NEW.product_slug AND usage_grant_accounts.metric = NEW.metric AND usage_grant_accounts.per = 'total' AND a.organization = NEW.organization AND l.product_slug = NEW.product_slug AND l.metric = NEW.metric AND l.per = 'total' AND l.lineage IS NULL AND l.alert_of IS NULL; END;

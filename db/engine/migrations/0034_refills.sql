-- Grants that repeat at each turn of the calendar. A refill's grants are written ahead; `write_at` is when its next ones are due.
CREATE TABLE usage_refills (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  organization INTEGER NOT NULL,
  limit_id TEXT NOT NULL,
  product_slug TEXT NOT NULL,
  metric TEXT NOT NULL,
  quantity_micros INTEGER NOT NULL,
  every TEXT NOT NULL,
  rollover INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  voided_at INTEGER,
  reason TEXT NOT NULL,
  void_reason TEXT,
  write_at INTEGER NOT NULL
) STRICT;

CREATE INDEX usage_refills_scope ON usage_refills (organization, product_slug, metric);

CREATE INDEX usage_refills_due ON usage_refills (write_at);

-- A new time zone moves the turns to come.
CREATE TRIGGER organizations_moved_turns AFTER UPDATE OF timezone ON organizations WHEN NEW.timezone <> OLD.timezone BEGIN UPDATE usage_refills SET write_at = 0 WHERE organization = NEW.number AND voided_at IS NULL; END;

-- `starts_at` is 0 for grants that don't belong to a refill. `turn` is the first day of a refill's turn, in any time zone: each is given once.
ALTER TABLE usage_grants ADD COLUMN starts_at INTEGER NOT NULL DEFAULT 0;

ALTER TABLE usage_grants ADD COLUMN refill INTEGER;

ALTER TABLE usage_grants ADD COLUMN turn TEXT;

ALTER TABLE usage_grants ADD COLUMN used_at INTEGER;

CREATE UNIQUE INDEX usage_grants_turn ON usage_grants (refill, turn) WHERE refill IS NOT NULL;

DROP INDEX usage_grants_open;

CREATE INDEX usage_grants_open ON usage_grants (organization, product_slug, metric, ends_at, number, starts_at) WHERE voided_at IS NULL AND used_micros < quantity_micros;

-- When the next of an account's grants starts. If that has passed, nothing was recorded since.
ALTER TABLE usage_grant_accounts ADD COLUMN turn_at INTEGER NOT NULL DEFAULT 9007199254740991;

-- The first group of records after a turn takes from grants that expire. Percentages then count from what was used before it, and can be noted again.
CREATE TRIGGER usage_grants_turned AFTER UPDATE OF used_at ON usage_grants WHEN EXISTS (SELECT 1 FROM usage_grant_accounts WHERE organization = NEW.organization AND product_slug = NEW.product_slug AND metric = NEW.metric AND turn_at <= NEW.used_at) BEGIN DELETE FROM limit_notices WHERE organization = NEW.organization AND window_number = 0 AND percent < 100 AND usage_limit IN (SELECT l.number FROM usage_limit_added a CROSS JOIN usage_limits l ON l.number = a.usage_limit WHERE a.organization = NEW.organization AND l.product_slug = NEW.product_slug AND l.metric = NEW.metric AND l.per = 'total' AND l.lineage IS NULL AND l.alert_of IS NULL); UPDATE usage_grant_accounts SET mark_whole = n.sum_high * 67108864 + n.sum_low - a.sum_high * 67108864 - a.sum_low, mark_micro = n.sum_micro - a.sum_micro, mark_opened = iif(n.is_known, NULL, n.opened_seq), turn_at = coalesce((SELECT min(g.starts_at) FROM usage_grants g WHERE g.organization = NEW.organization AND g.product_slug = NEW.product_slug AND g.metric = NEW.metric AND g.ends_at > NEW.used_at AND g.starts_at > NEW.used_at AND g.voided_at IS NULL AND g.used_micros < g.quantity_micros), 9007199254740991) FROM usage_limit_added a CROSS JOIN usage_limits l ON l.number = a.usage_limit CROSS JOIN usage_limit_counters n ON n.usage_limit = a.usage_limit AND n.organization = a.organization AND n.window_number = a.window_number WHERE usage_grant_accounts.organization = NEW.organization AND usage_grant_accounts.product_slug = NEW.product_slug AND usage_grant_accounts.metric = NEW.metric AND a.organization = NEW.organization AND l.product_slug = NEW.product_slug AND l.metric = NEW.metric AND l.per = 'total' AND l.lineage IS NULL AND l.alert_of IS NULL; END;

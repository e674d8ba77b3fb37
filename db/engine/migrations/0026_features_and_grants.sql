-- What a plan includes, as a JSON array of names in ascending order. Gatehouse stores and reports them.
ALTER TABLE plans ADD COLUMN features TEXT NOT NULL DEFAULT '[]';

-- Quantities that an organization bought in advance: they raise its limit in total of a product and metric (empty for all), whichever limit
-- with this scope applies. What is used of them is noted in the transaction that records, and never charged again. `ends_at` is
-- 9007199254740991 without an expiry. For voids: the first and the last group of records that used it, and how much of each is taken from it.
CREATE TABLE usage_grants (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  organization INTEGER NOT NULL,
  limit_id TEXT NOT NULL,
  product_slug TEXT NOT NULL,
  metric TEXT NOT NULL,
  quantity_micros INTEGER NOT NULL,
  used_micros INTEGER NOT NULL DEFAULT 0 CHECK (used_micros BETWEEN 0 AND quantity_micros),
  first_seq INTEGER,
  first_end INTEGER,
  first_micros INTEGER NOT NULL DEFAULT 0,
  last_start INTEGER,
  last_seq INTEGER,
  last_micros INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  voided_at INTEGER,
  reason TEXT NOT NULL,
  void_reason TEXT,
  idempotency_key TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX usage_grants_key ON usage_grants (organization, idempotency_key);

CREATE INDEX usage_grants_used ON usage_grants (organization, product_slug, metric, last_seq) WHERE used_micros > 0;

-- Those that can be used, in the order in which they are.
CREATE INDEX usage_grants_open ON usage_grants (organization, product_slug, metric, ends_at, number) WHERE voided_at IS NULL AND used_micros < quantity_micros;

-- The last record before a counter was opened.
ALTER TABLE usage_limit_counters ADD COLUMN after_seq INTEGER;

-- An organization with grants for a product and metric: what is used of all of them together, also of those that have ended, and how much
-- was used in total when it last got one: since `mark_opened`, if the counter of that use wasn't known. Micros may be a million and more.
CREATE TABLE usage_grant_accounts (
  organization INTEGER NOT NULL,
  product_slug TEXT NOT NULL,
  metric TEXT NOT NULL,
  taken_whole INTEGER NOT NULL DEFAULT 0,
  taken_micro INTEGER NOT NULL DEFAULT 0,
  mark_whole INTEGER NOT NULL DEFAULT 0,
  mark_micro INTEGER NOT NULL DEFAULT 0,
  mark_opened INTEGER,
  PRIMARY KEY (organization, product_slug, metric)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER usage_grants_inserted AFTER INSERT ON usage_grants BEGIN INSERT INTO usage_grant_accounts (organization, product_slug, metric) VALUES (NEW.organization, NEW.product_slug, NEW.metric) ON CONFLICT DO NOTHING; END;

CREATE TRIGGER usage_grants_taken AFTER UPDATE OF used_micros ON usage_grants BEGIN UPDATE usage_grant_accounts SET taken_whole = taken_whole + NEW.used_micros / 1000000 - OLD.used_micros / 1000000, taken_micro = taken_micro + NEW.used_micros % 1000000 - OLD.used_micros % 1000000 WHERE organization = NEW.organization AND product_slug = NEW.product_slug AND metric = NEW.metric; END;

-- Events name the quantity at the moment of the notice, which has grants in it.
DROP TRIGGER limit_notices_told;

CREATE TRIGGER limit_notices_told AFTER INSERT ON limit_notices
BEGIN
  INSERT INTO events (id, type, organization, at, facts)
  SELECT 'evt_' || printf('%012x7', NEW.noted_at) || substr(lower(hex(randomblob(10))), 2),
    CASE WHEN NEW.percent < 100 THEN 'limit.approaching' WHEN l.mode = 'hard' THEN 'limit.reached' ELSE 'limit.exceeded' END,
    o.number, NEW.noted_at, json_object(
      'organization', json_object('id', o.id, 'externalId', o.external_id, 'name', o.name),
      'limit', json_object('id', l.id, 'productSlug', nullif(l.product_slug, ''), 'metric', nullif(l.metric, ''), 'per', l.per, 'mode', l.mode,
        'isAlert', l.alert_of IS NOT NULL, 'whole', coalesce(NEW.quantity_whole, l.quantity_whole), 'micro', coalesce(NEW.quantity_micro, l.quantity_micro),
        'apiKey', (SELECT json_object('id', k.id, 'name', k.name) FROM api_keys k WHERE k.number =
          (SELECT max(g.number) FROM api_keys g WHERE g.lineage = coalesce(l.lineage, l.alert_lineage)))),
      'used', json(NEW.used), 'percent', NEW.percent, 'isRefusal', NEW.is_refusal = 1, 'usedAt', NEW.at, 'timezone', o.timezone)
  FROM usage_limits l CROSS JOIN organizations o ON o.number = NEW.organization WHERE l.number = NEW.usage_limit
  ; END;

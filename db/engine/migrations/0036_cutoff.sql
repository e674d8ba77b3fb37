-- A limit may cut off: requests that ask are denied when nothing is left. A check can't be changed, so the table is made again, without
-- renaming it, which would change or break the triggers that name it. Numbers of deleted limits are not used again.
CREATE TABLE usage_limits_before AS SELECT * FROM usage_limits;

CREATE TABLE usage_limits_last AS SELECT seq FROM sqlite_sequence WHERE name = 'usage_limits';

DROP TABLE usage_limits;

CREATE TABLE usage_limits (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  plan INTEGER REFERENCES plans (number) ON DELETE CASCADE,
  organization INTEGER,
  lineage INTEGER,
  product_slug TEXT NOT NULL,
  metric TEXT NOT NULL,
  per TEXT NOT NULL CHECK (per IN ('minute', 'hour', 'day', 'month', 'total')),
  quantity_whole INTEGER,
  quantity_micro INTEGER,
  mode TEXT NOT NULL CHECK (mode IN ('hard', 'soft', 'cutoff')),
  created_seq INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  notify_at TEXT,
  alert_of INTEGER,
  alert_lineage INTEGER,
  CHECK ((plan IS NULL) + (organization IS NULL) + (lineage IS NULL) + (alert_of IS NULL) = 3)
) STRICT;

INSERT INTO usage_limits (number, id, plan, organization, lineage, product_slug, metric, per, quantity_whole, quantity_micro, mode,
  created_seq, created_at, notify_at, alert_of, alert_lineage)
SELECT number, id, plan, organization, lineage, product_slug, metric, per, quantity_whole, quantity_micro, mode,
  created_seq, created_at, notify_at, alert_of, alert_lineage
FROM usage_limits_before ORDER BY number;

DELETE FROM sqlite_sequence WHERE name = 'usage_limits';

INSERT INTO sqlite_sequence (name, seq) SELECT 'usage_limits', seq FROM usage_limits_last;

DROP TABLE usage_limits_before;

DROP TABLE usage_limits_last;

CREATE UNIQUE INDEX usage_limits_plan ON usage_limits (plan, product_slug, metric, per) WHERE plan IS NOT NULL;

CREATE UNIQUE INDEX usage_limits_organization ON usage_limits (organization, product_slug, metric, per) WHERE organization IS NOT NULL;

CREATE UNIQUE INDEX usage_limits_lineage ON usage_limits (lineage, product_slug, metric, per) WHERE lineage IS NOT NULL;

CREATE INDEX usage_limits_alert ON usage_limits (alert_of, number) WHERE alert_of IS NOT NULL;

CREATE TRIGGER usage_limits_deleted AFTER DELETE ON usage_limits
BEGIN
  INSERT INTO usage_limits_removed (number, facts) VALUES (OLD.number, json_object('id', OLD.id,
    'productSlug', nullif(OLD.product_slug, ''), 'metric', nullif(OLD.metric, ''), 'per', OLD.per, 'mode', OLD.mode,
    'isAlert', OLD.alert_of IS NOT NULL, 'whole', OLD.quantity_whole, 'micro', OLD.quantity_micro,
    'lineage', coalesce(OLD.lineage, OLD.alert_lineage)))
  ; END;

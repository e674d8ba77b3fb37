-- Limits per value. `property` is the name of the property whose values each have a counter; empty for a limit of all usage together.
ALTER TABLE usage_limits ADD COLUMN property TEXT NOT NULL DEFAULT '';

DROP INDEX usage_limits_plan;

CREATE UNIQUE INDEX usage_limits_plan ON usage_limits (plan, product_slug, metric, per, property) WHERE plan IS NOT NULL;

DROP INDEX usage_limits_organization;

CREATE UNIQUE INDEX usage_limits_organization ON usage_limits (organization, product_slug, metric, per, property) WHERE organization IS NOT NULL;

DROP INDEX usage_limits_lineage;

CREATE UNIQUE INDEX usage_limits_lineage ON usage_limits (lineage, product_slug, metric, per, property) WHERE lineage IS NOT NULL;

CREATE INDEX usage_limits_property ON usage_limits (number) WHERE property <> '';

DROP TRIGGER usage_limits_deleted;

CREATE TRIGGER usage_limits_deleted AFTER DELETE ON usage_limits
BEGIN
  INSERT INTO usage_limits_removed (number, facts) VALUES (OLD.number, json_object('id', OLD.id,
    'productSlug', nullif(OLD.product_slug, ''), 'metric', nullif(OLD.metric, ''), 'per', OLD.per,
    'by', nullif(OLD.property, ''), 'mode', OLD.mode, 'isAlert', OLD.alert_of IS NOT NULL,
    'whole', OLD.quantity_whole, 'micro', OLD.quantity_micro, 'lineage', coalesce(OLD.lineage, OLD.alert_lineage)))
  ; END;

-- Values with a quantity of their own; null for no limit.
CREATE TABLE usage_limit_exceptions (
  usage_limit INTEGER NOT NULL REFERENCES usage_limits (number) ON DELETE CASCADE,
  value TEXT NOT NULL,
  quantity_whole INTEGER,
  quantity_micro INTEGER,
  PRIMARY KEY (usage_limit, value)
) STRICT, WITHOUT ROWID;

-- What counts against a limit of one value in a window. `opened_seq`: the last record before it was opened.
CREATE TABLE usage_value_counters (
  usage_limit INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  window_number INTEGER NOT NULL,
  value TEXT NOT NULL,
  sum_high INTEGER NOT NULL DEFAULT 0,
  sum_low INTEGER NOT NULL DEFAULT 0,
  sum_micro INTEGER NOT NULL DEFAULT 0,
  held_high INTEGER NOT NULL DEFAULT 0,
  held_low INTEGER NOT NULL DEFAULT 0,
  held_micro INTEGER NOT NULL DEFAULT 0,
  opened_seq INTEGER NOT NULL,
  PRIMARY KEY (usage_limit, organization, window_number, value)
) STRICT, WITHOUT ROWID;

-- How many values have a counter in a window, without that of all others.
CREATE TABLE usage_value_windows (
  usage_limit INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  window_number INTEGER NOT NULL,
  counters INTEGER NOT NULL,
  PRIMARY KEY (usage_limit, organization, window_number)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_value_windows_window ON usage_value_windows (window_number);

CREATE INDEX usage_value_windows_organization ON usage_value_windows (organization);

CREATE TRIGGER usage_value_counters_inserted AFTER INSERT ON usage_value_counters
BEGIN
  INSERT INTO usage_value_windows (usage_limit, organization, window_number, counters)
    VALUES (NEW.usage_limit, NEW.organization, NEW.window_number, NEW.value <> '(other)')
    ON CONFLICT DO UPDATE SET counters = counters + excluded.counters
  ; END;

-- The records of an organization that a limit per value has counted: those after `since_seq`, up to `until_seq`, in windows of the
-- time zone of then. Null: it counts them now.
CREATE TABLE usage_value_spans (
  organization INTEGER NOT NULL,
  usage_limit INTEGER NOT NULL,
  since_seq INTEGER NOT NULL,
  until_seq INTEGER,
  timezone TEXT NOT NULL,
  PRIMARY KEY (organization, usage_limit, since_seq)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX usage_value_spans_open ON usage_value_spans (organization, usage_limit) WHERE until_seq IS NULL;

CREATE INDEX usage_value_spans_closed ON usage_value_spans (until_seq) WHERE until_seq IS NOT NULL;

CREATE INDEX usage_value_spans_limit ON usage_value_spans (usage_limit);

-- Since when an organization has its plan, if it had another one before.
ALTER TABLE organizations ADD COLUMN plan_since INTEGER;

CREATE TRIGGER organizations_moved_values AFTER UPDATE OF plan, timezone ON organizations
WHEN NEW.plan IS NOT OLD.plan OR NEW.timezone <> OLD.timezone
BEGIN
  UPDATE usage_value_spans SET until_seq = (SELECT seq FROM usage_cursor)
    WHERE organization = NEW.number AND until_seq IS NULL
  ; UPDATE organizations SET plan_since = NEW.limits_at WHERE number = NEW.number AND NEW.plan IS NOT OLD.plan
  ; END;

CREATE TRIGGER usage_limits_replacing_values AFTER INSERT ON usage_limits WHEN NEW.organization IS NOT NULL AND NEW.property <> ''
BEGIN
  UPDATE usage_value_spans SET until_seq = (SELECT seq FROM usage_cursor)
    WHERE organization = NEW.organization AND until_seq IS NULL
  ; END;

CREATE TRIGGER usage_limits_restoring_values AFTER DELETE ON usage_limits WHEN OLD.organization IS NOT NULL AND OLD.property <> ''
BEGIN
  UPDATE usage_value_spans SET until_seq = (SELECT seq FROM usage_cursor)
    WHERE organization = OLD.organization AND until_seq IS NULL
  ; END;

CREATE TRIGGER usage_limits_lifting_values AFTER UPDATE OF quantity_whole ON usage_limits
WHEN NEW.organization IS NOT NULL AND NEW.property <> '' AND (NEW.quantity_whole IS NULL) <> (OLD.quantity_whole IS NULL)
BEGIN
  UPDATE usage_value_spans SET until_seq = (SELECT seq FROM usage_cursor)
    WHERE organization = NEW.organization AND until_seq IS NULL
  ; END;

-- Within the transaction that records, and empty after it: additions by value. `counter` is the value of the counter, `at` a time in
-- the window.
CREATE TABLE usage_value_added (
  number INTEGER PRIMARY KEY,
  usage_limit INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  window_number INTEGER NOT NULL,
  value TEXT NOT NULL,
  counter TEXT NOT NULL,
  at INTEGER NOT NULL,
  sum_high INTEGER NOT NULL,
  sum_low INTEGER NOT NULL,
  sum_micro INTEGER NOT NULL,
  UNIQUE (usage_limit, organization, window_number, value)
) STRICT;

-- What active holds have taken from counters of values. `counter` is the value of the counter.
CREATE TABLE usage_hold_values (
  number INTEGER PRIMARY KEY,
  hold INTEGER NOT NULL,
  usage_limit INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  window_number INTEGER NOT NULL,
  value TEXT NOT NULL,
  counter TEXT,
  held_high INTEGER NOT NULL,
  held_low INTEGER NOT NULL,
  held_micro INTEGER NOT NULL
) STRICT;

CREATE INDEX usage_hold_values_hold ON usage_hold_values (hold, usage_limit);

CREATE INDEX usage_hold_values_counter ON usage_hold_values (usage_limit, organization, window_number, counter);

CREATE TRIGGER usage_hold_values_inserted AFTER INSERT ON usage_hold_values
BEGIN
  UPDATE usage_hold_values SET counter = iif(
      EXISTS (SELECT 1 FROM usage_value_counters c WHERE c.usage_limit = NEW.usage_limit AND c.organization = NEW.organization
        AND c.window_number = NEW.window_number AND c.value = NEW.value)
      OR EXISTS (SELECT 1 FROM usage_limit_exceptions x WHERE x.usage_limit = NEW.usage_limit AND x.value = NEW.value)
      OR coalesce((SELECT w.counters FROM usage_value_windows w WHERE w.usage_limit = NEW.usage_limit
        AND w.organization = NEW.organization AND w.window_number = NEW.window_number), 0) < 10000, NEW.value, '(other)')
    WHERE number = NEW.number
  ; INSERT INTO usage_value_counters (usage_limit, organization, window_number, value, held_high, held_low, held_micro, opened_seq)
    SELECT v.usage_limit, v.organization, v.window_number, v.counter, v.held_high, v.held_low, v.held_micro, c.seq
    FROM usage_hold_values v CROSS JOIN usage_cursor c WHERE v.number = NEW.number
    ON CONFLICT DO UPDATE SET held_high = held_high + excluded.held_high, held_low = held_low + excluded.held_low,
      held_micro = held_micro + excluded.held_micro
  ; END;

CREATE TRIGGER usage_hold_values_deleted AFTER DELETE ON usage_hold_values
BEGIN
  UPDATE usage_value_counters SET held_high = held_high - OLD.held_high, held_low = held_low - OLD.held_low,
    held_micro = held_micro - OLD.held_micro
    WHERE usage_limit = OLD.usage_limit AND organization = OLD.organization AND window_number = OLD.window_number
      AND value = OLD.counter
  ; END;

CREATE TRIGGER usage_holds_values_ended AFTER UPDATE OF status ON usage_holds WHEN OLD.status = 'active' AND NEW.status <> 'active'
BEGIN
  DELETE FROM usage_hold_values WHERE hold = NEW.number
  ; END;

CREATE TRIGGER usage_holds_values_deleted AFTER DELETE ON usage_holds WHEN OLD.status = 'active'
BEGIN
  DELETE FROM usage_hold_values WHERE hold = OLD.number
  ; END;

-- Holds of room in limits. `organization` is the number of its usage, `lineage` that of the API key. `records` and `settlement` are JSON:
-- lists of product, metric, whole, micro and properties. `status` is that of the row: an active hold may have expired, and counters have it
-- until it is ended. Its records are `first_seq` and those after it, recorded at `recorded_at`.
CREATE TABLE usage_holds (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  organization INTEGER NOT NULL,
  api_key INTEGER,
  lineage INTEGER,
  held_by TEXT NOT NULL CHECK (held_by IN ('key', 'operator', 'verification')),
  status TEXT NOT NULL CHECK (status IN ('active', 'settled', 'released', 'expired', 'recorded')),
  records TEXT NOT NULL,
  is_recorded_on_expiry INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  -- The requested milliseconds until it expires.
  expires_in INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  ended_at INTEGER,
  kept_until INTEGER,
  idempotency_key TEXT,
  settlement TEXT,
  first_seq INTEGER,
  recorded_at INTEGER
) STRICT;

CREATE UNIQUE INDEX usage_holds_key ON usage_holds (organization, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE INDEX usage_holds_organization ON usage_holds (organization);

CREATE INDEX usage_holds_active ON usage_holds (organization, expires_at) WHERE status = 'active';

CREATE INDEX usage_holds_expiring ON usage_holds (expires_at) WHERE status = 'active';

CREATE INDEX usage_holds_kept ON usage_holds (kept_until) WHERE kept_until IS NOT NULL;

-- How many active holds an organization has, by the number of its usage.
CREATE TABLE usage_hold_counts (
  organization INTEGER PRIMARY KEY,
  active INTEGER NOT NULL
) STRICT;

CREATE TRIGGER usage_holds_inserted AFTER INSERT ON usage_holds WHEN NEW.status = 'active'
BEGIN
  INSERT INTO usage_hold_counts (organization, active) VALUES (NEW.organization, 1)
    ON CONFLICT DO UPDATE SET active = active + 1
  ; END;

CREATE TRIGGER usage_holds_ended AFTER UPDATE OF status ON usage_holds WHEN OLD.status = 'active' AND NEW.status <> 'active'
BEGIN
  UPDATE usage_hold_counts SET active = active - 1 WHERE organization = NEW.organization
  ; END;

CREATE TRIGGER usage_holds_deleted AFTER DELETE ON usage_holds WHEN OLD.status = 'active'
BEGIN
  UPDATE usage_hold_counts SET active = active - 1 WHERE organization = OLD.organization
  ; END;

-- Within a transaction, and empty after it: requests that may hold or settle, and holds that it ends.
CREATE TABLE usage_hold_requests (
  request INTEGER PRIMARY KEY,
  hold INTEGER
) STRICT;

CREATE TABLE usage_holds_ending (
  hold INTEGER PRIMARY KEY
) STRICT;

-- What all active holds hold, also those that have expired and weren't ended yet.
ALTER TABLE usage_limit_counters ADD COLUMN held_high INTEGER NOT NULL DEFAULT 0;

ALTER TABLE usage_limit_counters ADD COLUMN held_low INTEGER NOT NULL DEFAULT 0;

ALTER TABLE usage_limit_counters ADD COLUMN held_micro INTEGER NOT NULL DEFAULT 0;

-- The request would fit if nothing were held.
ALTER TABLE usage_limit_refused ADD COLUMN is_held INTEGER NOT NULL DEFAULT 0;

-- A series that a hold has taken stays, even without records.
ALTER TABLE usage_series ADD COLUMN is_held INTEGER NOT NULL DEFAULT 0;

-- What organizations may use: plans, overrides of one organization, budgets of keys, and what is counted against them.

-- `requests_per_second` is null while it is that of the setting; 0 is no limit.
CREATE TABLE plans (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL COLLATE NOCASE UNIQUE,
  is_default INTEGER NOT NULL,
  api_keys_max INTEGER NOT NULL,
  members_max INTEGER NOT NULL,
  usage_series_max INTEGER NOT NULL,
  requests_per_second INTEGER,
  created_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX plans_default ON plans (is_default) WHERE is_default = 1;

INSERT INTO plans (number, id, name, is_default, api_keys_max, members_max, usage_series_max, requests_per_second, created_at)
VALUES (1, 'plan_' || lower(hex(randomblob(16))), 'Default', 1, 100, 10000, 10000, NULL, 1000 * unixepoch());

-- The plan of an organization, null once it is deleted, and what it has instead of the plan's values. Its usage counts against its limits from the record
-- after `limits_seq`, at `limits_at`: what was recorded before is read from the rollups.
ALTER TABLE organizations ADD COLUMN plan INTEGER REFERENCES plans (number);

ALTER TABLE organizations ADD COLUMN api_keys_max INTEGER;

ALTER TABLE organizations ADD COLUMN members_max INTEGER;

ALTER TABLE organizations ADD COLUMN usage_series_max INTEGER;

ALTER TABLE organizations ADD COLUMN requests_per_second INTEGER;

ALTER TABLE organizations ADD COLUMN timezone TEXT NOT NULL DEFAULT 'UTC';

ALTER TABLE organizations ADD COLUMN limits_seq INTEGER NOT NULL DEFAULT 0;

ALTER TABLE organizations ADD COLUMN limits_at INTEGER NOT NULL DEFAULT 0;

UPDATE organizations SET plan = 1 WHERE deleted_at IS NULL;

CREATE INDEX organizations_plan ON organizations (plan, number);

CREATE TRIGGER organizations_plan_inserted AFTER INSERT ON organizations WHEN NEW.plan IS NULL BEGIN UPDATE organizations SET plan = (SELECT number FROM plans WHERE is_default = 1) WHERE number = NEW.number; END;

-- A key and those that replaced it are one lineage: the number of the first.
ALTER TABLE api_keys ADD COLUMN lineage INTEGER;

UPDATE api_keys SET lineage = number;

CREATE INDEX api_keys_lineage ON api_keys (lineage);

CREATE TRIGGER api_keys_lineage_inserted AFTER INSERT ON api_keys WHEN NEW.lineage IS NULL BEGIN UPDATE api_keys SET lineage = NEW.number WHERE number = NEW.number; END;

-- A limit of a plan, of one organization, or of a lineage of keys. An empty product or metric stands for all. Without a quantity,
-- an organization has no such limit although its plan has. Numbers are never used again.
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
  mode TEXT NOT NULL CHECK (mode IN ('hard', 'soft')),
  created_seq INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  CHECK ((plan IS NULL) + (organization IS NULL) + (lineage IS NULL) = 2)
) STRICT;

CREATE UNIQUE INDEX usage_limits_plan ON usage_limits (plan, product_slug, metric, per) WHERE plan IS NOT NULL;

CREATE UNIQUE INDEX usage_limits_organization ON usage_limits (organization, product_slug, metric, per) WHERE organization IS NOT NULL;

CREATE UNIQUE INDEX usage_limits_lineage ON usage_limits (lineage, product_slug, metric, per) WHERE lineage IS NOT NULL;

-- What counts against a limit in one window, from the record after `opened_seq`. The sums are as in `usage_rollups`. Until
-- `is_known`, they lack what was recorded before. See `db/meter/limit_windows.ts` for the numbers of windows.
CREATE TABLE usage_limit_counters (
  usage_limit INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  window_number INTEGER NOT NULL,
  sum_high INTEGER NOT NULL,
  sum_low INTEGER NOT NULL,
  sum_micro INTEGER NOT NULL,
  is_known INTEGER NOT NULL,
  opened_seq INTEGER NOT NULL,
  PRIMARY KEY (usage_limit, organization, window_number)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_limit_counters_window ON usage_limit_counters (window_number);

CREATE INDEX usage_limit_counters_organization ON usage_limit_counters (organization);

-- Limits that are gone, until their counters and notices are deleted.
CREATE TABLE usage_limits_removed (number INTEGER PRIMARY KEY) STRICT;

CREATE TRIGGER usage_limits_deleted AFTER DELETE ON usage_limits BEGIN INSERT INTO usage_limits_removed (number) VALUES (OLD.number); END;

-- Within the transaction that records, and empty after it: what its records add to the counters, and which of its requests don't
-- fit into which windows. `at` is a time in the window.
CREATE TABLE usage_limit_added (
  usage_limit INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  window_number INTEGER NOT NULL,
  at INTEGER NOT NULL,
  sum_high INTEGER NOT NULL,
  sum_low INTEGER NOT NULL,
  sum_micro INTEGER NOT NULL,
  PRIMARY KEY (usage_limit, organization, window_number)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage_limit_refused (
  request INTEGER NOT NULL,
  usage_limit INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  window_number INTEGER NOT NULL,
  at INTEGER NOT NULL,
  reason TEXT NOT NULL CHECK (reason IN ('exceeded', 'others', 'unknown')),
  PRIMARY KEY (request, usage_limit, organization, window_number)
) STRICT, WITHOUT ROWID;

-- Counters of minutes and hours that ended before this time are deleted; their usage is read from records and rollups.
ALTER TABLE usage_cursor ADD COLUMN limits_swept_until INTEGER NOT NULL DEFAULT 0;

-- What people are told about a limit of an organization, once for each window: 80 % are used, 100 % are, or a request was refused.
-- Of minutes and hours, once a day: the window is the day then.
CREATE TABLE usage_limit_notices (
  usage_limit INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  window_number INTEGER NOT NULL,
  level TEXT NOT NULL CHECK (level IN ('near', 'reached', 'refused')),
  at INTEGER NOT NULL,
  noted_at INTEGER NOT NULL,
  mailed_at INTEGER,
  PRIMARY KEY (usage_limit, organization, window_number, level)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_limit_notices_waiting ON usage_limit_notices (noted_at) WHERE mailed_at IS NULL;

CREATE INDEX usage_limit_notices_organization ON usage_limit_notices (organization, noted_at);

CREATE INDEX usage_limit_notices_noted ON usage_limit_notices (noted_at);

-- By how much the clocks of a time zone are ahead of UTC from a moment on, in milliseconds. UTC has no rows.
CREATE TABLE timezone_offsets (
  timezone TEXT NOT NULL,
  since INTEGER NOT NULL,
  ahead INTEGER NOT NULL,
  PRIMARY KEY (timezone, since)
) STRICT, WITHOUT ROWID;

-- Whether the user gets emails about limits of organizations.
ALTER TABLE users ADD COLUMN limit_emails INTEGER NOT NULL DEFAULT 1;

-- Counts changes of how many requests per second organizations may make, so that servers notice that what they remember is outdated.
ALTER TABLE usage_cursor ADD COLUMN rates_version INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER plans_rate_changed AFTER UPDATE OF requests_per_second ON plans WHEN NEW.requests_per_second IS NOT OLD.requests_per_second BEGIN UPDATE usage_cursor SET rates_version = rates_version + 1; END;

CREATE TRIGGER organizations_rate_changed AFTER UPDATE OF plan, requests_per_second ON organizations WHEN NEW.requests_per_second IS NOT OLD.requests_per_second OR (OLD.plan IS NOT NULL AND NEW.plan IS NOT OLD.plan) BEGIN UPDATE usage_cursor SET rates_version = rates_version + 1; END;

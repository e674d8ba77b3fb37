-- Events, the endpoints that receive them, and what is delivered to them.

-- What happened, written in the transaction in which it did. `facts` is JSON of that moment; an event's payload is made of it.
CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  type TEXT NOT NULL,
  organization INTEGER,
  at INTEGER NOT NULL,
  facts TEXT NOT NULL,
  webhook INTEGER
) STRICT;

CREATE INDEX events_organization ON events (organization, webhook, type, at);

CREATE INDEX events_type ON events (type, at) WHERE webhook IS NULL;

-- An endpoint of an organization; of operators if `organization` is 0. It gets events after `since_seq`. `turn_at` is when its next delivery may be due,
-- or later if all of its requests are in progress. `is_slow`: its last attempt failed or took long. `waiting`: its deliveries with this status.
CREATE TABLE webhooks (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  organization INTEGER NOT NULL,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  description TEXT NOT NULL,
  secret TEXT NOT NULL,
  old_secret TEXT,
  old_secret_until INTEGER,
  disabled_at INTEGER,
  disabled_reason TEXT CHECK (disabled_reason IN ('manual', 'failing', 'gone')),
  failing_since INTEGER,
  failures INTEGER NOT NULL DEFAULT 0,
  last_delivered_at INTEGER,
  turn_at INTEGER,
  is_slow INTEGER NOT NULL DEFAULT 0,
  waiting INTEGER NOT NULL DEFAULT 0,
  since_seq INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT,
  created_by_name TEXT,
  deleted_at INTEGER
) STRICT;

CREATE INDEX webhooks_organization ON webhooks (organization, number) WHERE deleted_at IS NULL;

CREATE INDEX webhooks_turn ON webhooks (is_slow, turn_at) WHERE turn_at IS NOT NULL;

CREATE INDEX webhooks_overflowing ON webhooks (number) WHERE waiting > 10000;

CREATE INDEX webhooks_to_hold ON webhooks (number) WHERE waiting > 0 AND disabled_at IS NOT NULL;

CREATE INDEX webhooks_old_secret ON webhooks (old_secret_until) WHERE old_secret_until IS NOT NULL;

CREATE INDEX webhooks_deleted ON webhooks (number) WHERE deleted_at IS NOT NULL;

-- An event for one endpoint. `type` is that of the event. `attempts` counts those of the current run of the schedule. While it is leased, a server sends it until `due_at`.
CREATE TABLE webhook_deliveries (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  webhook INTEGER NOT NULL,
  event INTEGER NOT NULL,
  type TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('waiting', 'delivered', 'failed', 'held')),
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL,
  is_leased INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  ended_at INTEGER,
  code TEXT,
  response_status INTEGER,
  UNIQUE (webhook, event)
) STRICT;

CREATE INDEX webhook_deliveries_webhook ON webhook_deliveries (webhook, status, type, created_at);

CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook, due_at) WHERE status = 'waiting';

CREATE INDEX webhook_deliveries_leased ON webhook_deliveries (webhook) WHERE is_leased = 1;

CREATE INDEX webhook_deliveries_oldest ON webhook_deliveries (webhook, number) WHERE status = 'waiting';

CREATE TRIGGER webhook_deliveries_added AFTER INSERT ON webhook_deliveries WHEN NEW.status = 'waiting'
BEGIN
  UPDATE webhooks SET waiting = waiting + 1, turn_at = min(coalesce(turn_at, NEW.due_at), NEW.due_at) WHERE number = NEW.webhook
  ; END;

CREATE TRIGGER webhook_deliveries_replayed AFTER UPDATE OF status ON webhook_deliveries WHEN OLD.status <> 'waiting' AND NEW.status = 'waiting'
BEGIN
  UPDATE webhooks SET waiting = waiting + 1, turn_at = min(coalesce(turn_at, NEW.due_at), NEW.due_at) WHERE number = NEW.webhook
  ; END;

CREATE TRIGGER webhook_deliveries_ended AFTER UPDATE OF status ON webhook_deliveries WHEN OLD.status = 'waiting' AND NEW.status <> 'waiting'
BEGIN
  UPDATE webhooks SET waiting = waiting - 1 WHERE number = NEW.webhook
  ; END;

CREATE TRIGGER webhook_deliveries_deleted AFTER DELETE ON webhook_deliveries WHEN OLD.status = 'waiting'
BEGIN
  UPDATE webhooks SET waiting = waiting - 1 WHERE number = OLD.webhook
  ; END;

-- Every attempt to send a delivery: the status of the response, or the code of the fault.
CREATE TABLE webhook_attempts (
  delivery INTEGER NOT NULL,
  at INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  code TEXT,
  response_status INTEGER,
  PRIMARY KEY (delivery, at)
) STRICT, WITHOUT ROWID;

-- Attempts to reach an endpoint on a day of UTC, counted in days since 1970.
CREATE TABLE webhook_days (
  webhook INTEGER NOT NULL,
  day INTEGER NOT NULL,
  succeeded INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  PRIMARY KEY (webhook, day)
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_days_day ON webhook_days (day);

-- How far the background work has come: deliveries exist for events up to `delivered_seq`; of keys that expire in seven days and in one, those up
-- to these have events; 0 before the first server has started.
CREATE TABLE event_cursor (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  delivered_seq INTEGER NOT NULL,
  week_expires_at INTEGER NOT NULL,
  week_key INTEGER NOT NULL,
  day_expires_at INTEGER NOT NULL,
  day_key INTEGER NOT NULL
) STRICT;

INSERT INTO event_cursor VALUES (1, 0, 0, 0, 0, 0);

CREATE INDEX api_keys_expiring ON api_keys (expires_at, number) WHERE expires_at IS NOT NULL AND revoked_at IS NULL;

-- Changes that the audit log has an entry of are events too. The id of the event is that of the entry. Entries name some members by email address.
CREATE TRIGGER audit_events_told AFTER INSERT ON audit_events WHEN NEW.action IN ('api_key.created', 'api_key.rotated', 'api_key.revoked',
  'member.joined', 'member.removed', 'member.left', 'organization.created', 'organization.plan_changed', 'organization.suspended',
  'organization.resumed', 'organization.deleted')
BEGIN
  INSERT INTO events (id, type, organization, at, facts)
  SELECT 'evt_' || substr(NEW.id, 5),
    CASE NEW.action WHEN 'member.joined' THEN 'member.added' WHEN 'member.left' THEN 'member.removed' ELSE NEW.action END,
    o.number, NEW.at, json_object(
      'organization', CASE WHEN o.number IS NULL THEN NULL ELSE json_object('id', o.id, 'externalId', o.external_id, 'name', o.name) END,
      'target', json_object('id', NEW.target_id, 'name',
        CASE WHEN NEW.action GLOB 'member.*' THEN (SELECT u.name FROM users u WHERE u.id = NEW.target_id) ELSE NEW.target_name END),
      'actor', json_object('type', NEW.actor_type, 'id', NEW.actor_id, 'name', NEW.actor_name),
      'details', json(NEW.details),
      'expiresAt', (SELECT k.expires_at FROM api_keys k WHERE k.id = NEW.target_id),
      'plan', CASE NEW.action WHEN 'organization.plan_changed' THEN
        (SELECT json_object('id', p.id, 'name', p.name) FROM plans p WHERE p.number = o.plan) END)
  FROM (SELECT 1) LEFT JOIN organizations o ON o.id = NEW.organization_id
  ; END;

-- A closed month is an event once all of its lines are written. Its audit entry is older, and says who closed it.
CREATE TRIGGER statements_told AFTER UPDATE OF status ON statements WHEN NEW.status = 'closed' AND OLD.status = 'closing'
BEGIN
  INSERT INTO events (id, type, at, facts)
  SELECT 'evt_' || printf('%012x7', NEW.closed_at) || substr(lower(hex(randomblob(10))), 2), 'statement.closed', NEW.closed_at, json_object(
    'target', json_object('id', NEW.id, 'name', NEW.period),
    'actor', (SELECT json_object('type', a.actor_type, 'id', a.actor_id, 'name', a.actor_name) FROM audit_events a
      WHERE a.organization_id IS NULL AND a.target_id = NEW.id AND a.action = 'statement.closed'))
  ; END;

-- Limits are notified about at percentages, a JSON array in ascending order; null: 80 and 100. A limit with `alert_of` is an alert of that organization:
-- it never rejects. With `alert_lineage` it counts the usage of a lineage of keys.
CREATE TABLE usage_limits_next (
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
  notify_at TEXT,
  alert_of INTEGER,
  alert_lineage INTEGER,
  CHECK ((plan IS NULL) + (organization IS NULL) + (lineage IS NULL) + (alert_of IS NULL) = 3)
) STRICT;

INSERT INTO sqlite_sequence (name, seq) SELECT 'usage_limits_next', seq FROM sqlite_sequence WHERE name = 'usage_limits';

INSERT INTO usage_limits_next (number, id, plan, organization, lineage, product_slug, metric, per, quantity_whole, quantity_micro, mode, created_seq, created_at)
SELECT number, id, plan, organization, lineage, product_slug, metric, per, quantity_whole, quantity_micro, mode, created_seq, created_at FROM usage_limits;

DROP TABLE usage_limits;

ALTER TABLE usage_limits_next RENAME TO usage_limits;

CREATE UNIQUE INDEX usage_limits_plan ON usage_limits (plan, product_slug, metric, per) WHERE plan IS NOT NULL;

CREATE UNIQUE INDEX usage_limits_organization ON usage_limits (organization, product_slug, metric, per) WHERE organization IS NOT NULL;

CREATE UNIQUE INDEX usage_limits_lineage ON usage_limits (lineage, product_slug, metric, per) WHERE lineage IS NOT NULL;

CREATE INDEX usage_limits_alert ON usage_limits (alert_of, number) WHERE alert_of IS NOT NULL;

-- What is told of a removed limit when it is cleared.
ALTER TABLE usage_limits_removed ADD COLUMN facts TEXT;

CREATE TRIGGER usage_limits_deleted AFTER DELETE ON usage_limits
BEGIN
  INSERT INTO usage_limits_removed (number, facts) VALUES (OLD.number, json_object('id', OLD.id,
    'productSlug', nullif(OLD.product_slug, ''), 'metric', nullif(OLD.metric, ''), 'per', OLD.per, 'mode', OLD.mode,
    'isAlert', OLD.alert_of IS NOT NULL, 'whole', OLD.quantity_whole, 'micro', OLD.quantity_micro,
    'lineage', coalesce(OLD.lineage, OLD.alert_lineage)))
  ; END;

-- What people and endpoints are told about a limit, once for each window and percentage. Of minutes and hours, once a day: the window is the day then.
-- Takes the place of `usage_limit_notices`, which only servers of the version before write. `used`: the parts of the sum, as JSON.
CREATE TABLE limit_notices (
  usage_limit INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  window_number INTEGER NOT NULL,
  percent INTEGER NOT NULL,
  is_refusal INTEGER NOT NULL,
  used TEXT NOT NULL,
  at INTEGER NOT NULL,
  noted_at INTEGER NOT NULL,
  mailed_at INTEGER,
  PRIMARY KEY (usage_limit, organization, window_number, percent)
) STRICT, WITHOUT ROWID;

CREATE INDEX limit_notices_waiting ON limit_notices (noted_at) WHERE mailed_at IS NULL;

CREATE INDEX limit_notices_organization ON limit_notices (organization, noted_at);

CREATE INDEX limit_notices_noted ON limit_notices (noted_at);

CREATE INDEX limit_notices_window ON limit_notices (window_number, organization);

INSERT INTO limit_notices (usage_limit, organization, window_number, percent, is_refusal, used, at, noted_at, mailed_at)
SELECT usage_limit, organization, window_number, iif(level = 'near', 80, 100), min(level = 'refused'), '[0,0,0]', min(at), min(noted_at), max(mailed_at)
FROM usage_limit_notices GROUP BY usage_limit, organization, window_number, level = 'near';

CREATE TRIGGER limit_notices_told AFTER INSERT ON limit_notices
BEGIN
  INSERT INTO events (id, type, organization, at, facts)
  SELECT 'evt_' || printf('%012x7', NEW.noted_at) || substr(lower(hex(randomblob(10))), 2),
    CASE WHEN NEW.percent < 100 THEN 'limit.approaching' WHEN l.mode = 'hard' THEN 'limit.reached' ELSE 'limit.exceeded' END,
    o.number, NEW.noted_at, json_object(
      'organization', json_object('id', o.id, 'externalId', o.external_id, 'name', o.name),
      'limit', json_object('id', l.id, 'productSlug', nullif(l.product_slug, ''), 'metric', nullif(l.metric, ''), 'per', l.per, 'mode', l.mode,
        'isAlert', l.alert_of IS NOT NULL, 'whole', l.quantity_whole, 'micro', l.quantity_micro,
        'apiKey', (SELECT json_object('id', k.id, 'name', k.name) FROM api_keys k WHERE k.number =
          (SELECT max(g.number) FROM api_keys g WHERE g.lineage = coalesce(l.lineage, l.alert_lineage)))),
      'used', json(NEW.used), 'percent', NEW.percent, 'isRefusal', NEW.is_refusal = 1, 'usedAt', NEW.at, 'timezone', o.timezone)
  FROM usage_limits l CROSS JOIN organizations o ON o.number = NEW.organization WHERE l.number = NEW.usage_limit
  ; END;

-- Organizations in which limits were changed, so that those that were reached and are not anymore are found: one, or those of a plan. All before
-- `next_organization` were checked, and of this one the limits up to `next_limit`. Those that haven't begun are there once.
CREATE TABLE limit_rechecks (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  organization INTEGER,
  plan INTEGER,
  next_organization INTEGER NOT NULL DEFAULT 0,
  next_limit INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE UNIQUE INDEX limit_rechecks_organization ON limit_rechecks (organization) WHERE next_organization = 0 AND next_limit = 0;

CREATE UNIQUE INDEX limit_rechecks_plan ON limit_rechecks (plan) WHERE next_organization = 0 AND next_limit = 0;

-- How events of gateways become usage records. An empty `source` stands for any. `metrics` and `properties` are JSON, as in
-- domain/meter/event_mapping.ts.
CREATE TABLE event_mappings (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  type TEXT NOT NULL,
  source TEXT NOT NULL,
  metrics TEXT NOT NULL,
  properties TEXT NOT NULL,
  subject TEXT,
  created_at INTEGER NOT NULL,
  UNIQUE (type, source)
) STRICT;

-- Subjects of events that don't name an organization. `organization` is its number, `api_key` that of a key of it, if an operator has
-- assigned the subject. `kept` is how many events are in `kept_events`, `lost` how many were not kept because there were too many.
CREATE TABLE event_subjects (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  subject TEXT NOT NULL UNIQUE,
  organization INTEGER,
  api_key INTEGER,
  assigned_at INTEGER,
  first_at INTEGER,
  last_at INTEGER,
  kept INTEGER NOT NULL DEFAULT 0,
  lost INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX event_subjects_organization ON event_subjects (organization) WHERE organization IS NOT NULL;

CREATE INDEX event_subjects_over ON event_subjects (last_at) WHERE organization IS NULL AND kept = 0;

CREATE INDEX event_subjects_due ON event_subjects (number) WHERE organization IS NOT NULL AND kept > 0;

-- Events with an unknown subject. `hash` is that of their source and id.
CREATE TABLE kept_events (
  number INTEGER PRIMARY KEY,
  subject INTEGER NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  event TEXT NOT NULL,
  received_at INTEGER NOT NULL
) STRICT;

CREATE INDEX kept_events_subject ON kept_events (subject);

CREATE INDEX kept_events_received ON kept_events (received_at);

-- `lost`: events of subjects that have no row, because there were too many in all.
CREATE TABLE kept_event_count (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  kept INTEGER NOT NULL,
  lost INTEGER NOT NULL
) STRICT;

INSERT INTO kept_event_count (only_row, kept, lost) VALUES (1, 0, 0);

CREATE TRIGGER kept_events_inserted AFTER INSERT ON kept_events
BEGIN
  UPDATE event_subjects SET kept = kept + 1 WHERE number = NEW.subject
  ; UPDATE kept_event_count SET kept = kept + 1
  ; END;

CREATE TRIGGER kept_events_deleted AFTER DELETE ON kept_events
BEGIN
  UPDATE event_subjects SET kept = kept - 1 WHERE number = OLD.subject
  ; UPDATE kept_event_count SET kept = kept - 1
  ; END;

-- The last events that were not recorded, without their data.
CREATE TABLE event_faults (
  number INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  source TEXT NOT NULL,
  event_id TEXT NOT NULL,
  subject TEXT,
  code TEXT NOT NULL,
  path TEXT NOT NULL,
  message TEXT NOT NULL
) STRICT;

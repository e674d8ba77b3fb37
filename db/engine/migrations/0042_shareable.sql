-- The properties whose values events about limits per value may name, as a JSON list.
ALTER TABLE product_metrics ADD COLUMN shareable TEXT NOT NULL DEFAULT '[]';

-- Not used anymore.
DROP TABLE usage_limit_notices;

-- A notice may be about a value. A primary key can't be changed, so the table is made again, without renaming it, which would break the
-- trigger that names it.
CREATE TABLE limit_notices_before AS SELECT * FROM limit_notices;

DROP TABLE limit_notices;

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
  -- The quantity of the limit at that moment. A limit that rejected a request has no more room until it is raised or less is used.
  quantity_whole INTEGER,
  quantity_micro INTEGER,
  -- The value that the event names; empty if it names none.
  value TEXT NOT NULL DEFAULT '',
  -- 1 if another value of the window causes the emails.
  is_quiet INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (usage_limit, organization, window_number, value, percent)
) STRICT, WITHOUT ROWID;

INSERT INTO limit_notices (usage_limit, organization, window_number, percent, is_refusal, used, at, noted_at, mailed_at, quantity_whole,
  quantity_micro)
SELECT usage_limit, organization, window_number, percent, is_refusal, used, at, noted_at, mailed_at, quantity_whole, quantity_micro
FROM limit_notices_before;

DROP TABLE limit_notices_before;

CREATE INDEX limit_notices_waiting ON limit_notices (noted_at) WHERE mailed_at IS NULL;

CREATE INDEX limit_notices_organization ON limit_notices (organization, noted_at);

CREATE INDEX limit_notices_noted ON limit_notices (noted_at);

-- Operators list organizations that are close to a limit or have reached it in a current window.
CREATE INDEX limit_notices_window ON limit_notices (window_number, organization);

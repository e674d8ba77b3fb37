-- How many requests with an API key had an outcome in an hour since 1970, by the outcome's position in `domain/meter/outcome.ts`. Writes go
-- to the end of the table and deletions to its start. An organization is read hour by hour.
CREATE TABLE api_key_outcomes (
  hour INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  api_key INTEGER NOT NULL,
  outcome INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (hour, organization, api_key, outcome)
) STRICT, WITHOUT ROWID;

-- The last rejections of each key. `rejecting_limit` is JSON.
CREATE TABLE api_key_rejections (
  at INTEGER NOT NULL,
  request_id TEXT NOT NULL,
  organization INTEGER NOT NULL,
  api_key INTEGER NOT NULL,
  outcome INTEGER NOT NULL,
  message TEXT,
  rejecting_limit TEXT,
  PRIMARY KEY (at, request_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX api_key_rejections_key ON api_key_rejections (api_key, at, request_id);

CREATE INDEX api_key_rejections_organization ON api_key_rejections (organization, at, request_id);

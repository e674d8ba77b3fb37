-- Metrics that are counted otherwise than by the sum of their quantities; those without a row are sums. `property` is that of 'unique'.
-- `unfilled_seq` and `complete_since` are as in `usage_dimensions`. The numbers of those that are replaced are not used again, and their
-- rows in the tables below are deleted.
CREATE TABLE usage_aggregations (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  product TEXT NOT NULL,
  metric TEXT NOT NULL,
  aggregation TEXT NOT NULL,
  property TEXT,
  unfilled_seq INTEGER NOT NULL,
  complete_since INTEGER,
  removed_at INTEGER
) STRICT;

CREATE UNIQUE INDEX usage_aggregations_live ON usage_aggregations (product, metric) WHERE removed_at IS NULL;

-- The latest record of a series in a quarter of an hour, by its timestamp, then by its position. If it is unknown, because the latest was
-- voided after retention had deleted others, the timestamp is the end of the quarter and `seq` is 0.
CREATE TABLE usage_latest (
  aggregation INTEGER NOT NULL,
  series INTEGER NOT NULL,
  quarter INTEGER NOT NULL,
  timestamp INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  quantity_whole INTEGER NOT NULL,
  quantity_micro INTEGER NOT NULL,
  PRIMARY KEY (aggregation, series, quarter)
) STRICT, WITHOUT ROWID;

-- The distinct values of an organization in a calendar month of UTC, by the number of its live or test usage.
CREATE TABLE usage_unique_values (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  aggregation INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  month INTEGER NOT NULL,
  value TEXT NOT NULL,
  UNIQUE (aggregation, organization, month, value)
) STRICT;

-- The number of values that a month has, and the records of those that it had no room for.
CREATE TABLE usage_unique_limits (
  aggregation INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  month INTEGER NOT NULL,
  known INTEGER NOT NULL,
  others INTEGER NOT NULL,
  PRIMARY KEY (aggregation, organization, month)
) STRICT, WITHOUT ROWID;

-- The records of a series with a value, by quarter of an hour and by month.
CREATE TABLE usage_unique_quarters (
  aggregation INTEGER NOT NULL,
  series INTEGER NOT NULL,
  quarter INTEGER NOT NULL,
  value INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (aggregation, series, quarter, value)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage_unique_months (
  aggregation INTEGER NOT NULL,
  series INTEGER NOT NULL,
  month INTEGER NOT NULL,
  value INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (aggregation, series, month, value)
) STRICT, WITHOUT ROWID;

-- What a group of records adds to them, within its transaction; empty after it.
CREATE TABLE usage_unique_added (
  aggregation INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  series INTEGER NOT NULL,
  month INTEGER NOT NULL,
  quarter INTEGER NOT NULL,
  value TEXT NOT NULL,
  value_number INTEGER,
  is_new INTEGER NOT NULL DEFAULT 0,
  first_seq INTEGER NOT NULL,
  count INTEGER NOT NULL
) STRICT;

ALTER TABLE statement_lines ADD COLUMN aggregation TEXT NOT NULL DEFAULT 'sum';

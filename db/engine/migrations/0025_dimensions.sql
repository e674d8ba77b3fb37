-- Dimensions of metrics: usage by the values of up to three properties. `names` is the JSON list of the properties in order, as in the
-- columns. Records up to `unfilled_seq` are not in the sums yet; `complete_since` is the time from which all usage is, null for all time.
-- A dimension that was removed from the catalogue stays until its sums are deleted.
CREATE TABLE usage_dimensions (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  product TEXT NOT NULL,
  metric TEXT NOT NULL,
  names TEXT NOT NULL,
  name_1 TEXT NOT NULL,
  name_2 TEXT,
  name_3 TEXT,
  unfilled_seq INTEGER NOT NULL,
  complete_since INTEGER,
  removed_at INTEGER
) STRICT;

CREATE UNIQUE INDEX usage_dimensions_live ON usage_dimensions (product, metric, names) WHERE removed_at IS NULL;

-- The values of a dimension in a calendar month of UTC, by the number of the organization's live or test usage: JSON lists. The first ones
-- stand for themselves; an empty text stands for all others of the month.
CREATE TABLE usage_dimension_values (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  organization INTEGER NOT NULL,
  dimension INTEGER NOT NULL,
  month INTEGER NOT NULL,
  value TEXT NOT NULL,
  UNIQUE (organization, dimension, month, value)
) STRICT;

CREATE INDEX usage_dimension_values_dimension ON usage_dimension_values (dimension);

-- The sums of a value in a series. In the tables of rollups they have the negative id as their series, and by the month the organization
-- -4294967296, below those of all usage.
CREATE TABLE usage_dimension_series (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  value INTEGER NOT NULL,
  series INTEGER NOT NULL,
  UNIQUE (value, series)
) STRICT;

CREATE INDEX usage_dimension_series_series ON usage_dimension_series (series);

-- What a group of records adds to the sums of values, within its transaction; empty after it. `first_seq` is the first record with the
-- value; `value_number` is that of the row it counts in.
CREATE TABLE usage_dimension_added (
  dimension INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  series INTEGER NOT NULL,
  month INTEGER NOT NULL,
  quarter INTEGER NOT NULL,
  value TEXT NOT NULL,
  value_number INTEGER,
  first_seq INTEGER NOT NULL,
  count INTEGER NOT NULL,
  sum_high INTEGER NOT NULL,
  sum_low INTEGER NOT NULL,
  sum_micro INTEGER NOT NULL,
  smallest ANY NOT NULL,
  largest ANY NOT NULL
) STRICT;

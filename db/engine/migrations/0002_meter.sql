-- The meter. A record is named by its place in the order of recording, `seq`; its public id is made of that and of the time, and
-- stands nowhere. A record costs no look-up and no page of its own but those of its table and of one index in order of time.
CREATE TABLE usage_records_next (
  seq INTEGER PRIMARY KEY,
  organization INTEGER NOT NULL,
  series INTEGER NOT NULL,
  timestamp INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL,
  quantity_whole INTEGER NOT NULL,
  quantity_micro INTEGER NOT NULL,
  idempotency_key TEXT,
  properties TEXT
) STRICT;

INSERT INTO usage_records_next
SELECT seq, organization, series, timestamp, recorded_at, quantity_whole, quantity_micro, idempotency_key, properties
FROM usage_records;

DROP TABLE usage_records;

ALTER TABLE usage_records_next RENAME TO usage_records;

CREATE INDEX usage_records_timestamp ON usage_records (organization, timestamp, series);

-- Records that do not count any more. They stay in the table, and their idempotency keys stay taken.
CREATE TABLE usage_voids (
  seq INTEGER PRIMARY KEY,
  voided_at INTEGER NOT NULL,
  voided_by TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;

-- Idempotency keys by 48 bits of their hash. Random keys in one big index would write a page for each record: new ones go into
-- a small index, and move on in order of their hashes, a few with every commit, so that neighbours are written together.
-- Two keys with one hash stand side by side; the record itself says which key it has. Records made before this migration, by
-- versions that were never released, are not in it: their keys are free again.
CREATE TABLE usage_keys_recent (
  hash INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (hash, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage_keys_middle (
  hash INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (hash, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage_keys_settled (
  hash INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (hash, seq)
) STRICT, WITHOUT ROWID;

-- Up to which hash the round that runs has moved keys on, or has cleaned the settled ones of records that were deleted.
ALTER TABLE usage_cursor ADD COLUMN recent_moved INTEGER NOT NULL DEFAULT 0;

ALTER TABLE usage_cursor ADD COLUMN middle_moved INTEGER NOT NULL DEFAULT 0;

ALTER TABLE usage_cursor ADD COLUMN settled_cleaned INTEGER NOT NULL DEFAULT 0;

-- Smallest and largest are in millionths: integers, or where 64 bits do not hold them texts of 22 digits, which SQLite
-- sorts after every integer. A rollup whose records are all voided stays with a count of 0, and its other numbers mean nothing.
CREATE TABLE usage_rollups_next (
  series INTEGER NOT NULL,
  quarter INTEGER NOT NULL,
  count INTEGER NOT NULL,
  sum_high INTEGER NOT NULL,
  sum_low INTEGER NOT NULL,
  sum_micro INTEGER NOT NULL,
  smallest ANY NOT NULL,
  largest ANY NOT NULL,
  PRIMARY KEY (series, quarter)
) STRICT, WITHOUT ROWID;

INSERT INTO usage_rollups_next
SELECT series, quarter, count, sum_high, sum_low, sum_micro,
  iif(smallest < '0009000000000000000000', CAST(smallest AS INTEGER), smallest),
  iif(largest < '0009000000000000000000', CAST(largest AS INTEGER), largest)
FROM usage_rollups;

DROP TABLE usage_rollups;

ALTER TABLE usage_rollups_next RENAME TO usage_rollups;

-- The same by the hour: what is longer than an hour is read from here, a quarter of the rows.
CREATE TABLE usage_rollups_hourly (
  series INTEGER NOT NULL,
  hour INTEGER NOT NULL,
  count INTEGER NOT NULL,
  sum_high INTEGER NOT NULL,
  sum_low INTEGER NOT NULL,
  sum_micro INTEGER NOT NULL,
  smallest ANY NOT NULL,
  largest ANY NOT NULL,
  PRIMARY KEY (series, hour)
) STRICT, WITHOUT ROWID;

INSERT INTO usage_rollups_hourly
SELECT series, quarter / 4, sum(count), sum(sum_high), sum(sum_low), sum(sum_micro), min(smallest), max(largest)
FROM usage_rollups GROUP BY 1, 2;

-- What a group of records adds to the rollups, within the transaction that records them; empty after it.
CREATE TABLE usage_added (
  series INTEGER NOT NULL,
  quarter INTEGER NOT NULL,
  count INTEGER NOT NULL,
  sum_high INTEGER NOT NULL,
  sum_low INTEGER NOT NULL,
  sum_micro INTEGER NOT NULL,
  smallest ANY NOT NULL,
  largest ANY NOT NULL
) STRICT;

-- A statement closes a month for all organizations. Numbers count up in the order of the months, without gaps; the month is the
-- time from `start_at` to `end_at`, which begins where the month before it ended. `progress` is the number of the last organization
-- whose lines are written, while the status is 'closing'.
CREATE TABLE statements (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  period TEXT NOT NULL UNIQUE,
  timezone TEXT NOT NULL,
  start_at INTEGER NOT NULL UNIQUE,
  end_at INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('closing', 'closed')),
  progress INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  closed_at INTEGER
) STRICT;

-- What a statement charges an organization for: the month itself (`months_back` 0), or what changed in an earlier one since that was
-- closed. The sum is (high * 2^26 + low) + micro / 10^6, as in the rollups, and may be negative. Names are those of the day of closing.
CREATE TABLE statement_lines (
  statement INTEGER NOT NULL,
  organization_id TEXT NOT NULL,
  months_back INTEGER NOT NULL,
  product_slug TEXT NOT NULL,
  metric TEXT NOT NULL,
  count INTEGER NOT NULL,
  sum_high INTEGER NOT NULL,
  sum_low INTEGER NOT NULL,
  sum_micro INTEGER NOT NULL,
  organization_name TEXT NOT NULL,
  external_id TEXT,
  product_name TEXT,
  metric_name TEXT,
  unit TEXT,
  PRIMARY KEY (statement, organization_id, months_back, product_slug, metric)
) STRICT, WITHOUT ROWID;

-- An organization in which something was recorded or voided in a month that was closed or being closed: `month` is the number of
-- that month's statement, `latest` that of the newest statement at the time. The next statement compares its sums with the lines.
CREATE TABLE statement_changes (
  organization INTEGER NOT NULL,
  month INTEGER NOT NULL,
  latest INTEGER NOT NULL,
  PRIMARY KEY (organization, month, latest)
) STRICT, WITHOUT ROWID;

-- When the sums of a deleted organization began to be deleted; no statement has lines of it from then on.
ALTER TABLE organizations ADD COLUMN sums_deleted_at INTEGER;

-- A closed statement never changes.
CREATE TRIGGER statements_updated BEFORE UPDATE ON statements WHEN OLD.status = 'closed' BEGIN SELECT RAISE(ABORT, 'a closed statement never changes'); END;

CREATE TRIGGER statements_deleted BEFORE DELETE ON statements BEGIN SELECT RAISE(ABORT, 'a statement is never deleted'); END;

CREATE TRIGGER statement_lines_inserted BEFORE INSERT ON statement_lines WHEN (SELECT status FROM statements WHERE number = NEW.statement) IS NOT 'closing' BEGIN SELECT RAISE(ABORT, 'a closed statement never changes'); END;

CREATE TRIGGER statement_lines_updated BEFORE UPDATE ON statement_lines BEGIN SELECT RAISE(ABORT, 'a line never changes'); END;

CREATE TRIGGER statement_lines_deleted BEFORE DELETE ON statement_lines BEGIN SELECT RAISE(ABORT, 'a line is never deleted'); END;

-- Reports of leaked keys, and emails about keys that nobody uses.

-- When a key was last reported as leaked.
ALTER TABLE api_keys ADD COLUMN leaked_at INTEGER;

-- 0 for people who turned off the monthly email about unused keys.
ALTER TABLE users ADD COLUMN unused_key_emails INTEGER NOT NULL DEFAULT 1;

-- How far the search for unused keys has come: in this month of UTC, up to this key; the largest number when it is complete. `reported_at` is when
-- a key was last reported as leaked, known or not: every report writes it, so that a report of an unknown key costs as much as any other.
CREATE TABLE key_reminder_cursor (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  month TEXT NOT NULL,
  key INTEGER NOT NULL,
  reported_at INTEGER NOT NULL
) STRICT;

INSERT INTO key_reminder_cursor VALUES (1, '', 9007199254740991, 0);

-- Organizations whose unused keys this month's search has found. `names`: some of them, as a JSON array. Empty once the emails are written.
CREATE TABLE unused_key_reminders (
  organization INTEGER PRIMARY KEY,
  keys INTEGER NOT NULL,
  names TEXT NOT NULL
) STRICT;

-- Emails about limits are made of their events, up to `mailed_seq`: those before the first notice without emails have theirs.
ALTER TABLE event_cursor ADD COLUMN mailed_seq INTEGER NOT NULL DEFAULT 0;

UPDATE event_cursor SET mailed_seq = coalesce(
  (SELECT min(seq) - 1 FROM events WHERE type IN ('limit.approaching', 'limit.reached', 'limit.exceeded')
    AND at >= (SELECT min(noted_at) FROM limit_notices WHERE mailed_at IS NULL)),
  (SELECT max(seq) FROM events), 0);

-- The recorder writes the event of a notice, not a trigger. `mailed_at` is null until then, which servers of the version before rely on, too.
UPDATE limit_notices SET mailed_at = noted_at WHERE mailed_at IS NULL;

DROP TRIGGER limit_notices_told;

-- The search for unused keys reads organizations: `key` is the number of the last one. It begins again, or goes on with those whose emails are waiting.
UPDATE key_reminder_cursor SET key = iif(key < 9007199254740991, 0,
  coalesce((SELECT min(organization) - 1 FROM unused_key_reminders), 9007199254740991));

DROP TABLE unused_key_reminders;

-- A key has the time of its next event and email before it expires. Cursors of all keys had it before.
ALTER TABLE api_keys ADD COLUMN remind_at INTEGER;

UPDATE api_keys SET remind_at = CASE
  WHEN (expires_at, number) > (SELECT week_expires_at, week_key FROM event_cursor) THEN expires_at - 604800000
  WHEN (expires_at, number) > (SELECT day_expires_at, day_key FROM event_cursor) THEN expires_at - 86400000 END
WHERE expires_at IS NOT NULL AND revoked_at IS NULL;

CREATE INDEX api_keys_remind ON api_keys (remind_at) WHERE remind_at IS NOT NULL;

DROP INDEX api_keys_expiring;

ALTER TABLE event_cursor DROP COLUMN week_expires_at;

ALTER TABLE event_cursor DROP COLUMN week_key;

ALTER TABLE event_cursor DROP COLUMN day_expires_at;

ALTER TABLE event_cursor DROP COLUMN day_key;

-- Wrong codes of an authenticator app since the last right one or the last new password, and since when no more are taken.
ALTER TABLE totp ADD COLUMN wrong_codes INTEGER NOT NULL DEFAULT 0;

ALTER TABLE totp ADD COLUMN locked_at INTEGER;

-- Emails that one recipient gets, by kind and window: the limit holds across senders and servers. `subject` is the SHA-256 of
-- the kind and the address; no address is stored here.
CREATE TABLE mail_budgets (
  subject TEXT PRIMARY KEY,
  mails INTEGER NOT NULL,
  ends_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX mail_budgets_ends_at ON mail_budgets (ends_at);

-- The key of the permutation that hides, in the ids of records, how many there are: 96 random bits in hexadecimal. Every
-- server on this database uses the same one.
CREATE TABLE record_id_key (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  key TEXT NOT NULL
) STRICT;

INSERT INTO record_id_key (id, key) VALUES (1, lower(hex(randomblob(12))));

-- A link that turns two-step sign-in off, for people who lost both the device and the recovery codes.
CREATE TABLE link_tokens_new (
  token_hash TEXT PRIMARY KEY,
  purpose TEXT NOT NULL CHECK (purpose IN ('verify_email', 'change_email', 'reset_password', 'invitation', 'turn_off_two_step')),
  subject TEXT NOT NULL,
  email TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO link_tokens_new SELECT token_hash, purpose, subject, email, created_at, expires_at FROM link_tokens;

DROP TABLE link_tokens;

ALTER TABLE link_tokens_new RENAME TO link_tokens;

CREATE INDEX link_tokens_subject ON link_tokens (subject, purpose);

CREATE INDEX link_tokens_expires_at ON link_tokens (expires_at);

-- The people behind the keys: how they prove who they are, where they belong, and what was done.
-- Tokens that go out by mail are not here in the clear: the mail's row says what to send, the token is made when it is sent,
-- and only its SHA-256 is kept.

-- When the person behind a session last gave a password or used a passkey.
ALTER TABLE sessions ADD COLUMN proved_at INTEGER NOT NULL DEFAULT 0;

CREATE INDEX sessions_organization ON sessions (organization_id);

CREATE INDEX sessions_last_seen_at ON sessions (last_seen_at);

-- Nobody sees an organization from this moment on; its usage is deleted in the background, then the row itself.
ALTER TABLE organizations ADD COLUMN deleted_at INTEGER;

CREATE INDEX organizations_deleted ON organizations (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE INDEX api_keys_created_by ON api_keys (created_by);

-- The subject is a user, or for an invitation the invitation. Whoever shows the token has proved the address; null when it did
-- not go there by mail.
CREATE TABLE link_tokens (
  token_hash TEXT PRIMARY KEY,
  purpose TEXT NOT NULL CHECK (purpose IN ('verify_email', 'change_email', 'reset_password', 'invitation')),
  subject TEXT NOT NULL,
  email TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX link_tokens_subject ON link_tokens (subject, purpose);

CREATE INDEX link_tokens_expires_at ON link_tokens (expires_at);

-- Mails to send, written with the change that caused them. `fields` is JSON: what the text names. `subject` is as in link_tokens.
CREATE TABLE outbox (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  recipient TEXT NOT NULL,
  subject TEXT,
  fields TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX outbox_due_at ON outbox (due_at);

CREATE INDEX outbox_subject ON outbox (subject, kind);

CREATE TABLE invitations (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  email TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('OWNER', 'ADMIN', 'MEMBER')),
  invited_by TEXT REFERENCES users (id) ON DELETE SET NULL,
  created_at INTEGER NOT NULL,
  sent_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  accepted_at INTEGER,
  accepted_by TEXT REFERENCES users (id) ON DELETE SET NULL,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX invitations_organization ON invitations (organization_id, id);

CREATE INDEX invitations_invited_by ON invitations (invited_by);

CREATE INDEX invitations_accepted_by ON invitations (accepted_by);

CREATE UNIQUE INDEX invitations_open ON invitations (organization_id, email)
WHERE accepted_at IS NULL AND revoked_at IS NULL;

-- The secret is base32. Two-step sign-in is on from `confirmed_at`. A code is good once: `last_step` is the last one's time step.
CREATE TABLE totp (
  user_id TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
  secret TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  confirmed_at INTEGER,
  last_step INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- 80 random bits each, hence a plain hash.
CREATE TABLE recovery_codes (
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  code_hash TEXT NOT NULL,
  used_at INTEGER,
  PRIMARY KEY (user_id, code_hash)
) STRICT, WITHOUT ROWID;

-- Credential id and public key (COSE) are base64url.
CREATE TABLE passkeys (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  credential_id TEXT NOT NULL UNIQUE,
  public_key TEXT NOT NULL,
  counter INTEGER NOT NULL,
  transports TEXT NOT NULL,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX passkeys_user ON passkeys (user_id);

-- Challenges that a passkey may answer once. `user_id` is null while nobody knows who will sign in.
CREATE TABLE passkey_challenges (
  challenge TEXT PRIMARY KEY,
  purpose TEXT NOT NULL CHECK (purpose IN ('register', 'sign_in', 'second_step')),
  user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX passkey_challenges_user ON passkey_challenges (user_id);

CREATE INDEX passkey_challenges_expires_at ON passkey_challenges (expires_at);

-- Who gave the right password and has still to take the second step: no session, for any endpoint.
CREATE TABLE pending_sign_ins (
  token_hash TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  expires_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX pending_sign_ins_user ON pending_sign_ins (user_id);

CREATE INDEX pending_sign_ins_expires_at ON pending_sign_ins (expires_at);

-- What was done, by whom, from where. Rows name their actor and target by id and by the name that they had then, and refer to
-- nothing: they outlive both.
CREATE TABLE audit_events (
  id TEXT PRIMARY KEY,
  at INTEGER NOT NULL,
  action TEXT NOT NULL,
  organization_id TEXT,
  actor_type TEXT NOT NULL CHECK (actor_type IN ('session', 'apiKey', 'operator', 'system', 'anonymous')),
  actor_id TEXT,
  actor_name TEXT,
  target_id TEXT,
  target_name TEXT,
  details TEXT NOT NULL,
  address TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  request_id TEXT
) STRICT, WITHOUT ROWID;

-- Each list is read from an index in its own order, newest first: of all, of an action, of somebody's action.
CREATE INDEX audit_events_organization ON audit_events (organization_id, at);

CREATE INDEX audit_events_action ON audit_events (organization_id, action, at);

CREATE INDEX audit_events_actor ON audit_events (organization_id, actor_id, action, at);

CREATE INDEX audit_events_at ON audit_events (at);

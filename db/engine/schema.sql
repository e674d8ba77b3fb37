-- The schema that all migrations make together. A new database begins with it. Times are milliseconds since 1970. Hashes are SHA-256 in
-- hexadecimal. A statement ends with a semicolon at the end of a line.

CREATE TABLE users (
  id TEXT PRIMARY KEY,
  email TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  password_hash TEXT NOT NULL,
  email_verified_at INTEGER,
  disabled_at INTEGER,
  last_organization_id TEXT,
  created_at INTEGER NOT NULL,
  -- When the user became an operator; null for other users.
  operator_since INTEGER,
  -- 1 if the user gets emails about limits of organizations.
  limit_emails INTEGER NOT NULL DEFAULT 1,
  -- The time zone and, in an organization, the metric that a person last chose for usage pages.
  usage_timezone TEXT,
  -- The number and date format, as a BCP 47 tag, and the theme; null to follow the browser.
  locale TEXT,
  theme TEXT CHECK (theme IN ('light', 'dark')),
  -- 0 for people who turned off the monthly email about unused keys.
  unused_key_emails INTEGER NOT NULL DEFAULT 1,
  -- 0 for accounts that a provider created: their hash is of a random text until they set a password.
  has_password INTEGER NOT NULL DEFAULT 1,
  -- When all sessions of a person were last ended. Access of applications that outlives sessions ends then, too.
  access_ended_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX users_operator_since ON users (operator_since) WHERE operator_since IS NOT NULL;

CREATE TRIGGER user_texts_insert AFTER INSERT ON users BEGIN
  INSERT INTO user_texts (user_id, name, email) VALUES (new.id, new.name, new.email); END;

CREATE TRIGGER user_texts_update AFTER UPDATE OF name, email ON users BEGIN
  UPDATE user_texts SET name = new.name, email = new.email WHERE user_id = new.id; END;

CREATE TRIGGER user_texts_delete AFTER DELETE ON users BEGIN
  DELETE FROM user_texts WHERE user_id = old.id; END;

CREATE INDEX users_disabled_at ON users (disabled_at) WHERE disabled_at IS NOT NULL;

CREATE TRIGGER users_password_set AFTER UPDATE OF password_hash ON users WHEN OLD.has_password = 0 AND NEW.has_password = 0 BEGIN UPDATE users SET has_password = 1 WHERE id = NEW.id; END;

-- Usage rows name an organization by its number: three bytes instead of thirty.
CREATE TABLE organizations (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  -- A deleted organization is hidden immediately. Its usage is deleted in the background, then its row.
  deleted_at INTEGER,
  -- The number of its series. Triggers keep it, because counting them in every commit that adds one would be slow.
  series INTEGER NOT NULL DEFAULT 0,
  -- `metadata` is a JSON object of texts.
  external_id TEXT,
  suspended_at INTEGER,
  metadata TEXT NOT NULL DEFAULT '{}',
  -- When the sums of a deleted organization began to be deleted; later statements have no lines for it.
  sums_deleted_at INTEGER,
  -- The plan, null once the organization is deleted, and overrides of the plan's values. Usage counts against limits from
  -- the record after `limits_seq`, at `limits_at`; earlier usage is read from the rollups.
  plan INTEGER REFERENCES plans (number),
  api_keys_max INTEGER,
  members_max INTEGER,
  usage_series_max INTEGER,
  requests_per_second INTEGER,
  timezone TEXT NOT NULL DEFAULT 'UTC',
  limits_seq INTEGER NOT NULL DEFAULT 0,
  limits_at INTEGER NOT NULL DEFAULT 0,
  holds_max INTEGER,
  -- Since when it has its plan, if it had another one before.
  plan_since INTEGER
) STRICT;

CREATE INDEX organizations_deleted ON organizations (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE UNIQUE INDEX organizations_external_id ON organizations (external_id)
WHERE external_id IS NOT NULL AND deleted_at IS NULL;

CREATE INDEX organizations_suspended_at ON organizations (suspended_at) WHERE suspended_at IS NOT NULL;

-- Operators list organizations by name.
CREATE INDEX organizations_name ON organizations (name COLLATE NOCASE, external_id) WHERE deleted_at IS NULL;

CREATE TRIGGER organization_search_insert AFTER INSERT ON organizations BEGIN
  INSERT INTO organization_search (rowid, name, external_id) VALUES (new.number, new.name, new.external_id); END;

CREATE TRIGGER organization_search_update AFTER UPDATE OF name, external_id ON organizations BEGIN
  INSERT INTO organization_search (organization_search, rowid, name, external_id)
  VALUES ('delete', old.number, old.name, old.external_id); INSERT INTO organization_search (rowid, name, external_id)
  VALUES (new.number, new.name, new.external_id); END;

CREATE TRIGGER organization_search_delete AFTER DELETE ON organizations BEGIN
  INSERT INTO organization_search (organization_search, rowid, name, external_id)
  VALUES ('delete', old.number, old.name, old.external_id); END;

CREATE INDEX organizations_plan ON organizations (plan, number);

CREATE TRIGGER organizations_plan_inserted AFTER INSERT ON organizations WHEN NEW.plan IS NULL BEGIN UPDATE organizations SET plan = (SELECT number FROM plans WHERE is_default = 1) WHERE number = NEW.number; END;

-- All organizations, with the columns that operators filter by.
CREATE INDEX organizations_listed ON organizations (number, plan, suspended_at) WHERE deleted_at IS NULL;

CREATE TRIGGER organizations_with_test_usage BEFORE DELETE ON organizations WHEN EXISTS (SELECT 1 FROM usage_series s WHERE s.organization = -OLD.number) OR EXISTS (SELECT 1 FROM usage_records r WHERE r.organization = -OLD.number) BEGIN SELECT RAISE(IGNORE); END;

-- A new time zone moves the turns to come.
CREATE TRIGGER organizations_moved_turns AFTER UPDATE OF timezone ON organizations WHEN NEW.timezone <> OLD.timezone BEGIN UPDATE usage_refills SET write_at = 0 WHERE organization = NEW.number AND voided_at IS NULL; END;

CREATE TRIGGER organizations_moved_values AFTER UPDATE OF plan, timezone ON organizations
WHEN NEW.plan IS NOT OLD.plan OR NEW.timezone <> OLD.timezone
BEGIN
  UPDATE usage_value_spans SET until_seq = (SELECT seq FROM usage_cursor)
    WHERE organization = NEW.number AND until_seq IS NULL
  ; UPDATE organizations SET plan_since = NEW.limits_at WHERE number = NEW.number AND NEW.plan IS NOT OLD.plan
  ; END;

CREATE TABLE memberships (
  user_id TEXT NOT NULL REFERENCES users (id),
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  role TEXT NOT NULL CHECK (role IN ('OWNER', 'ADMIN', 'MEMBER')),
  created_at INTEGER NOT NULL,
  usage_metric TEXT,
  PRIMARY KEY (user_id, organization_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX memberships_organization ON memberships (organization_id);

CREATE TABLE sessions (
  token_hash TEXT PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  user_id TEXT NOT NULL REFERENCES users (id),
  organization_id TEXT REFERENCES organizations (id),
  created_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL,
  address TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  -- When the person last gave the password or used a passkey in this session.
  proved_at INTEGER NOT NULL DEFAULT 0,
  -- When a passkey or a code was last used in the session; null if it never was.
  second_factor_at INTEGER,
  -- The provider that the session began with; null for a password or a passkey. `expires_at` is the latest end of the session.
  provider_id TEXT,
  expires_at INTEGER,
  -- How its person signed in, as authentication methods of RFC 8176 with spaces; null for sign-ins with a provider and for older sessions.
  amr TEXT,
  -- When the person last entered a password or a code, used a passkey, or signed in at a provider that says when; null if unknown.
  entered_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_user ON sessions (user_id);

CREATE INDEX sessions_organization ON sessions (organization_id);

CREATE INDEX sessions_last_seen_at ON sessions (last_seen_at);

-- Delays after failed sign-ins. The subject is a hash of the canonical address, known or not.
CREATE TABLE sign_in_failures (
  subject TEXT PRIMARY KEY,
  failures INTEGER NOT NULL,
  blocked_until INTEGER NOT NULL,
  failed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sign_in_failures_failed_at ON sign_in_failures (failed_at);

CREATE TABLE api_keys (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  key_hash TEXT NOT NULL UNIQUE,
  key_prefix TEXT NOT NULL,
  name TEXT NOT NULL,
  created_by TEXT REFERENCES users (id),
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  expires_at INTEGER,
  revoked_at INTEGER,
  -- A JSON list. `created_by` is null if an operator created the key.
  permissions TEXT NOT NULL DEFAULT '["usage:read","usage:write"]',
  created_by_operator INTEGER NOT NULL DEFAULT 0,
  -- A key and those that replaced it are one lineage: the number of the first.
  lineage INTEGER,
  -- The one-time token of the form that created the key, so that sending the form again doesn't create another key.
  form_token TEXT,
  -- The last request with the key, also a rejected one: the network of the address, the user agent, the status and the error.
  last_request_at INTEGER,
  last_request_network TEXT,
  last_request_agent TEXT,
  last_request_status INTEGER,
  last_request_error TEXT,
  -- When a key that another system issued was imported.
  imported_at INTEGER,
  -- Usage of test keys has the negative number of its organization in all tables of usage, so that queries by the number read
  -- only live usage. The total of a product and metric of all test usage is a series of organization -2147483648.
  environment TEXT NOT NULL DEFAULT 'live' CHECK (environment IN ('live', 'test')),
  -- When the key was last reported as leaked.
  leaked_at INTEGER,
  -- When the next event and email before it expires is due.
  remind_at INTEGER,
  -- A disabled key is active and doesn't work. What an operator disabled, only operators enable.
  disabled_at INTEGER,
  disabled_by_operator INTEGER NOT NULL DEFAULT 0,
  -- The CIDR blocks from which a key may be used, a JSON list; null for any address.
  addresses TEXT,
  -- A key's own rate. The lower one of it and its organization's takes effect.
  requests_per_second INTEGER,
  -- What only operators set and see. `metadata` is a JSON object of texts.
  external_id TEXT,
  metadata TEXT NOT NULL DEFAULT '{}'
) STRICT;

CREATE INDEX api_keys_organization ON api_keys (organization_id, id);

CREATE INDEX api_keys_created_by ON api_keys (created_by);

CREATE INDEX api_keys_lineage ON api_keys (lineage);

CREATE TRIGGER api_keys_lineage_inserted AFTER INSERT ON api_keys WHEN NEW.lineage IS NULL BEGIN UPDATE api_keys SET lineage = NEW.number WHERE number = NEW.number; END;

CREATE UNIQUE INDEX api_keys_form_token ON api_keys (organization_id, form_token) WHERE form_token IS NOT NULL;

-- Active keys of an organization, and those that ended last.
CREATE INDEX api_keys_end ON api_keys (organization_id, coalesce(revoked_at, expires_at, 9007199254740991));

-- When an organization's keys were last used, which is read whenever an operator opens the organization.
CREATE INDEX api_keys_last_used ON api_keys (organization_id, last_used_at);

-- Keys are found by the first characters of a key, in upper or lower case.
CREATE INDEX api_keys_prefix ON api_keys (key_prefix COLLATE NOCASE);

-- Keys that don't have the format of Gatehouse are looked up in this index alone, which is empty until some are imported.
CREATE UNIQUE INDEX api_keys_imported ON api_keys (key_hash) WHERE imported_at IS NOT NULL;

CREATE INDEX api_keys_imported_prefix ON api_keys (key_prefix COLLATE NOCASE) WHERE imported_at IS NOT NULL;

-- Keys are found by the 8 characters after their tag, with the ellipsis that ends it: servers may have had different prefixes.
CREATE INDEX api_keys_characters ON api_keys (substr(key_prefix, -9) COLLATE NOCASE);

CREATE INDEX api_keys_remind ON api_keys (remind_at) WHERE remind_at IS NOT NULL;

CREATE INDEX api_keys_external_id ON api_keys (external_id, id) WHERE external_id IS NOT NULL;

-- One row for each organization, product, metric and key with usage. Usage rows name their parents by number and declare no
-- foreign keys: the statement that inserts them joins the parents, and a check of each record would cost a look-up.
-- Each product and metric also has a series of organization 0 and key 0, its total, which sums up all organizations. A series
-- names its total; a total names none. Triggers keep totals, and delete those whose series were all rejected.
CREATE TABLE usage_series (
  id INTEGER PRIMARY KEY,
  organization INTEGER NOT NULL,
  product_slug TEXT NOT NULL,
  metric TEXT NOT NULL,
  api_key INTEGER NOT NULL,
  total INTEGER,
  -- A series that a hold has taken stays, even without records.
  is_held INTEGER NOT NULL DEFAULT 0,
  UNIQUE (organization, product_slug, metric, api_key)
) STRICT;

CREATE TRIGGER usage_series_inserted AFTER INSERT ON usage_series WHEN NEW.organization NOT IN (0, -2147483648) BEGIN INSERT INTO usage_series (organization, product_slug, metric, api_key) VALUES (iif(NEW.organization < 0, -2147483648, 0), NEW.product_slug, NEW.metric, 0) ON CONFLICT DO NOTHING; UPDATE usage_series SET total = (SELECT t.id FROM usage_series t WHERE t.organization = iif(NEW.organization < 0, -2147483648, 0) AND t.product_slug = NEW.product_slug AND t.metric = NEW.metric AND t.api_key = 0) WHERE id = NEW.id; UPDATE organizations SET series = series + 1 WHERE number = abs(NEW.organization); END;

CREATE TRIGGER usage_series_deleted AFTER DELETE ON usage_series WHEN OLD.organization NOT IN (0, -2147483648) BEGIN DELETE FROM usage_series WHERE id = OLD.total AND NOT EXISTS (SELECT 1 FROM usage_rollups r WHERE r.series = OLD.total); UPDATE organizations SET series = series - 1 WHERE number = abs(OLD.organization); END;

-- A server of an earlier version, which doesn't know test keys, records nothing with them, and keeps an organization that has test usage.
CREATE TRIGGER usage_series_of_test_key BEFORE INSERT ON usage_series WHEN NEW.organization > 0 AND EXISTS (SELECT 1 FROM api_keys k WHERE k.number = NEW.api_key AND k.environment = 'test') BEGIN SELECT RAISE(IGNORE); END;

-- The last `seq` whose record is in the rollups. It moves in the same batch as the records.
CREATE TABLE usage_cursor (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  seq INTEGER NOT NULL,
  -- The last hash up to which the current round has moved keys, or has removed those of deleted records from the settled ones.
  recent_moved INTEGER NOT NULL DEFAULT 0,
  middle_moved INTEGER NOT NULL DEFAULT 0,
  settled_cleaned INTEGER NOT NULL DEFAULT 0,
  -- Counters of minutes and hours that ended before this time are deleted; their usage is read from records and rollups.
  limits_swept_until INTEGER NOT NULL DEFAULT 0,
  -- Not used anymore.
  rates_version INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO usage_cursor (only_row, seq) VALUES (1, 0);

-- `seq` is the position in the order of recording. The public id is computed from it and the time, and not stored. A quantity
-- is a whole number and millionths. A record writes only to this table and to one index in the order of time.
CREATE TABLE usage_records (
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

CREATE INDEX usage_records_timestamp ON usage_records (organization, timestamp, series);

-- Records that don't count anymore. They stay in their table, and their idempotency keys stay taken.
CREATE TABLE usage_voids (
  seq INTEGER PRIMARY KEY,
  voided_at INTEGER NOT NULL,
  voided_by TEXT NOT NULL,
  reason TEXT NOT NULL,
  -- The position of a voided record in the list of records, for lists of an organization's voided records.
  organization INTEGER,
  timestamp INTEGER,
  series INTEGER
) STRICT;

CREATE INDEX usage_voids_timestamp ON usage_voids (organization, timestamp, series);

-- Idempotency keys by 48 bits of their hash. Random keys in one big index would write a page for each record: new ones go into
-- a small index, and move on in order of their hashes, a few with every commit, so that neighbours are written together.
-- Two keys can have the same hash; the record itself says which key it has.
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

-- A series in one quarter of an hour. A sum is (high * 2^26 + low) + micro / 10^6: no part overflows before 2^36 records.
-- Smallest and largest are in millionths: integers, or texts of 22 digits if they exceed 64 bits, which SQLite sorts after
-- every integer. A rollup whose records are all voided stays with a count of 0; its other numbers have no meaning.
CREATE TABLE usage_rollups (
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

-- The same by hours, for ranges longer than an hour: a quarter of the rows.
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

-- Additions of a group of records to the rollups, within the transaction that records them; empty after it.
CREATE TABLE usage_added (
  series INTEGER NOT NULL,
  quarter INTEGER NOT NULL,
  count INTEGER NOT NULL,
  sum_high INTEGER NOT NULL,
  sum_low INTEGER NOT NULL,
  sum_micro INTEGER NOT NULL,
  smallest ANY NOT NULL,
  largest ANY NOT NULL,
  organization INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Emails to send, written with the change that caused them. `fields` is JSON with the values of the text. `subject` is as in
-- `link_tokens`. Tokens of links are created when the email is sent, and only their SHA-256 is stored.
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
  revoked_at INTEGER,
  -- Invitations by operators have no `invited_by`.
  invited_by_operator INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX invitations_organization ON invitations (organization_id, id);

CREATE INDEX invitations_invited_by ON invitations (invited_by);

CREATE INDEX invitations_accepted_by ON invitations (accepted_by);

CREATE UNIQUE INDEX invitations_open ON invitations (organization_id, email)
WHERE accepted_at IS NULL AND revoked_at IS NULL;

-- Sign-ins with a provider that verifies addresses look for invitations by address.
CREATE INDEX invitations_email ON invitations (email) WHERE accepted_at IS NULL AND revoked_at IS NULL;

-- The secret is base32. Two-step sign-in is on from `confirmed_at`. Each code works once: `last_step` is the last one's time step.
CREATE TABLE totp (
  user_id TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
  secret TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  confirmed_at INTEGER,
  last_step INTEGER NOT NULL,
  -- Wrong codes since the last right one or the last new password, and when the app's codes were locked.
  wrong_codes INTEGER NOT NULL DEFAULT 0,
  locked_at INTEGER
) STRICT, WITHOUT ROWID;

-- Codes have 80 random bits, so a plain hash is enough.
CREATE TABLE recovery_codes (
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  code_hash TEXT NOT NULL,
  used_at INTEGER,
  PRIMARY KEY (user_id, code_hash)
) STRICT, WITHOUT ROWID;

-- The credential id and the public key (COSE) are base64url.
CREATE TABLE passkeys (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  credential_id TEXT NOT NULL UNIQUE,
  public_key TEXT NOT NULL,
  counter INTEGER NOT NULL,
  transports TEXT NOT NULL,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  -- The host of BASE_URL when the passkey was added, the only one at which it works.
  host TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX passkeys_user ON passkeys (user_id);

-- Challenges for passkeys, each for one use. `user_id` is null until it is known who signs in.
CREATE TABLE passkey_challenges (
  challenge TEXT PRIMARY KEY,
  purpose TEXT NOT NULL CHECK (purpose IN ('register', 'sign_in', 'second_step')),
  user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX passkey_challenges_user ON passkey_challenges (user_id);

CREATE INDEX passkey_challenges_expires_at ON passkey_challenges (expires_at);

-- Sign-ins with a right password whose second step is still required. No endpoint accepts them as a session.
CREATE TABLE pending_sign_ins (
  token_hash TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  expires_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  provider_id TEXT,
  -- The identity that a sign-in with a provider began with. It is connected, and its person becomes a member, when the second step passes.
  issuer TEXT,
  subject TEXT,
  identity_email TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX pending_sign_ins_user ON pending_sign_ins (user_id);

CREATE INDEX pending_sign_ins_expires_at ON pending_sign_ins (expires_at);

-- The audit log. Rows name their actor and target by id and by the name at that time, without foreign keys, because they outlive
-- both.
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

-- Each list is read from an index in its own order, newest first: all entries, those of an action, those of an actor's action.
CREATE INDEX audit_events_organization ON audit_events (organization_id, at);

CREATE INDEX audit_events_action ON audit_events (organization_id, action, at);

CREATE INDEX audit_events_actor ON audit_events (organization_id, actor_id, action, at);

CREATE INDEX audit_events_at ON audit_events (at);

CREATE INDEX audit_events_operator ON audit_events (at) WHERE actor_type = 'operator';

-- The operators' log, by action and by operator.
CREATE INDEX audit_events_operator_action ON audit_events (action, at) WHERE actor_type = 'operator';

CREATE INDEX audit_events_operator_actor ON audit_events (actor_id, action, at) WHERE actor_type = 'operator';

-- The entries about one key, member or organization.
CREATE INDEX audit_events_target ON audit_events (organization_id, target_id, action, at) WHERE target_id IS NOT NULL;

-- No row can be stored here. A batch that is written for a session starts with a statement that inserts a row when the session
-- has ended or its role no longer allows the act; the constraint then fails and undoes the whole batch.
CREATE TABLE refused_writes (
  reason TEXT NOT NULL,
  CONSTRAINT session_may_write CHECK (0)
) STRICT;

-- Emails to a recipient by kind and window, limited across senders and servers. `subject` is the SHA-256 of
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

-- Links by email. The subject is a user, or an invitation. `email` is the address that using the link proves; null if it wasn't
-- sent by email.
CREATE TABLE link_tokens (
  token_hash TEXT PRIMARY KEY,
  purpose TEXT NOT NULL CHECK (purpose IN ('verify_email', 'change_email', 'reset_password', 'invitation', 'turn_off_two_step')),
  subject TEXT NOT NULL,
  email TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX link_tokens_subject ON link_tokens (subject, purpose);

CREATE INDEX link_tokens_expires_at ON link_tokens (expires_at);

-- `scopes` and `addresses` are JSON lists; an empty list of addresses allows any. `created_by` is null for tokens created on the command line.
CREATE TABLE operator_tokens (
  id TEXT PRIMARY KEY,
  token_hash TEXT NOT NULL UNIQUE,
  token_prefix TEXT NOT NULL,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  addresses TEXT NOT NULL,
  created_by TEXT REFERENCES users (id) ON DELETE SET NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX operator_tokens_created_by ON operator_tokens (created_by);

CREATE TABLE organization_notes (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  text TEXT NOT NULL,
  author_id TEXT,
  author_name TEXT,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX organization_notes_organization ON organization_notes (organization_id, id);

-- Rollups by calendar months of UTC, counted from January 1970, in the order in which one month of all organizations is read.
-- Totals belong to organization 0. The quarters are the first and the last with a record, voided or not.
CREATE TABLE usage_rollups_monthly (
  month INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  series INTEGER NOT NULL,
  count INTEGER NOT NULL,
  sum_high INTEGER NOT NULL,
  sum_low INTEGER NOT NULL,
  sum_micro INTEGER NOT NULL,
  smallest ANY NOT NULL,
  largest ANY NOT NULL,
  first_quarter INTEGER NOT NULL,
  last_quarter INTEGER NOT NULL,
  PRIMARY KEY (month, organization, series)
) STRICT, WITHOUT ROWID;

-- A statement closes a month for all organizations. Numbers count up in the order of the months, without gaps; the month begins
-- at `start_at`, where the month before it ended, and ends at `end_at`. `progress` is the number of the last organization
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
  closed_at INTEGER,
  currency TEXT
) STRICT;

-- A closed statement never changes.
CREATE TRIGGER statements_updated BEFORE UPDATE ON statements WHEN OLD.status = 'closed' BEGIN SELECT RAISE(ABORT, 'a closed statement never changes'); END;

CREATE TRIGGER statements_deleted BEFORE DELETE ON statements BEGIN SELECT RAISE(ABORT, 'a statement is never deleted'); END;

-- Charges of a statement to an organization: for the month itself (`months_back` 0), or for changes of an earlier month since it was
-- closed. The sum is (high * 2^26 + low) + micro / 10^6, as in the rollups, and may be negative. Names are as of the closing.
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
  -- The price and the currency when a month was closed.
  unit_price TEXT,
  aggregation TEXT NOT NULL DEFAULT 'sum',
  -- A line that is priced by values has their amounts, added up: an integer in 10^-18.
  price_list INTEGER,
  value_amount TEXT,
  PRIMARY KEY (statement, organization_id, months_back, product_slug, metric)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER statement_lines_inserted BEFORE INSERT ON statement_lines WHEN (SELECT status FROM statements WHERE number = NEW.statement) IS NOT 'closing' BEGIN SELECT RAISE(ABORT, 'a closed statement never changes'); END;

CREATE TRIGGER statement_lines_updated BEFORE UPDATE ON statement_lines BEGIN SELECT RAISE(ABORT, 'a line never changes'); END;

CREATE TRIGGER statement_lines_deleted BEFORE DELETE ON statement_lines BEGIN SELECT RAISE(ABORT, 'a line is never deleted'); END;

CREATE INDEX statement_lines_price_list ON statement_lines (price_list) WHERE price_list IS NOT NULL;

-- An organization with records or voids in a month that was closed or being closed: `month` is the number of
-- that month's statement, `latest` that of the newest statement at the time. The next statement compares its sums with the lines.
CREATE TABLE statement_changes (
  organization INTEGER NOT NULL,
  month INTEGER NOT NULL,
  latest INTEGER NOT NULL,
  PRIMARY KEY (organization, month, latest)
) STRICT, WITHOUT ROWID;

-- The catalogue of products: names and units of usage. Usage refers to it by slug and can exist without it.
CREATE TABLE products (
  slug TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE product_metrics (
  product TEXT NOT NULL REFERENCES products (slug) ON DELETE CASCADE,
  slug TEXT NOT NULL,
  name TEXT NOT NULL,
  unit TEXT,
  position INTEGER NOT NULL,
  -- The price of one unit of a metric, as an exact decimal text; null without a price.
  unit_price TEXT,
  -- `unit_price` is then null.
  price_list INTEGER,
  -- The properties whose values events about limits per value may name, as a JSON list.
  shareable TEXT NOT NULL DEFAULT '[]',
  PRIMARY KEY (product, slug)
) STRICT, WITHOUT ROWID;

-- Operators search names, email addresses and external ids. The indexes find parts of a text of at least three characters, in
-- upper or lower case, with or without accents. Triggers keep them up to date.
CREATE VIRTUAL TABLE organization_search USING fts5 (
  name, external_id, content = 'organizations', content_rowid = 'number', tokenize = 'trigram remove_diacritics 1'
);

-- Users have no number of their own. This one is also the order of the operators' list: the order of creation.
CREATE TABLE user_texts (
  number INTEGER PRIMARY KEY,
  user_id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  email TEXT NOT NULL
) STRICT;

CREATE TRIGGER user_search_insert AFTER INSERT ON user_texts BEGIN
  INSERT INTO user_search (rowid, name, email) VALUES (new.number, new.name, new.email); END;

CREATE TRIGGER user_search_update AFTER UPDATE OF name, email ON user_texts BEGIN
  INSERT INTO user_search (user_search, rowid, name, email)
  VALUES ('delete', old.number, old.name, old.email); INSERT INTO user_search (rowid, name, email)
  VALUES (new.number, new.name, new.email); END;

CREATE TRIGGER user_search_delete AFTER DELETE ON user_texts BEGIN
  INSERT INTO user_search (user_search, rowid, name, email) VALUES ('delete', old.number, old.name, old.email); END;

CREATE VIRTUAL TABLE user_search USING fts5 (
  name, email, content = 'user_texts', content_rowid = 'number', tokenize = 'trigram remove_diacritics 1'
);

-- `requests_per_second` is null to follow the setting, and 0 for no limit.
CREATE TABLE plans (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL COLLATE NOCASE UNIQUE,
  is_default INTEGER NOT NULL,
  api_keys_max INTEGER NOT NULL,
  members_max INTEGER NOT NULL,
  usage_series_max INTEGER NOT NULL,
  requests_per_second INTEGER,
  created_at INTEGER NOT NULL,
  -- A JSON array of names in ascending order, which Gatehouse stores and reports.
  features TEXT NOT NULL DEFAULT '[]',
  -- How many active holds an organization may have, and overrides of it.
  holds_max INTEGER NOT NULL DEFAULT 10000,
  -- The budget that new keys get, a JSON array of limits, each with its quantity and its whole and micro parts.
  default_budget TEXT NOT NULL DEFAULT '[]',
  -- What customers read instead of its features, a JSON object of names by feature.
  feature_names TEXT NOT NULL DEFAULT '{}'
) STRICT;

INSERT INTO plans (number, id, name, is_default, api_keys_max, members_max, usage_series_max, requests_per_second, created_at)
VALUES (1, 'plan_' || lower(hex(randomblob(16))), 'Default', 1, 100, 10000, 10000, NULL, 1000 * unixepoch());

CREATE UNIQUE INDEX plans_default ON plans (is_default) WHERE is_default = 1;

-- Usage that counts against a limit in one window, from the record after `opened_seq`. The sums are as in `usage_rollups`. Until
-- `is_known`, they lack earlier records. See `db/meter/limit_windows.ts` for the numbers of windows.
CREATE TABLE usage_limit_counters (
  usage_limit INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  window_number INTEGER NOT NULL,
  sum_high INTEGER NOT NULL,
  sum_low INTEGER NOT NULL,
  sum_micro INTEGER NOT NULL,
  is_known INTEGER NOT NULL,
  opened_seq INTEGER NOT NULL,
  -- What all active holds hold, also those that have expired and weren't ended yet.
  held_high INTEGER NOT NULL DEFAULT 0,
  held_low INTEGER NOT NULL DEFAULT 0,
  held_micro INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (usage_limit, organization, window_number)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_limit_counters_window ON usage_limit_counters (window_number);

CREATE INDEX usage_limit_counters_organization ON usage_limit_counters (organization);

-- Removed limits, until their counters and notices are deleted.
CREATE TABLE usage_limits_removed (
  number INTEGER PRIMARY KEY,
  -- The limit as JSON, for the event that it is cleared.
  facts TEXT
) STRICT;

-- Within the transaction that records, and empty after it: additions to the counters, and requests that don't fit into windows.
-- `at` is a time in the window.
CREATE TABLE usage_limit_added (
  usage_limit INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  window_number INTEGER NOT NULL,
  at INTEGER NOT NULL,
  sum_high INTEGER NOT NULL,
  sum_low INTEGER NOT NULL,
  sum_micro INTEGER NOT NULL,
  PRIMARY KEY (usage_limit, organization, window_number)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage_limit_refused (
  request INTEGER NOT NULL,
  usage_limit INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  window_number INTEGER NOT NULL,
  at INTEGER NOT NULL,
  reason TEXT NOT NULL CHECK (reason IN ('exceeded', 'others', 'unknown')),
  -- The request would fit if nothing were held.
  is_held INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (request, usage_limit, organization, window_number)
) STRICT, WITHOUT ROWID;

-- By how much the clocks of a time zone are ahead of UTC from a moment on, in milliseconds. UTC has no rows.
CREATE TABLE timezone_offsets (
  timezone TEXT NOT NULL,
  since INTEGER NOT NULL,
  ahead INTEGER NOT NULL,
  PRIMARY KEY (timezone, since)
) STRICT, WITHOUT ROWID;

-- Events, written in the transaction of their change. `facts` is JSON of that moment, from which the payload is made.
CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  type TEXT NOT NULL,
  organization INTEGER,
  at INTEGER NOT NULL,
  facts TEXT NOT NULL,
  webhook INTEGER
) STRICT;

CREATE INDEX events_organization ON events (organization, webhook, type, at);

CREATE INDEX events_type ON events (type, at) WHERE webhook IS NULL;

-- An endpoint of an organization, or of operators if `organization` is 0. It gets events after `since_seq`. `turn_at` is when its next delivery may be due,
-- or later if all of its requests are in progress. `is_slow`: its last attempt failed or took long. `waiting`: its deliveries with this status.
CREATE TABLE webhooks (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  organization INTEGER NOT NULL,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  description TEXT NOT NULL,
  secret TEXT NOT NULL,
  old_secret TEXT,
  old_secret_until INTEGER,
  disabled_at INTEGER,
  disabled_reason TEXT CHECK (disabled_reason IN ('manual', 'failing', 'gone')),
  failing_since INTEGER,
  failures INTEGER NOT NULL DEFAULT 0,
  last_delivered_at INTEGER,
  turn_at INTEGER,
  is_slow INTEGER NOT NULL DEFAULT 0,
  waiting INTEGER NOT NULL DEFAULT 0,
  since_seq INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT,
  created_by_name TEXT,
  deleted_at INTEGER,
  -- Quick attempts in a row of a slow endpoint, until it isn't slow anymore. `served` orders the turns of an organization's
  -- endpoints: after a turn it is higher than that of the others.
  quick_attempts INTEGER NOT NULL DEFAULT 0,
  served INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX webhooks_organization ON webhooks (organization, number) WHERE deleted_at IS NULL;

CREATE INDEX webhooks_turn ON webhooks (is_slow, turn_at) WHERE turn_at IS NOT NULL;

CREATE INDEX webhooks_overflowing ON webhooks (number) WHERE waiting > 10000;

CREATE INDEX webhooks_to_hold ON webhooks (number) WHERE waiting > 0 AND disabled_at IS NOT NULL;

CREATE INDEX webhooks_old_secret ON webhooks (old_secret_until) WHERE old_secret_until IS NOT NULL;

CREATE INDEX webhooks_deleted ON webhooks (number) WHERE deleted_at IS NOT NULL;

CREATE INDEX webhooks_failing ON webhooks (failing_since)
  WHERE failing_since IS NOT NULL AND disabled_at IS NULL AND deleted_at IS NULL;

-- An event for one endpoint. `type` is that of the event. `attempts` counts those of the current run of the schedule. While it is leased, a server sends it until `due_at`.
CREATE TABLE webhook_deliveries (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  webhook INTEGER NOT NULL,
  event INTEGER NOT NULL,
  type TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('waiting', 'delivered', 'failed', 'held')),
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL,
  is_leased INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  ended_at INTEGER,
  code TEXT,
  response_status INTEGER,
  UNIQUE (webhook, event)
) STRICT;

CREATE INDEX webhook_deliveries_webhook ON webhook_deliveries (webhook, status, type, created_at);

CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook, due_at) WHERE status = 'waiting';

CREATE INDEX webhook_deliveries_leased ON webhook_deliveries (webhook) WHERE is_leased = 1;

CREATE INDEX webhook_deliveries_oldest ON webhook_deliveries (webhook, number) WHERE status = 'waiting';

CREATE TRIGGER webhook_deliveries_added AFTER INSERT ON webhook_deliveries WHEN NEW.status = 'waiting'
BEGIN
  UPDATE webhooks SET waiting = waiting + 1, turn_at = min(coalesce(turn_at, NEW.due_at), NEW.due_at) WHERE number = NEW.webhook
  ; END;

CREATE TRIGGER webhook_deliveries_replayed AFTER UPDATE OF status ON webhook_deliveries WHEN OLD.status <> 'waiting' AND NEW.status = 'waiting'
BEGIN
  UPDATE webhooks SET waiting = waiting + 1, turn_at = min(coalesce(turn_at, NEW.due_at), NEW.due_at) WHERE number = NEW.webhook
  ; END;

CREATE TRIGGER webhook_deliveries_ended AFTER UPDATE OF status ON webhook_deliveries WHEN OLD.status = 'waiting' AND NEW.status <> 'waiting'
BEGIN
  UPDATE webhooks SET waiting = waiting - 1 WHERE number = NEW.webhook
  ; END;

CREATE TRIGGER webhook_deliveries_deleted AFTER DELETE ON webhook_deliveries WHEN OLD.status = 'waiting'
BEGIN
  UPDATE webhooks SET waiting = waiting - 1 WHERE number = OLD.webhook
  ; END;

-- Every attempt to send a delivery: the status of the response, or the code of the fault.
CREATE TABLE webhook_attempts (
  delivery INTEGER NOT NULL,
  at INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  code TEXT,
  response_status INTEGER,
  PRIMARY KEY (delivery, at)
) STRICT, WITHOUT ROWID;

-- Attempts to reach an endpoint on a day of UTC, counted in days since 1970.
CREATE TABLE webhook_days (
  webhook INTEGER NOT NULL,
  day INTEGER NOT NULL,
  succeeded INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  PRIMARY KEY (webhook, day)
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_days_day ON webhook_days (day);

-- The progress of background work: events up to `delivered_seq` have deliveries, and those up to `mailed_seq` emails.
CREATE TABLE event_cursor (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  delivered_seq INTEGER NOT NULL,
  mailed_seq INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO event_cursor VALUES (1, 0, 0);

-- `notify_at` has the percentages of notices, a JSON array in ascending order; null for 80 and 100. A limit with `alert_of` is an alert of
-- that organization and never rejects. With `alert_lineage` it counts the usage of a lineage of keys.
CREATE TABLE usage_limits (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  plan INTEGER REFERENCES plans (number) ON DELETE CASCADE,
  organization INTEGER,
  lineage INTEGER,
  product_slug TEXT NOT NULL,
  metric TEXT NOT NULL,
  per TEXT NOT NULL CHECK (per IN ('minute', 'hour', 'day', 'month', 'total')),
  quantity_whole INTEGER,
  quantity_micro INTEGER,
  mode TEXT NOT NULL CHECK (mode IN ('hard', 'soft', 'cutoff')),
  created_seq INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  notify_at TEXT,
  alert_of INTEGER,
  alert_lineage INTEGER,
  -- The name of the property whose values each have a counter; empty for a limit of all usage together.
  property TEXT NOT NULL DEFAULT '',
  CHECK ((plan IS NULL) + (organization IS NULL) + (lineage IS NULL) + (alert_of IS NULL) = 3)
) STRICT;

CREATE INDEX usage_limits_alert ON usage_limits (alert_of, number) WHERE alert_of IS NOT NULL;

CREATE UNIQUE INDEX usage_limits_plan ON usage_limits (plan, product_slug, metric, per, property) WHERE plan IS NOT NULL;

CREATE UNIQUE INDEX usage_limits_organization ON usage_limits (organization, product_slug, metric, per, property) WHERE organization IS NOT NULL;

CREATE UNIQUE INDEX usage_limits_lineage ON usage_limits (lineage, product_slug, metric, per, property) WHERE lineage IS NOT NULL;

CREATE INDEX usage_limits_property ON usage_limits (number) WHERE property <> '';

CREATE TRIGGER usage_limits_deleted AFTER DELETE ON usage_limits
BEGIN
  INSERT INTO usage_limits_removed (number, facts) VALUES (OLD.number, json_object('id', OLD.id,
    'productSlug', nullif(OLD.product_slug, ''), 'metric', nullif(OLD.metric, ''), 'per', OLD.per,
    'by', nullif(OLD.property, ''), 'mode', OLD.mode, 'isAlert', OLD.alert_of IS NOT NULL,
    'whole', OLD.quantity_whole, 'micro', OLD.quantity_micro, 'lineage', coalesce(OLD.lineage, OLD.alert_lineage)))
  ; END;

CREATE TRIGGER usage_limits_replacing_values AFTER INSERT ON usage_limits WHEN NEW.organization IS NOT NULL AND NEW.property <> ''
BEGIN
  UPDATE usage_value_spans SET until_seq = (SELECT seq FROM usage_cursor)
    WHERE organization = NEW.organization AND until_seq IS NULL
  ; END;

CREATE TRIGGER usage_limits_restoring_values AFTER DELETE ON usage_limits WHEN OLD.organization IS NOT NULL AND OLD.property <> ''
BEGIN
  UPDATE usage_value_spans SET until_seq = (SELECT seq FROM usage_cursor)
    WHERE organization = OLD.organization AND until_seq IS NULL
  ; END;

CREATE TRIGGER usage_limits_lifting_values AFTER UPDATE OF quantity_whole ON usage_limits
WHEN NEW.organization IS NOT NULL AND NEW.property <> '' AND (NEW.quantity_whole IS NULL) <> (OLD.quantity_whole IS NULL)
BEGIN
  UPDATE usage_value_spans SET until_seq = (SELECT seq FROM usage_cursor)
    WHERE organization = NEW.organization AND until_seq IS NULL
  ; END;

-- Notices about a limit for people and endpoints, one for each window, value and percentage. For minutes and hours there is one a day, with the
-- day as the window. `used` has the parts of the sum, as JSON.
CREATE TABLE limit_notices (
  usage_limit INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  window_number INTEGER NOT NULL,
  percent INTEGER NOT NULL,
  is_refusal INTEGER NOT NULL,
  used TEXT NOT NULL,
  at INTEGER NOT NULL,
  noted_at INTEGER NOT NULL,
  mailed_at INTEGER,
  -- The quantity of the limit at that moment. A limit that rejected a request has no more room until it is raised or less is used.
  quantity_whole INTEGER,
  quantity_micro INTEGER,
  -- The value that the event names; empty if it names none.
  value TEXT NOT NULL DEFAULT '',
  -- 1 if another value of the window causes the emails.
  is_quiet INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (usage_limit, organization, window_number, value, percent)
) STRICT, WITHOUT ROWID;

CREATE INDEX limit_notices_waiting ON limit_notices (noted_at) WHERE mailed_at IS NULL;

CREATE INDEX limit_notices_organization ON limit_notices (organization, noted_at);

CREATE INDEX limit_notices_noted ON limit_notices (noted_at);

-- Operators list organizations that are close to a limit or have reached it in a current window.
CREATE INDEX limit_notices_window ON limit_notices (window_number, organization);

-- Changes of limits of an organization or a plan, to find limits that aren't reached anymore. Organizations before `next_organization`
-- are checked, and of this one the limits up to `next_limit`. A change that isn't being checked yet has one row.
CREATE TABLE limit_rechecks (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  organization INTEGER,
  plan INTEGER,
  next_organization INTEGER NOT NULL DEFAULT 0,
  next_limit INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE UNIQUE INDEX limit_rechecks_organization ON limit_rechecks (organization) WHERE next_organization = 0 AND next_limit = 0;

CREATE UNIQUE INDEX limit_rechecks_plan ON limit_rechecks (plan) WHERE next_organization = 0 AND next_limit = 0;

-- The progress of the search for unused keys: the month of UTC and the last organization, the largest number when it is complete.
-- `reported_at` is the time of the last report of a leaked key, known or not, so that all reports take equally long.
CREATE TABLE key_reminder_cursor (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  month TEXT NOT NULL,
  key INTEGER NOT NULL,
  reported_at INTEGER NOT NULL
) STRICT;

INSERT INTO key_reminder_cursor VALUES (1, '', 9007199254740991, 0);

-- Sessions of a product's customers in the portal, created by the product. `entry_hash` is of the token in the address that opens the
-- session, once and until `entry_expires_at`; `token_hash` is of the cookie, null before. `pages` is a JSON list. The external id and the
-- name are those of the product's user, if known.
CREATE TABLE portal_sessions (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  operator_token_id TEXT NOT NULL REFERENCES operator_tokens (id) ON DELETE CASCADE,
  entry_hash TEXT NOT NULL UNIQUE,
  entry_expires_at INTEGER NOT NULL,
  token_hash TEXT,
  pages TEXT NOT NULL,
  read_only INTEGER NOT NULL,
  user_external_id TEXT,
  user_name TEXT,
  return_url TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX portal_sessions_organization ON portal_sessions (organization_id, expires_at);

CREATE INDEX portal_sessions_operator_token ON portal_sessions (operator_token_id);

CREATE INDEX portal_sessions_expires_at ON portal_sessions (expires_at);

-- Signing in with providers: OpenID providers and GitHub. Those without an organization are of the whole service. An organization's own is
-- trusted only for addresses of its verified domains. `client_secret` is as `Secrets` stores it. With `enforced`, people with an address of
-- a verified domain sign in only with it. `session_max_days` shortens their sessions.
CREATE TABLE identity_providers (
  id TEXT PRIMARY KEY,
  organization_id TEXT UNIQUE REFERENCES organizations (id),
  slug TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('oidc', 'google', 'microsoft', 'github')),
  name TEXT NOT NULL,
  issuer TEXT NOT NULL,
  client_id TEXT NOT NULL,
  client_secret TEXT NOT NULL,
  trust_email INTEGER NOT NULL DEFAULT 0,
  sign_up INTEGER NOT NULL DEFAULT 1,
  position INTEGER NOT NULL,
  role TEXT CHECK (role IN ('ADMIN', 'MEMBER')),
  enforced INTEGER NOT NULL DEFAULT 0,
  session_max_days INTEGER,
  tested_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  -- A new client secret of a required provider, as `Secrets` stores it. A successful test makes it the one that people sign in with.
  pending_secret TEXT,
  -- While `session_max_days` is applied to existing sessions: the last member whose sessions are done.
  shortened_through TEXT,
  CHECK (organization_id IS NULL OR (role IS NOT NULL AND trust_email = 0))
) STRICT, WITHOUT ROWID;

CREATE INDEX identity_providers_shortening ON identity_providers (organization_id) WHERE shortened_through IS NOT NULL;

-- Accounts at providers. `email` is the last one that the provider reported, only for display.
CREATE TABLE identities (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  email TEXT,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  UNIQUE (issuer, subject)
) STRICT, WITHOUT ROWID;

CREATE INDEX identities_user ON identities (user_id);

-- Visits to a provider that haven't returned. `browser_hash` is the SHA-256 of the browser's cookie. `user_id` and
-- `session_id` are set when someone who is signed in connects or tests the provider. `invitation_hash` is of an invitation's link.
CREATE TABLE provider_attempts (
  state_hash TEXT PRIMARY KEY,
  provider_id TEXT NOT NULL REFERENCES identity_providers (id) ON DELETE CASCADE,
  browser_hash TEXT NOT NULL,
  purpose TEXT NOT NULL CHECK (purpose IN ('sign_in', 'confirm', 'link', 'test')),
  user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
  session_id TEXT,
  return_to TEXT,
  invitation_hash TEXT,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX provider_attempts_provider ON provider_attempts (provider_id);

CREATE INDEX provider_attempts_user ON provider_attempts (user_id);

CREATE INDEX provider_attempts_expires_at ON provider_attempts (expires_at);

-- Domains of organizations, in lower case and Punycode. `token` must be in the TXT record. A domain is
-- verified for at most one organization.
CREATE TABLE organization_domains (
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  domain TEXT NOT NULL,
  token TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  verified_at INTEGER,
  -- The next look-up of a verified domain's TXT record, and the first of the look-ups in a row that didn't find it.
  look_up_at INTEGER,
  missing_since INTEGER,
  PRIMARY KEY (organization_id, domain)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX organization_domains_verified ON organization_domains (domain) WHERE verified_at IS NOT NULL;

CREATE INDEX organization_domains_look_up ON organization_domains (look_up_at) WHERE verified_at IS NOT NULL;

-- Dimensions of metrics: usage by the values of up to three properties. `names` is the JSON list of the properties in order, as in the
-- columns. Records up to `unfilled_seq` are not in the sums yet; `complete_since` is the time from which they are complete, null for all time.
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
  removed_at INTEGER,
  -- A dimension that isn't in the catalogue anymore, but closed months are adjusted by it.
  is_kept INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE UNIQUE INDEX usage_dimensions_live ON usage_dimensions (product, metric, names) WHERE removed_at IS NULL;

-- The values of a dimension in a calendar month of UTC, by the number of the organization's live or test usage: JSON lists. The first ones
-- have rows of their own; an empty text stands for all others of the month.
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

-- Additions of a group of records to the sums of values, within its transaction; empty after it. `first_seq` is the first record with
-- the value, and `value_number` the row in which it counts.
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

-- Quantities that an organization bought in advance. They raise its total limit of a product and metric (empty for all). Use of a grant is
-- noted in the transaction that records. `ends_at` is 9007199254740991 without an expiry. For voids, a grant has the first and the last
-- group of records that used it, and the quantities that they took.
CREATE TABLE usage_grants (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  organization INTEGER NOT NULL,
  limit_id TEXT NOT NULL,
  product_slug TEXT NOT NULL,
  metric TEXT NOT NULL,
  quantity_micros INTEGER NOT NULL,
  used_micros INTEGER NOT NULL DEFAULT 0 CHECK (used_micros BETWEEN 0 AND quantity_micros),
  created_at INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  voided_at INTEGER,
  reason TEXT NOT NULL,
  void_reason TEXT,
  idempotency_key TEXT NOT NULL,
  -- `starts_at` is 0 for grants that don't belong to a refill. `turn` is the first day of a refill's turn, in any time zone: each is given once.
  starts_at INTEGER NOT NULL DEFAULT 0,
  refill INTEGER,
  turn TEXT,
  used_at INTEGER,
  -- Grants also raise limits with a window. `per` is that of their limits. `window_takes` is what was last taken for windows, or given back:
  -- a JSON list of window number, place, end and micros.
  per TEXT NOT NULL DEFAULT 'total',
  window_takes TEXT
) STRICT;

CREATE UNIQUE INDEX usage_grants_key ON usage_grants (organization, idempotency_key);

CREATE UNIQUE INDEX usage_grants_turn ON usage_grants (refill, turn) WHERE refill IS NOT NULL;

-- Grants that can be used, in the order of their use.
CREATE INDEX usage_grants_open ON usage_grants (organization, product_slug, metric, per, ends_at, number, starts_at) WHERE voided_at IS NULL AND used_micros < quantity_micros;

CREATE INDEX usage_grants_used ON usage_grants (organization, product_slug, metric, per, ends_at) WHERE used_micros > 0;

CREATE TRIGGER usage_grants_inserted AFTER INSERT ON usage_grants BEGIN INSERT INTO usage_grant_accounts (organization, product_slug, metric, per) VALUES (NEW.organization, NEW.product_slug, NEW.metric, NEW.per) ON CONFLICT DO NOTHING; END;

CREATE TRIGGER usage_grants_taken AFTER UPDATE OF used_micros ON usage_grants WHEN NEW.per = 'total' BEGIN UPDATE usage_grant_accounts SET taken_whole = taken_whole + NEW.used_micros / 1000000 - OLD.used_micros / 1000000, taken_micro = taken_micro + NEW.used_micros % 1000000 - OLD.used_micros % 1000000 WHERE organization = NEW.organization AND product_slug = NEW.product_slug AND metric = NEW.metric AND per = 'total'; END;

CREATE TRIGGER usage_grants_taken_by_windows AFTER UPDATE OF window_takes ON usage_grants WHEN NEW.window_takes IS NOT NULL BEGIN INSERT INTO usage_grant_windows (organization, product_slug, metric, per, window_number, place, ends_at, grant_number, micros) SELECT NEW.organization, NEW.product_slug, NEW.metric, NEW.per, e.value ->> 0, e.value ->> 1, e.value ->> 2, NEW.number, e.value ->> 3 FROM json_each(NEW.window_takes) e WHERE true ON CONFLICT DO UPDATE SET micros = micros + excluded.micros; END;

-- The first group of records after a turn takes from grants that expire. Percentages then count from what was used before it, and can be noted again.
CREATE TRIGGER usage_grants_turned AFTER UPDATE OF used_at ON usage_grants WHEN NEW.per = 'total' AND EXISTS (SELECT 1 FROM usage_grant_accounts WHERE organization = NEW.organization AND product_slug = NEW.product_slug AND metric = NEW.metric AND per = 'total' AND turn_at <= NEW.used_at) BEGIN DELETE FROM limit_notices WHERE organization = NEW.organization AND window_number = 0 AND percent < 100 AND usage_limit IN (SELECT l.number FROM usage_limit_added a CROSS JOIN usage_limits l ON l.number = a.usage_limit WHERE a.organization = NEW.organization AND l.product_slug = NEW.product_slug AND l.metric = NEW.metric AND l.per = 'total' AND l.lineage IS NULL AND l.alert_of IS NULL); UPDATE usage_grant_accounts SET mark_whole = n.sum_high * 67108864 + n.sum_low - a.sum_high * 67108864 - a.sum_low, mark_micro = n.sum_micro - a.sum_micro, mark_opened = iif(n.is_known, NULL, n.opened_seq), turn_at = coalesce((SELECT min(g.starts_at) FROM usage_grants g WHERE g.organization = NEW.organization AND g.product_slug = NEW.product_slug AND g.metric = NEW.metric AND g.per = 'total' AND g.ends_at > NEW.used_at AND g.starts_at > NEW.used_at AND g.voided_at IS NULL AND g.used_micros < g.quantity_micros), 9007199254740991) FROM usage_limit_added a CROSS JOIN usage_limits l ON l.number = a.usage_limit CROSS JOIN usage_limit_counters n ON n.usage_limit = a.usage_limit AND n.organization = a.organization AND n.window_number = a.window_number WHERE usage_grant_accounts.organization = NEW.organization AND usage_grant_accounts.product_slug = NEW.product_slug AND usage_grant_accounts.metric = NEW.metric AND usage_grant_accounts.per = 'total' AND a.organization = NEW.organization AND l.product_slug = NEW.product_slug AND l.metric = NEW.metric AND l.per = 'total' AND l.lineage IS NULL AND l.alert_of IS NULL; END;

-- Metrics that aren't sums of quantities. `property` is that of 'unique'.
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

-- The number of values in a month, and the records with further values beyond the maximum.
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

-- Additions of a group of records to unique values, within its transaction; empty after it.
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

-- The usage of a statement's line by the values of a dimension of its metric: `names` is the JSON list of its properties, `parts` a JSON
-- list of values with their records and sums in millionths, which add up to the line.
CREATE TABLE statement_line_values (
  statement INTEGER NOT NULL,
  organization_id TEXT NOT NULL,
  months_back INTEGER NOT NULL,
  product_slug TEXT NOT NULL,
  metric TEXT NOT NULL,
  names TEXT NOT NULL,
  parts TEXT NOT NULL,
  PRIMARY KEY (statement, organization_id, months_back, product_slug, metric, names)
) STRICT;

CREATE TRIGGER statement_line_values_inserted BEFORE INSERT ON statement_line_values WHEN (SELECT status FROM statements WHERE number = NEW.statement) IS NOT 'closing' BEGIN SELECT RAISE(ABORT, 'a closed statement never changes'); END;

CREATE TRIGGER statement_line_values_updated BEFORE UPDATE ON statement_line_values BEGIN SELECT RAISE(ABORT, 'a line never changes'); END;

CREATE TRIGGER statement_line_values_deleted BEFORE DELETE ON statement_line_values BEGIN SELECT RAISE(ABORT, 'a line is never deleted'); END;

-- Grants that repeat at each turn of the calendar. A refill's grants are written ahead; `write_at` is when its next ones are due.
CREATE TABLE usage_refills (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  organization INTEGER NOT NULL,
  limit_id TEXT NOT NULL,
  product_slug TEXT NOT NULL,
  metric TEXT NOT NULL,
  quantity_micros INTEGER NOT NULL,
  every TEXT NOT NULL,
  rollover INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  voided_at INTEGER,
  reason TEXT NOT NULL,
  void_reason TEXT,
  write_at INTEGER NOT NULL,
  per TEXT NOT NULL DEFAULT 'total'
) STRICT;

CREATE INDEX usage_refills_scope ON usage_refills (organization, product_slug, metric);

CREATE INDEX usage_refills_due ON usage_refills (write_at);

-- Holds of room in limits. `organization` is the number of its usage, `lineage` that of the API key. `records` and `settlement` are JSON:
-- lists of product, metric, whole, micro and properties. `status` is that of the row: an active hold may have expired, and counters have it
-- until it is ended. Its records are `first_seq` and those after it, recorded at `recorded_at`.
CREATE TABLE usage_holds (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  organization INTEGER NOT NULL,
  api_key INTEGER,
  lineage INTEGER,
  held_by TEXT NOT NULL CHECK (held_by IN ('key', 'operator', 'verification')),
  status TEXT NOT NULL CHECK (status IN ('active', 'settled', 'released', 'expired', 'recorded')),
  records TEXT NOT NULL,
  is_recorded_on_expiry INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  -- The requested milliseconds until it expires.
  expires_in INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  ended_at INTEGER,
  kept_until INTEGER,
  idempotency_key TEXT,
  settlement TEXT,
  first_seq INTEGER,
  recorded_at INTEGER
) STRICT;

CREATE UNIQUE INDEX usage_holds_key ON usage_holds (organization, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE INDEX usage_holds_organization ON usage_holds (organization);

CREATE INDEX usage_holds_active ON usage_holds (organization, expires_at) WHERE status = 'active';

CREATE INDEX usage_holds_expiring ON usage_holds (expires_at) WHERE status = 'active';

CREATE INDEX usage_holds_kept ON usage_holds (kept_until) WHERE kept_until IS NOT NULL;

CREATE TRIGGER usage_holds_inserted AFTER INSERT ON usage_holds WHEN NEW.status = 'active'
BEGIN
  INSERT INTO usage_hold_counts (organization, active) VALUES (NEW.organization, 1)
    ON CONFLICT DO UPDATE SET active = active + 1
  ; END;

CREATE TRIGGER usage_holds_ended AFTER UPDATE OF status ON usage_holds WHEN OLD.status = 'active' AND NEW.status <> 'active'
BEGIN
  UPDATE usage_hold_counts SET active = active - 1 WHERE organization = NEW.organization
  ; END;

CREATE TRIGGER usage_holds_deleted AFTER DELETE ON usage_holds WHEN OLD.status = 'active'
BEGIN
  UPDATE usage_hold_counts SET active = active - 1 WHERE organization = OLD.organization
  ; END;

CREATE TRIGGER usage_holds_values_ended AFTER UPDATE OF status ON usage_holds WHEN OLD.status = 'active' AND NEW.status <> 'active'
BEGIN
  DELETE FROM usage_hold_values WHERE hold = NEW.number
  ; END;

CREATE TRIGGER usage_holds_values_deleted AFTER DELETE ON usage_holds WHEN OLD.status = 'active'
BEGIN
  DELETE FROM usage_hold_values WHERE hold = OLD.number
  ; END;

-- How many active holds an organization has, by the number of its usage.
CREATE TABLE usage_hold_counts (
  organization INTEGER PRIMARY KEY,
  active INTEGER NOT NULL
) STRICT;

-- Within a transaction, and empty after it: requests that may hold or settle, and holds that it ends.
CREATE TABLE usage_hold_requests (
  request INTEGER PRIMARY KEY,
  hold INTEGER
) STRICT;

CREATE TABLE usage_holds_ending (
  hold INTEGER PRIMARY KEY
) STRICT;

-- Prices of a metric by the values of a dimension: `names` is the JSON list of its properties, `prices` the list as in the API. Lines of
-- closed statements keep theirs.
CREATE TABLE value_prices (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  product TEXT NOT NULL,
  metric TEXT NOT NULL,
  names TEXT NOT NULL,
  prices TEXT NOT NULL
) STRICT;

CREATE INDEX value_prices_metric ON value_prices (product, metric);

CREATE TRIGGER value_prices_updated BEFORE UPDATE ON value_prices BEGIN SELECT RAISE(ABORT, 'a list of prices never changes'); END;

CREATE TRIGGER value_prices_deleted BEFORE DELETE ON value_prices BEGIN SELECT RAISE(ABORT, 'a list of prices is never deleted'); END;

-- Values that lists have named. They have rows of their own in each month whose row of all others isn't older: its number is above
-- `after_number`.
CREATE TABLE usage_priced_values (
  dimension INTEGER NOT NULL,
  value TEXT NOT NULL,
  after_number INTEGER NOT NULL,
  PRIMARY KEY (dimension, value)
) STRICT, WITHOUT ROWID;

-- Values with a quantity of their own; null for no limit.
CREATE TABLE usage_limit_exceptions (
  usage_limit INTEGER NOT NULL REFERENCES usage_limits (number) ON DELETE CASCADE,
  value TEXT NOT NULL,
  quantity_whole INTEGER,
  quantity_micro INTEGER,
  PRIMARY KEY (usage_limit, value)
) STRICT, WITHOUT ROWID;

-- What counts against a limit of one value in a window. `opened_seq`: the last record before it was opened.
CREATE TABLE usage_value_counters (
  usage_limit INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  window_number INTEGER NOT NULL,
  value TEXT NOT NULL,
  sum_high INTEGER NOT NULL DEFAULT 0,
  sum_low INTEGER NOT NULL DEFAULT 0,
  sum_micro INTEGER NOT NULL DEFAULT 0,
  held_high INTEGER NOT NULL DEFAULT 0,
  held_low INTEGER NOT NULL DEFAULT 0,
  held_micro INTEGER NOT NULL DEFAULT 0,
  opened_seq INTEGER NOT NULL,
  PRIMARY KEY (usage_limit, organization, window_number, value)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER usage_value_counters_inserted AFTER INSERT ON usage_value_counters
BEGIN
  INSERT INTO usage_value_windows (usage_limit, organization, window_number, counters)
    VALUES (NEW.usage_limit, NEW.organization, NEW.window_number, NEW.value <> '(other)')
    ON CONFLICT DO UPDATE SET counters = counters + excluded.counters
  ; END;

-- How many values have a counter in a window, without that of all others.
CREATE TABLE usage_value_windows (
  usage_limit INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  window_number INTEGER NOT NULL,
  counters INTEGER NOT NULL,
  PRIMARY KEY (usage_limit, organization, window_number)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_value_windows_window ON usage_value_windows (window_number);

CREATE INDEX usage_value_windows_organization ON usage_value_windows (organization);

-- The records of an organization that a limit per value has counted: those after `since_seq`, up to `until_seq`, in windows of the
-- time zone of then. Null: it counts them now.
CREATE TABLE usage_value_spans (
  organization INTEGER NOT NULL,
  usage_limit INTEGER NOT NULL,
  since_seq INTEGER NOT NULL,
  until_seq INTEGER,
  timezone TEXT NOT NULL,
  PRIMARY KEY (organization, usage_limit, since_seq)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX usage_value_spans_open ON usage_value_spans (organization, usage_limit) WHERE until_seq IS NULL;

CREATE INDEX usage_value_spans_closed ON usage_value_spans (until_seq) WHERE until_seq IS NOT NULL;

CREATE INDEX usage_value_spans_limit ON usage_value_spans (usage_limit);

-- Within the transaction that records, and empty after it: additions by value. `counter` is the value of the counter, `at` a time in
-- the window.
CREATE TABLE usage_value_added (
  number INTEGER PRIMARY KEY,
  usage_limit INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  window_number INTEGER NOT NULL,
  value TEXT NOT NULL,
  counter TEXT NOT NULL,
  at INTEGER NOT NULL,
  sum_high INTEGER NOT NULL,
  sum_low INTEGER NOT NULL,
  sum_micro INTEGER NOT NULL,
  UNIQUE (usage_limit, organization, window_number, value)
) STRICT;

-- What active holds have taken from counters of values. `counter` is the value of the counter.
CREATE TABLE usage_hold_values (
  number INTEGER PRIMARY KEY,
  hold INTEGER NOT NULL,
  usage_limit INTEGER NOT NULL,
  organization INTEGER NOT NULL,
  window_number INTEGER NOT NULL,
  value TEXT NOT NULL,
  counter TEXT,
  held_high INTEGER NOT NULL,
  held_low INTEGER NOT NULL,
  held_micro INTEGER NOT NULL
) STRICT;

CREATE INDEX usage_hold_values_hold ON usage_hold_values (hold, usage_limit);

CREATE INDEX usage_hold_values_counter ON usage_hold_values (usage_limit, organization, window_number, counter);

CREATE TRIGGER usage_hold_values_inserted AFTER INSERT ON usage_hold_values
BEGIN
  UPDATE usage_hold_values SET counter = iif(
      EXISTS (SELECT 1 FROM usage_value_counters c WHERE c.usage_limit = NEW.usage_limit AND c.organization = NEW.organization
        AND c.window_number = NEW.window_number AND c.value = NEW.value)
      OR EXISTS (SELECT 1 FROM usage_limit_exceptions x WHERE x.usage_limit = NEW.usage_limit AND x.value = NEW.value)
      OR coalesce((SELECT w.counters FROM usage_value_windows w WHERE w.usage_limit = NEW.usage_limit
        AND w.organization = NEW.organization AND w.window_number = NEW.window_number), 0) < 10000, NEW.value, '(other)')
    WHERE number = NEW.number
  ; INSERT INTO usage_value_counters (usage_limit, organization, window_number, value, held_high, held_low, held_micro, opened_seq)
    SELECT v.usage_limit, v.organization, v.window_number, v.counter, v.held_high, v.held_low, v.held_micro, c.seq
    FROM usage_hold_values v CROSS JOIN usage_cursor c WHERE v.number = NEW.number
    ON CONFLICT DO UPDATE SET held_high = held_high + excluded.held_high, held_low = held_low + excluded.held_low,
      held_micro = held_micro + excluded.held_micro
  ; END;

CREATE TRIGGER usage_hold_values_deleted AFTER DELETE ON usage_hold_values
BEGIN
  UPDATE usage_value_counters SET held_high = held_high - OLD.held_high, held_low = held_low - OLD.held_low,
    held_micro = held_micro - OLD.held_micro
    WHERE usage_limit = OLD.usage_limit AND organization = OLD.organization AND window_number = OLD.window_number
      AND value = OLD.counter
  ; END;

-- What windows have taken from grants, in the order of use. It belongs to the calendar window, and outlives the limit and its counter.
CREATE TABLE usage_grant_windows (
  organization INTEGER NOT NULL,
  product_slug TEXT NOT NULL,
  metric TEXT NOT NULL,
  per TEXT NOT NULL,
  window_number INTEGER NOT NULL,
  place INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  grant_number INTEGER NOT NULL,
  micros INTEGER NOT NULL,
  PRIMARY KEY (organization, product_slug, metric, per, window_number, place, ends_at, grant_number)
) STRICT, WITHOUT ROWID;

-- An account for each `per`. Those of windows have no sums.
CREATE TABLE usage_grant_accounts (
  organization INTEGER NOT NULL,
  product_slug TEXT NOT NULL,
  metric TEXT NOT NULL,
  per TEXT NOT NULL DEFAULT 'total',
  taken_whole INTEGER NOT NULL DEFAULT 0,
  taken_micro INTEGER NOT NULL DEFAULT 0,
  mark_whole INTEGER NOT NULL DEFAULT 0,
  mark_micro INTEGER NOT NULL DEFAULT 0,
  mark_opened INTEGER,
  turn_at INTEGER NOT NULL DEFAULT 9007199254740991,
  PRIMARY KEY (organization, product_slug, metric, per)
) STRICT, WITHOUT ROWID;

-- Tells whether there are any.
CREATE INDEX usage_grant_accounts_windows ON usage_grant_accounts (per) WHERE per <> 'total';

-- How events of gateways become usage records. An empty `source` stands for any. `metrics` and `properties` are JSON, as in
-- domain/meter/event_mapping.ts.
CREATE TABLE event_mappings (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  type TEXT NOT NULL,
  source TEXT NOT NULL,
  metrics TEXT NOT NULL,
  properties TEXT NOT NULL,
  subject TEXT,
  created_at INTEGER NOT NULL,
  UNIQUE (type, source)
) STRICT;

-- Subjects of events that don't name an organization. `organization` is its number, `api_key` that of a key of it, if an operator has
-- assigned the subject. `kept` is how many events are in `kept_events`, `lost` how many were not kept because there were too many.
CREATE TABLE event_subjects (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  subject TEXT NOT NULL UNIQUE,
  organization INTEGER,
  api_key INTEGER,
  assigned_at INTEGER,
  first_at INTEGER,
  last_at INTEGER,
  kept INTEGER NOT NULL DEFAULT 0,
  lost INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX event_subjects_organization ON event_subjects (organization) WHERE organization IS NOT NULL;

CREATE INDEX event_subjects_over ON event_subjects (last_at) WHERE organization IS NULL AND kept = 0;

CREATE INDEX event_subjects_due ON event_subjects (number) WHERE organization IS NOT NULL AND kept > 0;

-- Events with an unknown subject. `hash` is that of their source and id.
CREATE TABLE kept_events (
  number INTEGER PRIMARY KEY,
  subject INTEGER NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  event TEXT NOT NULL,
  received_at INTEGER NOT NULL
) STRICT;

CREATE INDEX kept_events_subject ON kept_events (subject);

CREATE INDEX kept_events_received ON kept_events (received_at);

CREATE TRIGGER kept_events_inserted AFTER INSERT ON kept_events
BEGIN
  UPDATE event_subjects SET kept = kept + 1 WHERE number = NEW.subject
  ; UPDATE kept_event_count SET kept = kept + 1
  ; END;

CREATE TRIGGER kept_events_deleted AFTER DELETE ON kept_events
BEGIN
  UPDATE event_subjects SET kept = kept - 1 WHERE number = OLD.subject
  ; UPDATE kept_event_count SET kept = kept - 1
  ; END;

-- `lost`: events of subjects that have no row, because there were too many in all.
CREATE TABLE kept_event_count (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  kept INTEGER NOT NULL,
  lost INTEGER NOT NULL
) STRICT;

INSERT INTO kept_event_count (only_row, kept, lost) VALUES (1, 0, 0);

-- The last events that were not recorded, without their data.
CREATE TABLE event_faults (
  number INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  source TEXT NOT NULL,
  event_id TEXT NOT NULL,
  subject TEXT,
  code TEXT NOT NULL,
  path TEXT NOT NULL,
  message TEXT NOT NULL
) STRICT;

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
-- Applications that sign people in here. `access` is null for everyone, otherwise a JSON object with `organizationIds` and `minRole`.
-- Lists are JSON; `name`s are as operators gave them.
CREATE TABLE oauth_clients (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  type TEXT NOT NULL CHECK (type IN ('confidential', 'public')),
  disabled_at INTEGER,
  secret_hash TEXT,
  grants TEXT NOT NULL,
  redirect_uris TEXT NOT NULL,
  post_logout_redirect_uris TEXT NOT NULL,
  backchannel_logout_uri TEXT,
  access TEXT,
  scopes TEXT NOT NULL,
  -- The id of a resource.
  default_resource TEXT,
  created_at INTEGER NOT NULL,
  -- 1 if people are asked before they give access; 0 for a company's own applications.
  consent INTEGER NOT NULL DEFAULT 1,
  id_token_algorithm TEXT NOT NULL DEFAULT 'RS256' CHECK (id_token_algorithm IN ('RS256', 'ES256')),
  require_pkce INTEGER NOT NULL DEFAULT 1,
  -- A JSON object: names that the claim `groups` has in place of those of this service.
  group_names TEXT NOT NULL DEFAULT '{}'
) STRICT, WITHOUT ROWID;

-- APIs and MCP servers for which applications get tokens. `clients` is null for all.
CREATE TABLE oauth_resources (
  id TEXT PRIMARY KEY,
  uri TEXT NOT NULL,
  compared_uri TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  token_format TEXT NOT NULL CHECK (token_format IN ('opaque', 'jwt')),
  clients TEXT,
  secret_hash TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What a person has given to an application: for one organization, or none. `session_id` is that of the session in which they did;
-- `offline_until` is set for grants that outlive it.
CREATE TABLE oauth_grants (
  id TEXT PRIMARY KEY,
  client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  session_id TEXT NOT NULL,
  organization_id TEXT,
  resource_id TEXT REFERENCES oauth_resources (id) ON DELETE CASCADE,
  scopes TEXT NOT NULL,
  auth_time INTEGER NOT NULL,
  offline_until INTEGER,
  created_at INTEGER NOT NULL,
  -- How the person signed in, as in `sessions`.
  amr TEXT,
  -- Each refresh token is derived from the one before it with this secret.
  refresh_secret TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_grants_client ON oauth_grants (client_id);

CREATE INDEX oauth_grants_user ON oauth_grants (user_id);

CREATE INDEX oauth_grants_session ON oauth_grants (session_id);

CREATE INDEX oauth_grants_resource ON oauth_grants (resource_id);

CREATE INDEX oauth_grants_offline_until ON oauth_grants (offline_until) WHERE offline_until IS NOT NULL;

-- Only hashes. `scopes` may be narrower than those of the grant.
CREATE TABLE oauth_tokens (
  token_hash TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('access', 'refresh')),
  grant_id TEXT NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
  scopes TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  -- When a refresh token was used, and the one that replaced it.
  used_at INTEGER,
  successor_hash TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_tokens_grant ON oauth_tokens (grant_id);

CREATE INDEX oauth_tokens_expires_at ON oauth_tokens (expires_at);

-- Codes that applications exchange for tokens, once. A used one is kept so that a second use ends what the first received.
CREATE TABLE oauth_codes (
  code_hash TEXT PRIMARY KEY,
  client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  session_id TEXT NOT NULL,
  organization_id TEXT,
  resource_id TEXT REFERENCES oauth_resources (id) ON DELETE CASCADE,
  scopes TEXT NOT NULL,
  redirect_uri TEXT NOT NULL,
  challenge TEXT,
  nonce TEXT,
  auth_time INTEGER NOT NULL,
  amr TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at INTEGER,
  grant_id TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_codes_client ON oauth_codes (client_id);

CREATE INDEX oauth_codes_user ON oauth_codes (user_id);

CREATE INDEX oauth_codes_resource ON oauth_codes (resource_id);

CREATE INDEX oauth_codes_session ON oauth_codes (session_id, expires_at);

CREATE INDEX oauth_codes_expires_at ON oauth_codes (expires_at);

-- What a person has allowed an application. Empty texts stand for no organization and no resource.
CREATE TABLE oauth_consents (
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
  organization_id TEXT NOT NULL,
  resource_id TEXT NOT NULL,
  scopes TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, client_id, organization_id, resource_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_consents_client ON oauth_consents (client_id);

-- Keys of ID tokens. They are numbered, so that several servers make each of them once. `private_key` is sealed.
CREATE TABLE oauth_signing_keys (
  algorithm TEXT NOT NULL CHECK (algorithm IN ('RS256', 'ES256')),
  number INTEGER NOT NULL,
  id TEXT NOT NULL UNIQUE,
  private_key TEXT NOT NULL,
  public_key TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  signs_from INTEGER NOT NULL,
  PRIMARY KEY (algorithm, number)
) STRICT, WITHOUT ROWID;

-- Requests that are too long for a parameter, while their person signs in. Only the browser has the token.
CREATE TABLE oauth_requests (
  token_hash TEXT PRIMARY KEY,
  query TEXT NOT NULL,
  address TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_requests_address ON oauth_requests (address, expires_at);

CREATE INDEX oauth_requests_expires_at ON oauth_requests (expires_at);

-- Devices that ask to be connected. `session_id` is that of the person who entered the code, and compares it.
CREATE TABLE oauth_devices (
  device_hash TEXT PRIMARY KEY,
  user_code TEXT NOT NULL UNIQUE,
  client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
  resource_id TEXT REFERENCES oauth_resources (id) ON DELETE CASCADE,
  scopes TEXT NOT NULL,
  address TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('waiting', 'allowed', 'denied')),
  session_id TEXT,
  organization_id TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_devices_client ON oauth_devices (client_id);

CREATE INDEX oauth_devices_resource ON oauth_devices (resource_id);

CREATE INDEX oauth_devices_address ON oauth_devices (address, expires_at);

CREATE INDEX oauth_devices_expires_at ON oauth_devices (expires_at);

-- Sessions, and access to organizations, that ended: applications with `backchannel_logout_uri` are told. `due_at` is when the next
-- attempt is made. The times of the session tell whether it had expired anyway.
CREATE TABLE oauth_logouts (
  number INTEGER PRIMARY KEY,
  client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  session_created_at INTEGER,
  session_seen_at INTEGER,
  session_expires_at INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL DEFAULT 0,
  UNIQUE (client_id, session_id)
) STRICT;

CREATE INDEX oauth_logouts_due_at ON oauth_logouts (due_at);

-- Clients whose id is the URL of a metadata document also have a row in `oauth_clients`, which is its copy.
CREATE TABLE oauth_documents (
  id TEXT PRIMARY KEY,
  client_id TEXT NOT NULL UNIQUE REFERENCES oauth_clients (id) ON DELETE CASCADE,
  host TEXT NOT NULL,
  -- Of what was read, to notice changes.
  content_hash TEXT NOT NULL,
  read_at INTEGER NOT NULL,
  fresh_until INTEGER NOT NULL,
  -- A JWKS with the public keys of its assertions, and the URL that has them, if the document hasn't.
  keys TEXT,
  keys_uri TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_documents_read_at ON oauth_documents (read_at);

-- Assertions with which clients authenticated: each works once.
CREATE TABLE oauth_assertions (
  client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
  assertion_hash TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (client_id, assertion_hash)
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_assertions_expires_at ON oauth_assertions (expires_at);

-- Access ends with the session, except for grants that outlive it.
CREATE TRIGGER sessions_logged_out AFTER DELETE ON sessions
WHEN EXISTS (SELECT 1 FROM oauth_grants g WHERE g.session_id = OLD.id)
BEGIN
  INSERT INTO oauth_logouts (client_id, user_id, session_id, session_created_at, session_seen_at, session_expires_at)
    SELECT DISTINCT g.client_id, g.user_id, g.session_id, OLD.created_at, OLD.last_seen_at, OLD.expires_at
    FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
    WHERE g.session_id = OLD.id AND c.backchannel_logout_uri IS NOT NULL ON CONFLICT DO NOTHING
  ; DELETE FROM oauth_grants WHERE session_id = OLD.id AND offline_until IS NULL
  ; END;

CREATE TRIGGER memberships_ended_grants AFTER DELETE ON memberships
WHEN EXISTS (SELECT 1 FROM oauth_grants g WHERE g.user_id = OLD.user_id AND g.organization_id = OLD.organization_id)
BEGIN
  INSERT INTO oauth_logouts (client_id, user_id, session_id)
    SELECT DISTINCT g.client_id, g.user_id, g.session_id FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
    WHERE g.user_id = OLD.user_id AND g.organization_id = OLD.organization_id
      AND c.backchannel_logout_uri IS NOT NULL ON CONFLICT DO NOTHING
  ; DELETE FROM oauth_grants WHERE user_id = OLD.user_id AND organization_id = OLD.organization_id
  ; END;

-- Access that outlives sessions ends with a new password, when all sessions are ended, and when the person is disabled.
CREATE TRIGGER users_ended_offline_grants AFTER UPDATE OF access_ended_at ON users
WHEN EXISTS (SELECT 1 FROM oauth_grants g WHERE g.user_id = NEW.id)
BEGIN
  INSERT INTO oauth_logouts (client_id, user_id, session_id)
    SELECT DISTINCT g.client_id, g.user_id, g.session_id FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
    WHERE g.user_id = NEW.id AND g.offline_until IS NOT NULL AND c.backchannel_logout_uri IS NOT NULL ON CONFLICT DO NOTHING
  ; DELETE FROM oauth_grants WHERE user_id = NEW.id AND offline_until IS NOT NULL
  ; END;

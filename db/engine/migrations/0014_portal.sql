-- What the portal remembers: forms that were sent, the last use of a key, and how people look at usage.

-- The one-time token of the form that created a key, so that a form that is sent again doesn't create another.
ALTER TABLE api_keys ADD COLUMN form_token TEXT;

CREATE UNIQUE INDEX api_keys_form_token ON api_keys (organization_id, form_token) WHERE form_token IS NOT NULL;

-- The last request with a key, also a rejected one: the network of the address, the user agent, and the status of the response
-- with what was wrong.
ALTER TABLE api_keys ADD COLUMN last_request_at INTEGER;

ALTER TABLE api_keys ADD COLUMN last_request_network TEXT;

ALTER TABLE api_keys ADD COLUMN last_request_agent TEXT;

ALTER TABLE api_keys ADD COLUMN last_request_status INTEGER;

ALTER TABLE api_keys ADD COLUMN last_request_error TEXT;

-- The time zone and, in an organization, the metric that a person last chose for usage.
ALTER TABLE users ADD COLUMN usage_timezone TEXT;

ALTER TABLE memberships ADD COLUMN usage_metric TEXT;

-- Where a voided record stands in the list of records, so that the voided ones of an organization can be listed.
ALTER TABLE usage_voids ADD COLUMN organization INTEGER;

ALTER TABLE usage_voids ADD COLUMN timestamp INTEGER;

ALTER TABLE usage_voids ADD COLUMN series INTEGER;

UPDATE usage_voids SET organization = r.organization, timestamp = r.timestamp, series = r.series
FROM usage_records r WHERE r.seq = usage_voids.seq;

CREATE INDEX usage_voids_timestamp ON usage_voids (organization, timestamp, series);

-- The entries about one key, member or organization.
CREATE INDEX audit_events_target ON audit_events (organization_id, target_id, action, at) WHERE target_id IS NOT NULL;

-- Active keys of an organization, and those that ended last.
CREATE INDEX api_keys_end ON api_keys (organization_id, coalesce(revoked_at, expires_at, 9007199254740991));

-- A new client secret of a required provider, as `Secrets` stores it. A successful test makes it the one that people sign in with.
ALTER TABLE identity_providers ADD COLUMN pending_secret TEXT;

-- When a verified domain's TXT record is looked up next, and since when look-ups have not found it. Null for domains that aren't verified.
ALTER TABLE organization_domains ADD COLUMN look_up_at INTEGER;

ALTER TABLE organization_domains ADD COLUMN missing_since INTEGER;

UPDATE organization_domains SET look_up_at = verified_at WHERE verified_at IS NOT NULL;

CREATE INDEX organization_domains_look_up ON organization_domains (look_up_at) WHERE verified_at IS NOT NULL;

-- The identity that a sign-in with a provider began with. It is connected, and its person becomes a member, when the second step passes.
ALTER TABLE pending_sign_ins ADD COLUMN issuer TEXT;

ALTER TABLE pending_sign_ins ADD COLUMN subject TEXT;

ALTER TABLE pending_sign_ins ADD COLUMN identity_email TEXT;

-- The host that a passkey works at, which was in BASE_URL when it was added. Null for older ones until they are used.
ALTER TABLE passkeys ADD COLUMN host TEXT;

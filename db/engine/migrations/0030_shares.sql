-- Endpoints are slow until so many attempts in a row were quick: `quick_attempts` of those that are slow. `served` orders the turns of the endpoints of an
-- organization: it is higher than that of the others after each turn.
ALTER TABLE webhooks ADD COLUMN quick_attempts INTEGER NOT NULL DEFAULT 0;

ALTER TABLE webhooks ADD COLUMN served INTEGER NOT NULL DEFAULT 0;

-- While an organization's rules shorten the sessions of its members: the last member whose sessions are done.
ALTER TABLE identity_providers ADD COLUMN shortened_through TEXT;

CREATE INDEX identity_providers_shortening ON identity_providers (organization_id) WHERE shortened_through IS NOT NULL;

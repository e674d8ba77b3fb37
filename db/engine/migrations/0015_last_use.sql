-- When an organization's keys were last used: read for every organization that an operator opens, however many keys it has.
CREATE INDEX api_keys_last_used ON api_keys (organization_id, last_used_at);

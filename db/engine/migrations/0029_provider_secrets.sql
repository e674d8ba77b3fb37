-- A new client secret of a required provider, as `Secrets` stores it. A successful test makes it the one that people sign in with.
ALTER TABLE identity_providers ADD COLUMN pending_secret TEXT;

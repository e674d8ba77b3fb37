-- How many active holds an organization may have, and overrides of it.
ALTER TABLE plans ADD COLUMN holds_max INTEGER NOT NULL DEFAULT 10000;

ALTER TABLE organizations ADD COLUMN holds_max INTEGER;

-- The budget that new keys get, a JSON array of limits, each with its quantity and its whole and micro parts.
ALTER TABLE plans ADD COLUMN default_budget TEXT NOT NULL DEFAULT '[]';

-- The price of one unit of a metric, an exact decimal text; null: none.
ALTER TABLE product_metrics ADD COLUMN unit_price TEXT;

-- The price and the currency when a month was closed.
ALTER TABLE statement_lines ADD COLUMN unit_price TEXT;

ALTER TABLE statements ADD COLUMN currency TEXT;

-- A person's number and date format, an identifier of BCP 47, and theme; null: that of the browser.
ALTER TABLE users ADD COLUMN locale TEXT;

ALTER TABLE users ADD COLUMN theme TEXT CHECK (theme IN ('light', 'dark'));

-- Operators list organizations that have nearly or completely used a limit in a current window.
CREATE INDEX usage_limit_notices_window ON usage_limit_notices (window_number, organization);

-- All organizations, with what operators filter them by.
CREATE INDEX organizations_listed ON organizations (number, plan, suspended_at) WHERE deleted_at IS NULL;

-- Keys are found by the first characters of a key, in upper or lower case.
CREATE INDEX api_keys_prefix ON api_keys (key_prefix COLLATE NOCASE);

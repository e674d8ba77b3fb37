-- The price of one unit of a metric, an exact decimal text; null: none.
ALTER TABLE product_metrics ADD COLUMN unit_price TEXT;

-- The price and the currency when a month was closed.
ALTER TABLE statement_lines ADD COLUMN unit_price TEXT;

ALTER TABLE statements ADD COLUMN currency TEXT;

-- A person's number and date format, an identifier of BCP 47, and theme; null: that of the browser.
ALTER TABLE users ADD COLUMN locale TEXT;

ALTER TABLE users ADD COLUMN theme TEXT CHECK (theme IN ('light', 'dark'));

-- Keys are found by the first characters of a key, in upper or lower case.
CREATE INDEX api_keys_prefix ON api_keys (key_prefix COLLATE NOCASE);

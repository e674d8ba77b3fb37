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

-- `unit_price` is then null.
ALTER TABLE product_metrics ADD COLUMN price_list INTEGER;

-- A dimension that isn't in the catalogue anymore, but closed months are adjusted by it.
ALTER TABLE usage_dimensions ADD COLUMN is_kept INTEGER NOT NULL DEFAULT 0;

-- A line that is priced by values has their amounts, added up: an integer in 10^-18.
ALTER TABLE statement_lines ADD COLUMN price_list INTEGER;

ALTER TABLE statement_lines ADD COLUMN value_amount TEXT;

CREATE INDEX statement_lines_price_list ON statement_lines (price_list) WHERE price_list IS NOT NULL;

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

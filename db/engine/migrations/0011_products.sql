-- The catalogue of products: names and units for what is recorded. Usage refers to it by slug and can exist without it.
CREATE TABLE products (
  slug TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE product_metrics (
  product TEXT NOT NULL REFERENCES products (slug) ON DELETE CASCADE,
  slug TEXT NOT NULL,
  name TEXT NOT NULL,
  unit TEXT,
  position INTEGER NOT NULL,
  PRIMARY KEY (product, slug)
) STRICT, WITHOUT ROWID;

-- Operators list organizations by name.
CREATE INDEX organizations_name ON organizations (name COLLATE NOCASE, external_id) WHERE deleted_at IS NULL;

-- Such invitations have no `invited_by`.
ALTER TABLE invitations ADD COLUMN invited_by_operator INTEGER NOT NULL DEFAULT 0;

-- What a plan includes, as a JSON array of names in ascending order. Gatehouse stores and reports them.
ALTER TABLE plans ADD COLUMN features TEXT NOT NULL DEFAULT '[]';

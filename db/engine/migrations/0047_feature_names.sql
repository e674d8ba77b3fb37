-- What customers read instead of the features of their plan: a JSON object of names by feature.
ALTER TABLE plans ADD COLUMN feature_names TEXT NOT NULL DEFAULT '{}';

-- What operators search: names, email addresses and external ids. The indexes find any part of a text that has at least three
-- characters, in upper or lower case, with or without accents. Triggers keep them up to date.

CREATE VIRTUAL TABLE organization_search USING fts5 (
  name, external_id, content = 'organizations', content_rowid = 'number', tokenize = 'trigram remove_diacritics 1'
);

CREATE TRIGGER organization_search_insert AFTER INSERT ON organizations BEGIN
  INSERT INTO organization_search (rowid, name, external_id) VALUES (new.number, new.name, new.external_id); END;

CREATE TRIGGER organization_search_update AFTER UPDATE OF name, external_id ON organizations BEGIN
  INSERT INTO organization_search (organization_search, rowid, name, external_id)
  VALUES ('delete', old.number, old.name, old.external_id); INSERT INTO organization_search (rowid, name, external_id)
  VALUES (new.number, new.name, new.external_id); END;

CREATE TRIGGER organization_search_delete AFTER DELETE ON organizations BEGIN
  INSERT INTO organization_search (organization_search, rowid, name, external_id)
  VALUES ('delete', old.number, old.name, old.external_id); END;

INSERT INTO organization_search (organization_search) VALUES ('rebuild');

-- Users have no number of their own. This one is also the order of the operators' list: the order of creation.
CREATE TABLE user_texts (
  number INTEGER PRIMARY KEY,
  user_id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  email TEXT NOT NULL
) STRICT;

CREATE VIRTUAL TABLE user_search USING fts5 (
  name, email, content = 'user_texts', content_rowid = 'number', tokenize = 'trigram remove_diacritics 1'
);

INSERT INTO user_texts (user_id, name, email) SELECT id, name, email FROM users ORDER BY id;

INSERT INTO user_search (user_search) VALUES ('rebuild');

CREATE TRIGGER user_texts_insert AFTER INSERT ON users BEGIN
  INSERT INTO user_texts (user_id, name, email) VALUES (new.id, new.name, new.email); END;

CREATE TRIGGER user_texts_update AFTER UPDATE OF name, email ON users BEGIN
  UPDATE user_texts SET name = new.name, email = new.email WHERE user_id = new.id; END;

CREATE TRIGGER user_texts_delete AFTER DELETE ON users BEGIN
  DELETE FROM user_texts WHERE user_id = old.id; END;

CREATE TRIGGER user_search_insert AFTER INSERT ON user_texts BEGIN
  INSERT INTO user_search (rowid, name, email) VALUES (new.number, new.name, new.email); END;

CREATE TRIGGER user_search_update AFTER UPDATE OF name, email ON user_texts BEGIN
  INSERT INTO user_search (user_search, rowid, name, email)
  VALUES ('delete', old.number, old.name, old.email); INSERT INTO user_search (rowid, name, email)
  VALUES (new.number, new.name, new.email); END;

CREATE TRIGGER user_search_delete AFTER DELETE ON user_texts BEGIN
  INSERT INTO user_search (user_search, rowid, name, email) VALUES ('delete', old.number, old.name, old.email); END;

CREATE INDEX users_disabled_at ON users (disabled_at) WHERE disabled_at IS NOT NULL;

-- The log of what operators did, by action and by operator.
CREATE INDEX audit_events_operator_action ON audit_events (action, at) WHERE actor_type = 'operator';

CREATE INDEX audit_events_operator_actor ON audit_events (actor_id, action, at) WHERE actor_type = 'operator';

-- No row can be stored here. A batch that is written for a session starts with a statement that inserts a row when the session
-- has ended or its role no longer allows the act; the constraint then fails and undoes the whole batch.
CREATE TABLE refused_writes (
  reason TEXT NOT NULL,
  CONSTRAINT session_may_write CHECK (0)
) STRICT;

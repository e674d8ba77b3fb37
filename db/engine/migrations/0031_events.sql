-- The functions that change rows write the events of closed statements and of audited changes. Until then, triggers did.
DROP TRIGGER audit_events_told;

DROP TRIGGER statements_told;

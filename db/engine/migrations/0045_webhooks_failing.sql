-- Lists the failing endpoints of all customers.
CREATE INDEX webhooks_failing ON webhooks (failing_since)
  WHERE failing_since IS NOT NULL AND disabled_at IS NULL AND deleted_at IS NULL;

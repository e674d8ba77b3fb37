-- A void gives back to grants in the reverse order of use, whichever record used them.
DROP INDEX usage_grants_used;

ALTER TABLE usage_grants DROP COLUMN first_seq;

ALTER TABLE usage_grants DROP COLUMN first_end;

ALTER TABLE usage_grants DROP COLUMN first_micros;

ALTER TABLE usage_grants DROP COLUMN last_start;

ALTER TABLE usage_grants DROP COLUMN last_seq;

ALTER TABLE usage_grants DROP COLUMN last_micros;

CREATE INDEX usage_grants_used ON usage_grants (organization, product_slug, metric, per, ends_at) WHERE used_micros > 0;

ALTER TABLE usage_limit_counters DROP COLUMN after_seq;

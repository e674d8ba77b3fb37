-- The quantity of the limit at that moment; null in notices of earlier versions. A limit that rejected a request has no more room than then unless it is
-- higher or less is used.
ALTER TABLE limit_notices ADD COLUMN quantity_whole INTEGER;

ALTER TABLE limit_notices ADD COLUMN quantity_micro INTEGER;

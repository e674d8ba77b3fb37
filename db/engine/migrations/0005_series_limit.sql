-- How many series an organization has: counting them would cost as much as they are many, in every commit that adds one.
-- Kept by triggers, so that nothing that adds or deletes a series can forget it.
ALTER TABLE organizations ADD COLUMN series INTEGER NOT NULL DEFAULT 0;

UPDATE organizations SET series = (SELECT count(*) FROM usage_series s WHERE s.organization = organizations.number);

CREATE TRIGGER usage_series_inserted AFTER INSERT ON usage_series BEGIN UPDATE organizations SET series = series + 1 WHERE number = NEW.organization; END;

CREATE TRIGGER usage_series_deleted AFTER DELETE ON usage_series BEGIN UPDATE organizations SET series = series - 1 WHERE number = OLD.organization; END;

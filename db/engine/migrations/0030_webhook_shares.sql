-- Endpoints are slow until so many attempts in a row were quick: `quick_attempts` of those that are slow. `served` orders the turns of the endpoints of an
-- organization: it is higher than that of the others after each turn.
ALTER TABLE webhooks ADD COLUMN quick_attempts INTEGER NOT NULL DEFAULT 0;

ALTER TABLE webhooks ADD COLUMN served INTEGER NOT NULL DEFAULT 0;

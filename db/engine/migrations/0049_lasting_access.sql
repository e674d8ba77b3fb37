-- When all sessions of a person were last ended. Access of applications that outlives sessions ends then, too.
ALTER TABLE users ADD COLUMN access_ended_at INTEGER;

-- When the person last entered a password or a code, used a passkey, or signed in at a provider that says when; null if unknown.
ALTER TABLE sessions ADD COLUMN entered_at INTEGER;

CREATE INDEX oauth_grants_offline_until ON oauth_grants (offline_until) WHERE offline_until IS NOT NULL;

DROP TRIGGER users_ended_offline_grants;

-- Access that outlives sessions ends with a new password, when all sessions are ended, and when the person is disabled.
CREATE TRIGGER users_ended_offline_grants AFTER UPDATE OF access_ended_at ON users
WHEN EXISTS (SELECT 1 FROM oauth_grants g WHERE g.user_id = NEW.id)
BEGIN
  INSERT INTO oauth_logouts (client_id, user_id, session_id)
    SELECT DISTINCT g.client_id, g.user_id, g.session_id FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
    WHERE g.user_id = NEW.id AND g.offline_until IS NOT NULL AND c.backchannel_logout_uri IS NOT NULL ON CONFLICT DO NOTHING
  ; DELETE FROM oauth_grants WHERE user_id = NEW.id AND offline_until IS NOT NULL
  ; END;

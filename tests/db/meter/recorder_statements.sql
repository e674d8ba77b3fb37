-- The statements of the recorder as they run, in their order: see db/meter/recorder.ts. Each is described once: the variants
-- name those that they share. (q1) is a subquery that occurs more than once. /* 1 to 2 */
-- replaces these lines. ?1 is the records or targets, ?2 the series and ?3 the time.

-- Requests with API keys: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
/* 1 */ SELECT json_group_array(json_object('position', e.key, 'id', k.id, 'denial', CASE WHEN k.addresses IS NOT NULL THEN 'addresses' WHEN o.suspended_at IS NOT NULL THEN 'suspended' WHEN NOT instr(k.permissions, '"usage:write"') > 0 THEN 'permission' END, 'environment', k.environment, 'seq', (SELECT seq FROM usage_cursor), 'hasLimits', EXISTS (SELECT 1 FROM usage_limits), 'hasDimensions', (EXISTS (SELECT 1 FROM usage_dimensions WHERE removed_at IS NULL) OR EXISTS (SELECT 1 FROM usage_aggregations WHERE removed_at IS NULL AND aggregation IN ('last', 'unique'))), 'hasHolds', EXISTS (SELECT 1 FROM usage_holds WHERE status = 'active'), 'hasValueLimits', EXISTS (SELECT 1 FROM usage_limits WHERE property <> ''), 'requestsPerSecond', coalesce(o.requests_per_second, (SELECT pl.requests_per_second FROM plans pl WHERE pl.number = o.plan)), 'ownRequestsPerSecond', k.requests_per_second, 'addresses', k.addresses )) AS list
FROM json_each(?1) e JOIN api_keys k ON k.key_hash = e.value AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?3)
AND k.disabled_at IS NULL JOIN organizations o ON o.id = k.organization_id
/* q1 */ SELECT 1 FROM usage_series us WHERE us.organization = iif(k.environment = 'test', -o.number, o.number) AND us.product_slug = e.value ->> 1
AND us.metric = e.value ->> 2 AND us.api_key = k.number
/* 2 */ SELECT json_group_array(json_object('position', position, 'organization', organization, 'seriesMax', series_max, 'room', room)) AS list FROM (
  SELECT n.*, count(*) OVER (PARTITION BY organization) AS requested FROM (
    SELECT CAST(e.key AS INTEGER) AS position, o.number AS organization, iif(k.environment = 'test', -o.number, o.number) AS usage_number, e.value ->> 1 AS product_slug, e.value ->> 2 AS metric, k.number AS api_key, coalesce(o.usage_series_max, (SELECT pl.usage_series_max FROM plans pl WHERE pl.number = o.plan)) AS series_max, coalesce(o.usage_series_max, (SELECT pl.usage_series_max FROM plans pl WHERE pl.number = o.plan)) - o.series AS room
    FROM json_each(?2) e JOIN api_keys k ON k.key_hash = e.value ->> 0 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?3)
    AND k.disabled_at IS NULL JOIN organizations o ON o.id = k.organization_id
    WHERE o.series + json_array_length(?2) > coalesce(o.usage_series_max, (SELECT pl.usage_series_max FROM plans pl WHERE pl.number = o.plan))
    AND CASE WHEN k.addresses IS NOT NULL THEN 'addresses' WHEN o.suspended_at IS NOT NULL THEN 'suspended' WHEN NOT instr(k.permissions, '"usage:write"') > 0 THEN 'permission' END IS NULL
    AND true AND NOT EXISTS (SELECT 1 FROM usage_limits)
    AND NOT (EXISTS (SELECT 1 FROM usage_dimensions WHERE removed_at IS NULL) OR EXISTS (SELECT 1 FROM usage_aggregations WHERE removed_at IS NULL AND aggregation IN ('last', 'unique')))
    AND NOT EXISTS (q1)
  ) n
) WHERE requested > room
/* 3 */ 2 with other lines, /* 1 to 2 */ INSERT INTO usage_series (organization, product_slug, metric, api_key) SELECT usage_number, product_slug, metric, api_key FROM (
  SELECT n.*, row_number() OVER (PARTITION BY organization ORDER BY position) AS rank FROM (
/* 5 to 6 */     AND k.disabled_at IS NULL JOIN organizations o ON o.id = k.organization_id WHERE true
/* 12 */ ) WHERE rank <= room ORDER BY position
/* q2 */ SELECT CAST(e.key AS INTEGER) AS position, us.id, us.organization, us.product_slug, us.metric FROM json_each(?2) e
JOIN api_keys k ON k.key_hash = e.value ->> 0 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?3) AND k.disabled_at IS NULL
JOIN organizations o ON o.id = k.organization_id JOIN usage_series us ON us.organization = iif(k.environment = 'test', -o.number, o.number)
AND us.product_slug = e.value ->> 1 AND us.metric = e.value ->> 2 AND us.api_key = k.number
WHERE CASE WHEN k.addresses IS NOT NULL THEN 'addresses' WHEN o.suspended_at IS NOT NULL THEN 'suspended' WHEN NOT instr(k.permissions, '"usage:write"') > 0 THEN 'permission' END IS NULL
AND true AND NOT EXISTS (SELECT 1 FROM usage_limits)
AND NOT (EXISTS (SELECT 1 FROM usage_dimensions WHERE removed_at IS NULL) OR EXISTS (SELECT 1 FROM usage_aggregations WHERE removed_at IS NULL AND aggregation IN ('last', 'unique')))
AND true
/* q3 */ SELECT DISTINCT CAST(substr(e.value, 6, 5) AS INTEGER) AS request FROM json_each(?1) e WHERE NOT (SELECT count(*) FROM series) = json_array_length(?2)
AND CAST(substr(e.value, 1, 5) AS INTEGER) NOT IN (SELECT position FROM series)
/* 4 */ WITH series AS MATERIALIZED (q2), blocked AS MATERIALIZED (q3)
INSERT INTO usage_records (seq, organization, series, timestamp, recorded_at, quantity_whole, quantity_micro, idempotency_key, properties)
SELECT c.seq + e.key + 1, s.organization, s.id, CAST(substr(e.value, 12, 14) AS INTEGER), ?3, CAST(substr(e.value, 26, 16) AS INTEGER), CAST(substr(e.value, 42, 6) AS INTEGER), NULL, nullif(substr(e.value, 66 + CAST(substr(e.value, 63, 3) AS INTEGER)), '')
FROM json_each(?1) e CROSS JOIN series s ON s.position = CAST(substr(e.value, 1, 5) AS INTEGER) CROSS JOIN usage_cursor c ON c.only_row = 1
WHERE ((SELECT count(*) FROM series) = json_array_length(?2) OR CAST(substr(e.value, 6, 5) AS INTEGER) NOT IN (SELECT request FROM blocked))
/* 5 */ INSERT INTO usage_added (organization, series, quarter, count, sum_high, sum_low, sum_micro, smallest, largest)
SELECT r.organization, r.series, r.timestamp / 900000, count(*) AS count, sum(r.quantity_whole >> 26) AS sum_high, sum(r.quantity_whole & 67108863) AS sum_low, sum(r.quantity_micro) AS sum_micro, min(iif(r.quantity_whole < 9000000000000, r.quantity_whole * 1000000 + r.quantity_micro, format('%016d%06d', r.quantity_whole, r.quantity_micro))) AS smallest, max(iif(r.quantity_whole < 9000000000000, r.quantity_whole * 1000000 + r.quantity_micro, format('%016d%06d', r.quantity_whole, r.quantity_micro))) AS largest
FROM usage_records r WHERE r.seq > (SELECT seq FROM usage_cursor) AND true GROUP BY 2, 3
/* 6 */ INSERT INTO statement_changes (organization, month, latest) SELECT DISTINCT a.organization, m.number, n.number FROM statements n
CROSS JOIN usage_added a CROSS JOIN statements m WHERE n.number = (SELECT max(number) FROM statements) AND a.quarter * 900000 < n.end_at
AND m.number = (SELECT s.number FROM statements s WHERE s.start_at <= a.quarter * 900000 ORDER BY s.start_at DESC LIMIT 1) AND a.organization > 0
ON CONFLICT DO NOTHING
/* 7 */ 5 with other lines, /* 2 to 3 */ SELECT iif(a.organization < 0, -2147483648, 0), s.total, a.quarter, sum(a.count), sum(a.sum_high), sum(a.sum_low), sum(a.sum_micro), min(a.smallest), max(a.largest)
FROM usage_added a JOIN usage_series s ON s.id = a.series GROUP BY 2, 3
/* 8 */ INSERT INTO usage_rollups (series, quarter, count, sum_high, sum_low, sum_micro, smallest, largest)
SELECT series, quarter / 1, count, sum_high, sum_low, sum_micro, smallest, largest FROM usage_added WHERE true ON CONFLICT (series, quarter) DO UPDATE
SET count = count + excluded.count, sum_high = sum_high + excluded.sum_high, sum_low = sum_low + excluded.sum_low, sum_micro = sum_micro + excluded.sum_micro, smallest = iif(count = 0, excluded.smallest, min(smallest, excluded.smallest)), largest = iif(count = 0, excluded.largest, max(largest, excluded.largest))
/* 9 */ 8 with other lines, /* 1 to 2 */ INSERT INTO usage_rollups_hourly (series, hour, count, sum_high, sum_low, sum_micro, smallest, largest)
SELECT series, quarter / 4, count, sum_high, sum_low, sum_micro, smallest, largest FROM usage_added WHERE true ON CONFLICT (series, hour) DO UPDATE
/* 10 */ INSERT INTO usage_rollups_monthly (month, organization, series, count, sum_high, sum_low, sum_micro, smallest, largest, first_quarter, last_quarter)
SELECT ((strftime('%Y', quarter * 900000 / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', quarter * 900000 / 1000, 'unixepoch') - 1), organization, series, count, sum_high, sum_low, sum_micro, smallest, largest, quarter, quarter
FROM usage_added WHERE true ON CONFLICT (month, organization, series) DO UPDATE
SET count = count + excluded.count, sum_high = sum_high + excluded.sum_high, sum_low = sum_low + excluded.sum_low, sum_micro = sum_micro + excluded.sum_micro, smallest = iif(count = 0, excluded.smallest, min(smallest, excluded.smallest)), largest = iif(count = 0, excluded.largest, max(largest, excluded.largest)), first_quarter = min(first_quarter, excluded.first_quarter), last_quarter = max(last_quarter, excluded.last_quarter)
/* 11 */ DELETE FROM usage_added
/* 12 */ WITH series AS MATERIALIZED (q2) DELETE FROM usage_series
WHERE (SELECT count(*) FROM usage_records n WHERE n.seq > (SELECT seq FROM usage_cursor)) < ?4 AND id IN (SELECT id FROM series) AND is_held = 0
AND NOT EXISTS (SELECT 1 FROM usage_rollups r WHERE r.series = usage_series.id)
/* 13 */ UPDATE usage_cursor AS c
SET seq = seq + ?1, recent_moved = iif(recent_moved + ?2 * 4294967296 >= 281474976710656, 0, recent_moved + ?2 * 4294967296), middle_moved = iif(middle_moved + ?2 * 268435456 >= 281474976710656, 0, middle_moved + ?2 * 268435456)
WHERE only_row = 1 AND EXISTS (SELECT 1 FROM usage_records n WHERE n.seq > c.seq)
/* 14 */ UPDATE api_keys AS k SET last_used_at = ?3 WHERE k.key_hash IN (SELECT value FROM json_each(?1)) AND k.revoked_at IS NULL
AND (k.expires_at IS NULL OR k.expires_at > ?3) AND k.disabled_at IS NULL AND (k.last_used_at IS NULL OR k.last_used_at <= ?2)

-- With known series: 1, 15, 5, 6, 7, 8, 9, 10, 11, 13
/* 15 */ 4 with other lines, /* 1 */ WITH series AS MATERIALIZED (q2)
/* 5 */ WHERE (SELECT count(*) FROM series) = json_array_length(?2)

-- With idempotency keys: 1, 2, 3, 16, 17, 5, 18, 19, 20, 21, 22, 6, 7, 8, 9, 10, 11, 12, 13, 14
/* q4 */ SELECT ((CAST(substr(e.value, 48, 15) AS INTEGER) + s.organization * 2654435761) & 281474976710655) AS hash, e.key AS position FROM json_each(?1) e
CROSS JOIN series s ON s.position = CAST(substr(e.value, 1, 5) AS INTEGER) WHERE CAST(substr(e.value, 63, 3) AS INTEGER) > 0 AND true ORDER BY 1
/* q5 */ SELECT q.position, k.seq FROM hashed q CROSS JOIN usage_keys_recent k ON k.hash = q.hash UNION ALL SELECT q.position, k.seq FROM hashed q
CROSS JOIN usage_keys_middle k ON k.hash = q.hash UNION ALL SELECT q.position, k.seq FROM hashed q CROSS JOIN usage_keys_settled k ON k.hash = q.hash
/* q6 */ SELECT r.*, m.position, CAST(substr(e.value, 6, 5) AS INTEGER) AS request, (rs.product_slug <> s.product_slug OR rs.metric <> s.metric OR r.quantity_whole <> CAST(substr(e.value, 26, 16) AS INTEGER) OR r.quantity_micro <> CAST(substr(e.value, 42, 6) AS INTEGER) OR r.properties IS NOT nullif(substr(e.value, 66 + CAST(substr(e.value, 63, 3) AS INTEGER)), '') OR r.timestamp <> iif(CAST(substr(e.value, 11, 1) AS INTEGER), CAST(substr(e.value, 12, 14) AS INTEGER), r.recorded_at)) AS differs, rs.product_slug AS first_product_slug, rs.metric AS first_metric, rs.api_key
FROM json_each(?1) e CROSS JOIN matches m ON m.position = e.key CROSS JOIN series s ON s.position = CAST(substr(e.value, 1, 5) AS INTEGER)
CROSS JOIN usage_records r ON r.seq = m.seq AND r.organization = s.organization
AND r.idempotency_key = substr(e.value, 66, CAST(substr(e.value, 63, 3) AS INTEGER)) CROSS JOIN usage_series rs ON rs.id = r.series
WHERE EXISTS (SELECT 1 FROM matches)
/* 16 */ 4 with other lines, /* 1 */ WITH series AS MATERIALIZED (q2), blocked AS MATERIALIZED (q3), hashed AS MATERIALIZED (q4), matches AS MATERIALIZED (q5), existing AS MATERIALIZED (q6)
/* 3 */ SELECT c.seq + e.key + 1, s.organization, s.id, CAST(substr(e.value, 12, 14) AS INTEGER), ?3, CAST(substr(e.value, 26, 16) AS INTEGER), CAST(substr(e.value, 42, 6) AS INTEGER), nullif(substr(e.value, 66, CAST(substr(e.value, 63, 3) AS INTEGER)), ''), nullif(substr(e.value, 66 + CAST(substr(e.value, 63, 3) AS INTEGER)), '')
/* before 6 */ AND e.key NOT IN (SELECT position FROM existing) AND CAST(substr(e.value, 6, 5) AS INTEGER) NOT IN (SELECT request FROM existing WHERE differs)
/* 17 */ WITH series AS MATERIALIZED (q2), hashed AS MATERIALIZED (
  SELECT ((CAST(substr(e.value, 48, 15) AS INTEGER) + s.organization * 2654435761) & 281474976710655) AS hash, e.key AS position FROM json_each(?1) e
  CROSS JOIN series s ON s.position = CAST(substr(e.value, 1, 5) AS INTEGER) WHERE CAST(substr(e.value, 63, 3) AS INTEGER) > 0
  AND (SELECT count(*) FROM usage_records n WHERE n.seq > (SELECT seq FROM usage_cursor)) < ?4 ORDER BY 1
), matches AS MATERIALIZED (q5), existing AS MATERIALIZED (q6)
SELECT json_group_array(json_object('position', h.position, 'differs', h.differs, 'seq', h.seq, 'productSlug', h.first_product_slug, 'metric', h.first_metric, 'apiKeyId', k.id, 'environment', iif(h.organization < 0, 'test', 'live'), 'timestamp', h.timestamp, 'recordedAt', h.recorded_at, 'whole', h.quantity_whole, 'micro', h.quantity_micro, 'idempotencyKey', h.idempotency_key, 'properties', h.properties, 'voidedAt', v.voided_at, 'voidedBy', v.voided_by, 'voidReason', v.reason)) AS list
FROM existing h LEFT JOIN api_keys k ON k.number = h.api_key LEFT JOIN usage_voids v ON v.seq = h.seq
/* 18 */ WITH series AS MATERIALIZED (q2) INSERT INTO usage_keys_recent (hash, seq)
SELECT ((CAST(substr(e.value, 48, 15) AS INTEGER) + s.organization * 2654435761) & 281474976710655), r.seq FROM json_each(?1) e
CROSS JOIN series s ON s.position = CAST(substr(e.value, 1, 5) AS INTEGER) CROSS JOIN usage_cursor c ON c.only_row = 1
CROSS JOIN usage_records r ON r.seq = c.seq + e.key + 1 WHERE CAST(substr(e.value, 63, 3) AS INTEGER) > 0 ORDER BY 1
/* 19 */ INSERT INTO usage_keys_middle (hash, seq) SELECT hash, seq FROM usage_keys_recent
WHERE hash >= (SELECT c.recent_moved FROM usage_cursor c WHERE EXISTS (SELECT 1 FROM usage_records n WHERE n.seq > c.seq))
AND hash < (SELECT c.recent_moved FROM usage_cursor c WHERE EXISTS (SELECT 1 FROM usage_records n WHERE n.seq > c.seq)) + ?1
/* 20 */ 19 with other lines, /* 1 */ DELETE FROM usage_keys_recent
/* 21 */ INSERT INTO usage_keys_settled (hash, seq) SELECT hash, seq FROM usage_keys_middle
WHERE hash >= (SELECT c.middle_moved FROM usage_cursor c WHERE EXISTS (SELECT 1 FROM usage_records n WHERE n.seq > c.seq))
AND hash < (SELECT c.middle_moved FROM usage_cursor c WHERE EXISTS (SELECT 1 FROM usage_records n WHERE n.seq > c.seq)) + ?1
/* 22 */ 21 with other lines, /* 1 */ DELETE FROM usage_keys_middle

-- With known series and idempotency keys: 1, 23, 17, 5, 18, 19, 20, 21, 22, 6, 7, 8, 9, 10, 11, 13
/* 23 */ 16 with other lines, /* 1 */ WITH series AS MATERIALIZED (q2), hashed AS MATERIALIZED (q4), matches AS MATERIALIZED (q5), existing AS MATERIALIZED (q6)
/* 5 to 6 */ WHERE (SELECT count(*) FROM series) = json_array_length(?2) AND e.key NOT IN (SELECT position FROM existing)
AND CAST(substr(e.value, 6, 5) AS INTEGER) NOT IN (SELECT request FROM existing WHERE differs)

-- With limits, of organizations and of lineages of API keys: 24, 25, 26, 27, 5, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 6, 7, 8, 9, 10, 11, 45, 13, 14
/* 24 */ 1 with other lines, /* 1 */ SELECT json_group_array(json_object('position', e.key, 'id', k.id, 'denial', CASE WHEN k.addresses IS NOT NULL THEN 'addresses' WHEN o.suspended_at IS NOT NULL THEN 'suspended' WHEN NOT instr(k.permissions, '"usage:write"') > 0 THEN 'permission' END, 'environment', k.environment, 'seq', (SELECT seq FROM usage_cursor), 'hasLimits', EXISTS (SELECT 1 FROM usage_limits), 'hasDimensions', (EXISTS (SELECT 1 FROM usage_dimensions WHERE removed_at IS NULL) OR EXISTS (SELECT 1 FROM usage_aggregations WHERE removed_at IS NULL AND aggregation IN ('last', 'unique'))), 'hasHolds', EXISTS (SELECT 1 FROM usage_holds WHERE status = 'active'), 'hasValueLimits', EXISTS (SELECT 1 FROM usage_limits WHERE property <> ''), 'requestsPerSecond', coalesce(o.requests_per_second, (SELECT pl.requests_per_second FROM plans pl WHERE pl.number = o.plan)), 'ownRequestsPerSecond', k.requests_per_second, 'addresses', k.addresses, 'organization', iif(k.environment = 'test', -o.number, o.number), 'lineage', k.lineage )) AS list
/* 25 */ 2 with other lines, /* 8 */     AND true AND NOT EXISTS (SELECT 1 FROM usage_limits WHERE property <> '')
/* 26 */ 3 with other lines, /* 7 */     AND true AND NOT EXISTS (SELECT 1 FROM usage_limits WHERE property <> '')
/* q7 */ q2 with other lines, /* 6 */ AND true AND NOT EXISTS (SELECT 1 FROM usage_limits WHERE property <> '')
/* 27 */ 4 with other lines, /* 1 */ WITH series AS MATERIALIZED (q7), blocked AS MATERIALIZED (q3)
/* q8 */ SELECT 1 FROM usage_limits own WHERE own.organization = o.number AND own.product_slug = l.product_slug AND own.metric = l.metric AND own.per = l.per
AND own.property = ''
/* q9 */ SELECT r.series, min(r.timestamp) AS at, sum(r.quantity_whole >> 26) AS sum_high, sum(r.quantity_whole & 67108863) AS sum_low, sum(r.quantity_micro) AS sum_micro
FROM usage_records r WHERE r.seq > (SELECT seq FROM usage_cursor) AND EXISTS (SELECT 1 FROM applied WHERE per = 'minute')
GROUP BY r.series, r.timestamp / 60000
/* q10 */ SELECT a.usage_limit, a.organization, CASE a.per WHEN 'minute' THEN CAST(?3 AS INTEGER) / 60000 WHEN 'hour' THEN (CAST(?3 AS INTEGER) + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= CAST(?3 AS INTEGER) ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= CAST(?3 AS INTEGER) ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (CAST(?3 AS INTEGER) + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= CAST(?3 AS INTEGER) ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (CAST(?3 AS INTEGER) + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= CAST(?3 AS INTEGER) ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (CAST(?3 AS INTEGER) + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= CAST(?3 AS INTEGER) ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END, CAST(?3 AS INTEGER), 0, 0, 0
FROM applied a UNION ALL
SELECT a.usage_limit, a.organization, CASE a.per WHEN 'minute' THEN r.at / 60000 WHEN 'hour' THEN (r.at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= r.at ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= r.at ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (r.at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= r.at ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (r.at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= r.at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (r.at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= r.at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END, r.at, r.sum_high, r.sum_low, r.sum_micro
FROM (SELECT u.*, u.quarter * 900000 AS at FROM usage_added u) r CROSS JOIN applied a ON a.series = r.series AND a.per <> 'minute' UNION ALL
SELECT a.usage_limit, a.organization, r.at / 60000, r.at, r.sum_high, r.sum_low, r.sum_micro FROM (q9) r CROSS JOIN applied a ON a.series = r.series
AND a.per = 'minute'
/* 28 */ WITH applied AS MATERIALIZED (
  SELECT CAST(e.key AS INTEGER) AS position, us.id AS series, us.organization, l.number AS usage_limit, l.per, o.timezone FROM json_each(?2) e
  JOIN api_keys k ON k.key_hash = e.value ->> 0 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?3) AND k.disabled_at IS NULL
  JOIN organizations o ON o.id = k.organization_id JOIN usage_series us ON us.organization = iif(k.environment = 'test', -o.number, o.number)
  AND us.product_slug = e.value ->> 1 AND us.metric = e.value ->> 2 AND us.api_key = k.number
  CROSS JOIN usage_limits l ON (+l.property = '' AND ((l.plan = o.plan AND l.product_slug IN ('', us.product_slug) AND l.metric IN ('', us.metric) AND NOT EXISTS (q8)) OR (l.organization = o.number AND l.product_slug IN ('', us.product_slug) AND l.metric IN ('', us.metric) AND l.quantity_whole IS NOT NULL) OR (l.lineage = k.lineage AND l.product_slug IN ('', us.product_slug) AND l.metric IN ('', us.metric)) OR (l.alert_of = o.number AND l.product_slug IN ('', us.product_slug) AND l.metric IN ('', us.metric) AND (l.alert_lineage IS NULL OR l.alert_lineage = k.lineage))))
  WHERE CASE WHEN k.addresses IS NOT NULL THEN 'addresses' WHEN o.suspended_at IS NOT NULL THEN 'suspended' WHEN NOT instr(k.permissions, '"usage:write"') > 0 THEN 'permission' END IS NULL
  AND true AND NOT EXISTS (SELECT 1 FROM usage_limits WHERE property <> '')
  AND NOT (EXISTS (SELECT 1 FROM usage_dimensions WHERE removed_at IS NULL) OR EXISTS (SELECT 1 FROM usage_aggregations WHERE removed_at IS NULL AND aggregation IN ('last', 'unique')))
  AND us.organization > 0 AND true
) INSERT INTO usage_limit_added (usage_limit, organization, window_number, at, sum_high, sum_low, sum_micro) SELECT * FROM (q10) WHERE true
ON CONFLICT DO UPDATE SET sum_high = sum_high + excluded.sum_high, sum_low = sum_low + excluded.sum_low, sum_micro = sum_micro + excluded.sum_micro
/* 29 */ WITH first AS MATERIALIZED (
  SELECT a.usage_limit, a.organization, a.window_number, (CASE l.per WHEN 'minute' THEN a.window_number * 60000 WHEN 'hour' THEN a.window_number WHEN 'day' THEN (a.window_number - 1) * 86400000 WHEN 'month' THEN (1000 * strftime('%s', format('%d-%02d-01', 1970 + a.window_number / 12, 1 + a.window_number % 12))) - 86400000 ELSE 0 END >= max( iif(o.created_at >= (max(l.created_at, o.limits_at) + 600000), 0, (max(l.created_at, o.limits_at) + 600000) + 300000), iif(l.per IN ('minute', 'hour'), (SELECT limits_swept_until FROM usage_cursor), 0))) AS is_known, max(c.seq, max(l.created_seq, o.limits_seq)) AS opened_seq
  FROM usage_limit_added a CROSS JOIN usage_limits l ON l.number = a.usage_limit CROSS JOIN organizations o ON o.number = a.organization
  CROSS JOIN usage_cursor c ON c.only_row = 1 LEFT JOIN usage_limit_counters n ON n.usage_limit = a.usage_limit AND n.organization = a.organization
  AND n.window_number = a.window_number WHERE (n.opened_seq IS NULL OR n.opened_seq < max(l.created_seq, o.limits_seq))
), opened AS MATERIALIZED (
  SELECT * FROM first UNION
  SELECT a.usage_limit, a.organization, a.window_number, (CASE l.per WHEN 'minute' THEN a.window_number * 60000 WHEN 'hour' THEN a.window_number WHEN 'day' THEN (a.window_number - 1) * 86400000 WHEN 'month' THEN (1000 * strftime('%s', format('%d-%02d-01', 1970 + a.window_number / 12, 1 + a.window_number % 12))) - 86400000 ELSE 0 END >= max( iif(o.created_at >= (max(l.created_at, o.limits_at) + 600000), 0, (max(l.created_at, o.limits_at) + 600000) + 300000), iif(l.per IN ('minute', 'hour'), (SELECT limits_swept_until FROM usage_cursor), 0))) AS is_known, max(c.seq, max(l.created_seq, o.limits_seq)) AS opened_seq
  FROM (
    SELECT DISTINCT a.usage_limit, a.organization, CASE l.per WHEN 'minute' THEN h.created_at / 60000 WHEN 'hour' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END AS window_number
    FROM first a CROSS JOIN usage_limits l ON l.number = a.usage_limit CROSS JOIN usage_grant_accounts t ON t.organization = a.organization
    AND t.product_slug = l.product_slug AND t.metric = l.metric AND t.per = l.per
    AND (l.per = 'total' OR EXISTS (SELECT 1 FROM usage_grant_accounts WHERE per > '' AND per <> 'total')) AND l.property = '' AND l.lineage IS NULL
    AND l.alert_of IS NULL AND t.per <> 'total' CROSS JOIN organizations o ON o.number = a.organization
    CROSS JOIN usage_holds h ON h.organization = o.number AND h.status = 'active'
    AND (coalesce(l.lineage, l.alert_lineage) IS NULL OR coalesce(l.lineage, l.alert_lineage) = h.lineage)
    AND CASE l.per WHEN 'minute' THEN h.created_at / 60000 WHEN 'hour' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END = CASE l.per WHEN 'minute' THEN h.created_at / 60000 WHEN 'hour' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END
    CROSS JOIN json_each(h.records) p ON l.product_slug IN ('', p.value ->> 0) AND l.metric IN ('', p.value ->> 1)
  ) a CROSS JOIN usage_limits l ON l.number = a.usage_limit CROSS JOIN organizations o ON o.number = a.organization
  CROSS JOIN usage_cursor c ON c.only_row = 1 LEFT JOIN usage_limit_counters n ON n.usage_limit = a.usage_limit AND n.organization = a.organization
  AND n.window_number = a.window_number WHERE (n.opened_seq IS NULL OR n.opened_seq < max(l.created_seq, o.limits_seq))
), held AS MATERIALIZED (
  SELECT a.usage_limit, a.organization, a.window_number, coalesce(sum((p.value ->> 2) >> 26), 0) AS held_high, coalesce(sum((p.value ->> 2) & 67108863), 0) AS held_low, coalesce(sum(p.value ->> 3), 0) AS held_micro
  FROM opened a CROSS JOIN usage_limits l ON l.number = a.usage_limit CROSS JOIN organizations o ON o.number = a.organization
  CROSS JOIN usage_holds h ON h.organization = o.number AND h.status = 'active'
  AND (coalesce(l.lineage, l.alert_lineage) IS NULL OR coalesce(l.lineage, l.alert_lineage) = h.lineage)
  AND CASE l.per WHEN 'minute' THEN h.created_at / 60000 WHEN 'hour' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END = a.window_number
  CROSS JOIN json_each(h.records) p ON l.product_slug IN ('', p.value ->> 0) AND l.metric IN ('', p.value ->> 1) GROUP BY 1, 2, 3
)
INSERT OR REPLACE INTO usage_limit_counters (usage_limit, organization, window_number, sum_high, sum_low, sum_micro, is_known, opened_seq, held_high, held_low, held_micro)
SELECT a.usage_limit, a.organization, a.window_number, 0, 0, 0, a.is_known, a.opened_seq, coalesce(n.held_high, 0), coalesce(n.held_low, 0), coalesce(n.held_micro, 0)
FROM opened a LEFT JOIN held n ON n.usage_limit = a.usage_limit AND n.organization = a.organization AND n.window_number = a.window_number
/* q11 */ SELECT sum(w.micros / 1000000) FROM usage_grant_windows w WHERE w.organization = t.organization AND w.product_slug = t.product_slug
AND w.metric = t.metric AND w.per = t.per AND w.window_number = a.window_number
/* q12 */ SELECT sum((g.quantity_micros - g.used_micros) / 1000000) FROM usage_grants g WHERE g.organization = t.organization
AND g.product_slug = t.product_slug AND g.metric = t.metric AND g.per = t.per AND g.ends_at > CAST(?3 AS INTEGER) AND g.voided_at IS NULL
AND g.used_micros < g.quantity_micros AND g.starts_at <= CAST(?3 AS INTEGER)
/* q13 */ SELECT iif(t.per = 'total', t.taken_whole, coalesce((q11), 0)) + coalesce((q12), 0) FROM usage_grant_accounts t WHERE t.organization = a.organization
AND t.product_slug = l.product_slug AND t.metric = l.metric AND t.per = l.per
AND (l.per = 'total' OR EXISTS (SELECT 1 FROM usage_grant_accounts WHERE per > '' AND per <> 'total')) AND l.property = '' AND l.lineage IS NULL
AND l.alert_of IS NULL
/* q14 */ q11 with other lines, /* 1 */ SELECT sum(w.micros % 1000000) FROM usage_grant_windows w WHERE w.organization = t.organization AND w.product_slug = t.product_slug
/* q15 */ q12 with other lines, /* 1 */ SELECT sum((g.quantity_micros - g.used_micros) % 1000000) FROM usage_grants g WHERE g.organization = t.organization
/* q16 */ q13 with other lines, /* 1 */ SELECT iif(t.per = 'total', t.taken_micro, coalesce((q14), 0)) + coalesce((q15), 0) FROM usage_grant_accounts t WHERE t.organization = a.organization
/* q17 */ q11 with other lines, /* 2 */ AND w.metric = t.metric AND w.per = t.per AND w.window_number = m.window_number
/* q18 */ q14 with other lines, /* 2 */ AND w.metric = t.metric AND w.per = t.per AND w.window_number = m.window_number
/* q19 */ SELECT min(CAST(max(0, min(((m.held_high * 67108864 + m.held_low) * 1000000 + m.held_micro), 9000000000000000000)) AS INTEGER), CAST(max(0, min((((m.sum_high + m.held_high) * 67108864 + (m.sum_low + m.held_low - (l.quantity_whole + iif(t.per = 'total', t.taken_whole, coalesce((q17), 0))))) * 1000000 + m.sum_micro + m.held_micro - (l.quantity_micro + iif(t.per = 'total', t.taken_micro, coalesce((q18), 0)))), 9000000000000000000)) AS INTEGER)) AS need
FROM organizations o CROSS JOIN usage_limit_counters m ON m.usage_limit = a.usage_limit AND m.organization = o.number
AND m.window_number <> a.window_number AND (m.held_high <> 0 OR m.held_low <> 0 OR m.held_micro <> 0)
AND m.opened_seq >= max(l.created_seq, o.limits_seq) WHERE o.number = a.organization
/* q20 */ SELECT CAST(max(0, min((sum(need / 1000000) * 1000000 + sum(need % 1000000)), 9000000000000000000)) AS INTEGER) FROM (q19)
/* q21 */ q11 with other lines, /* 2 */ AND w.metric = t.metric AND w.per = t.per AND w.window_number = n.window_number
/* q22 */ q14 with other lines, /* 2 */ AND w.metric = t.metric AND w.per = t.per AND w.window_number = n.window_number
/* q23 */ q19 with other lines, /* 1 to 2 */ SELECT m.window_number FROM organizations o CROSS JOIN usage_limit_counters m ON m.usage_limit = a.usage_limit AND m.organization = o.number
/* 4 */ AND m.opened_seq >= max(l.created_seq, o.limits_seq) WHERE o.number = a.organization AND m.is_known = 0 LIMIT 1
/* q24 */ q13 with other lines, /* 1 to 2 */ SELECT a.usage_limit, a.organization, a.window_number, a.at, n.is_known, n.sum_high + n.held_high AS sum_high, n.sum_low + n.held_low AS sum_low, n.sum_micro + n.held_micro AS sum_micro, n.held_high, n.held_low, n.held_micro, l.mode, a.sum_high AS high, a.sum_low AS low, a.sum_micro + (l.mode = 'cutoff') AS micro, (l.quantity_whole + coalesce((q13), 0) + (l.quantity_micro + coalesce((q16), 0)) / 1000000) AS raised_whole, ((l.quantity_micro + coalesce((q16), 0)) % 1000000) AS raised_micro, t.organization IS NOT NULL AS is_shared, iif(t.organization IS NULL, 0, CAST(max(0, min((coalesce((q12), 0) * 1000000 + coalesce((q15), 0)), 9000000000000000000)) AS INTEGER)) AS rest, iif(t.organization IS NULL, 0, coalesce((q20), 0)) AS reserved, iif(t.organization IS NULL, 0, min(CAST(max(0, min(((n.held_high * 67108864 + n.held_low) * 1000000 + n.held_micro), 9000000000000000000)) AS INTEGER), CAST(max(0, min((((n.sum_high + n.held_high) * 67108864 + (n.sum_low + n.held_low - (l.quantity_whole + iif(t.per = 'total', t.taken_whole, coalesce((q21), 0))))) * 1000000 + n.sum_micro + n.held_micro - (l.quantity_micro + iif(t.per = 'total', t.taken_micro, coalesce((q22), 0)))), 9000000000000000000)) AS INTEGER))) AS own_need, iif(t.organization IS NULL, 0, (l.quantity_whole + iif(t.per = 'total', t.taken_whole, coalesce((q11), 0)))) AS floor_whole, iif(t.organization IS NULL, 0, (l.quantity_micro + iif(t.per = 'total', t.taken_micro, coalesce((q14), 0)))) AS floor_micro, iif(t.organization IS NULL, NULL, (q23)) AS unknown_window
FROM usage_limit_added a CROSS JOIN usage_limit_counters n ON n.usage_limit = a.usage_limit AND n.organization = a.organization
AND n.window_number = a.window_number CROSS JOIN usage_limits l ON l.number = a.usage_limit
LEFT JOIN usage_grant_accounts t ON t.organization = a.organization AND t.product_slug = l.product_slug AND t.metric = l.metric AND t.per = l.per
/* 4 */ AND l.alert_of IS NULL AND t.per <> 'total' WHERE (l.mode = 'hard' OR (l.mode = 'cutoff' AND ?4 IS NOT NULL))
AND (n.is_known = 0 OR (((n.sum_high + n.held_high) + a.sum_high) + ((((n.sum_low + n.held_low) + a.sum_low) + ((n.sum_micro + n.held_micro) + (a.sum_micro + (l.mode = 'cutoff'))) / 1000000) >> 26), (((n.sum_low + n.held_low) + a.sum_low) + ((n.sum_micro + n.held_micro) + (a.sum_micro + (l.mode = 'cutoff'))) / 1000000) & 67108863, ((n.sum_micro + n.held_micro) + (a.sum_micro + (l.mode = 'cutoff'))) % 1000000) > ((l.quantity_whole >> 26) + (((l.quantity_whole & 67108863) + l.quantity_micro / 1000000) >> 26), ((l.quantity_whole & 67108863) + l.quantity_micro / 1000000) & 67108863, l.quantity_micro % 1000000))
/* q25 */ SELECT *, raised_whole - 1 - min(rest, reserved) / 1000000 AS quantity_whole, raised_micro + 1000000 - min(rest, reserved) % 1000000 AS quantity_micro, iif(high + low + micro > 0, CAST(max(0, min((((sum_high + high) * 67108864 + (sum_low + low - floor_whole)) * 1000000 + sum_micro + micro - floor_micro), 9000000000000000000)) AS INTEGER), NULL) AS need
FROM over
/* q26 */ SELECT *, is_shared
AND (sum(iif(need > own_need, need - own_need, 0) / 1000000) OVER (PARTITION BY usage_limit, organization) + sum(iif(need > own_need, need - own_need, 0) % 1000000) OVER (PARTITION BY usage_limit, organization) / 1000000, sum(iif(need > own_need, need - own_need, 0) % 1000000) OVER (PARTITION BY usage_limit, organization) % 1000000) > ((rest - reserved - own_need) / 1000000, (rest - reserved - own_need) % 1000000) AS is_together
FROM (q25)
/* q27 */ SELECT usage_limit, organization, window_number, at, is_known, mode, sum_high, sum_low, sum_micro, held_high, held_low, held_micro, quantity_whole, quantity_micro, raised_whole, raised_micro, is_shared, rest, reserved, own_need, floor_whole, floor_micro, unknown_window
FROM (q26) l
WHERE NOT is_known OR is_together OR unknown_window IS NOT NULL OR ((l.sum_high + l.high) + (((l.sum_low + l.low) + (l.sum_micro + l.micro) / 1000000) >> 26), ((l.sum_low + l.low) + (l.sum_micro + l.micro) / 1000000) & 67108863, (l.sum_micro + l.micro) % 1000000) > ((l.quantity_whole >> 26) + (((l.quantity_whole & 67108863) + l.quantity_micro / 1000000) >> 26), ((l.quantity_whole & 67108863) + l.quantity_micro / 1000000) & 67108863, l.quantity_micro % 1000000)
/* q28 */ SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= CAST(substr(e.value, 12, 14) AS INTEGER) ORDER BY z.since DESC
LIMIT 1
/* q29 */ SELECT CAST(substr(e.value, 6, 5) AS INTEGER) AS request, e.key AS position, a.usage_limit, a.organization, CASE a.per WHEN 'minute' THEN CAST(substr(e.value, 12, 14) AS INTEGER) / 60000 WHEN 'hour' THEN (CAST(substr(e.value, 12, 14) AS INTEGER) + coalesce((q28), 0)) / 3600000 * 3600000 - coalesce((q28), 0) WHEN 'day' THEN (CAST(substr(e.value, 12, 14) AS INTEGER) + coalesce((q28), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (CAST(substr(e.value, 12, 14) AS INTEGER) + coalesce((q28), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (CAST(substr(e.value, 12, 14) AS INTEGER) + coalesce((q28), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END AS window_number
FROM json_each(?1) e CROSS JOIN applied a ON a.position = CAST(substr(e.value, 1, 5) AS INTEGER) WHERE EXISTS (SELECT 1 FROM full) UNION ALL
SELECT DISTINCT CAST(substr(e.value, 6, 5) AS INTEGER), NULL, a.usage_limit, a.organization, CASE a.per WHEN 'minute' THEN CAST(?3 AS INTEGER) / 60000 WHEN 'hour' THEN (CAST(?3 AS INTEGER) + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= CAST(?3 AS INTEGER) ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= CAST(?3 AS INTEGER) ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (CAST(?3 AS INTEGER) + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= CAST(?3 AS INTEGER) ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (CAST(?3 AS INTEGER) + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= CAST(?3 AS INTEGER) ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (CAST(?3 AS INTEGER) + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= CAST(?3 AS INTEGER) ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END
FROM json_each(?1) e CROSS JOIN applied a ON a.position = CAST(substr(e.value, 1, 5) AS INTEGER) WHERE EXISTS (SELECT 1 FROM full)
/* q30 */ SELECT w.request, f.*, f.mode = 'hard' OR w.request IN (SELECT value FROM json_each(?4)) AS is_judged, count(r.seq) AS records, coalesce(sum(r.quantity_whole >> 26), 0) AS own_high, coalesce(sum(r.quantity_whole & 67108863), 0) AS own_low, coalesce(sum(r.quantity_micro), 0) AS own_micro
FROM wanted w CROSS JOIN full f ON f.usage_limit = w.usage_limit AND f.organization = w.organization AND f.window_number = w.window_number
LEFT JOIN usage_records r ON r.seq = (SELECT seq FROM usage_cursor) + w.position + 1 GROUP BY 1, f.usage_limit, f.organization, f.window_number
/* q31 */ SELECT *, iif(mode = 'cutoff', 0, own_high) AS high, iif(mode = 'cutoff', 0, own_low) AS low, iif(mode = 'cutoff', records > 0, own_micro) AS micro
FROM (q30)
/* q32 */ SELECT *, iif(high + low + micro > 0, CAST(max(0, min((((sum_high + high) * 67108864 + (sum_low + low - floor_whole)) * 1000000 + sum_micro + micro - floor_micro), 9000000000000000000)) AS INTEGER), NULL) AS need
FROM demands
/* q33 */ SELECT *, is_shared AND need > 0
AND (sum(iif(need > own_need, need - own_need, 0) / 1000000) OVER (PARTITION BY request, usage_limit, organization) + sum(iif(need > own_need, need - own_need, 0) % 1000000) OVER (PARTITION BY request, usage_limit, organization) / 1000000, sum(iif(need > own_need, need - own_need, 0) % 1000000) OVER (PARTITION BY request, usage_limit, organization) % 1000000) > ((rest - reserved - own_need) / 1000000, (rest - reserved - own_need) % 1000000) AS is_together, count(need) OVER (PARTITION BY request, usage_limit, organization) AS windows
FROM (q32)
/* q34 */ SELECT l.*, is_judged AND l.high + l.low + l.micro > 0
AND (((l.sum_high + l.high) + (((l.sum_low + l.low) + (l.sum_micro + l.micro) / 1000000) >> 26), ((l.sum_low + l.low) + (l.sum_micro + l.micro) / 1000000) & 67108863, (l.sum_micro + l.micro) % 1000000) > ((l.quantity_whole >> 26) + (((l.quantity_whole & 67108863) + l.quantity_micro / 1000000) >> 26), ((l.quantity_whole & 67108863) + l.quantity_micro / 1000000) & 67108863, l.quantity_micro % 1000000) OR l.is_together) AS is_over
FROM (q33) l
/* q35 */ SELECT *, max(is_judged AND (NOT is_known OR unknown_window IS NOT NULL)) OVER (PARTITION BY request) AS is_unknown, max(is_over) OVER (PARTITION BY request) AS is_too_large
FROM (q34)
/* q36 */ SELECT request, usage_limit, organization, window_number, at, sum_high, sum_low, sum_micro, held_high, held_low, held_micro, high, low, micro, reserved, raised_whole AS quantity_whole, raised_micro AS quantity_micro
FROM judged WHERE is_over AND NOT is_unknown
/* q37 */ SELECT request, usage_limit, organization, window_number, at, is_judged, sum_high, sum_low, sum_micro, quantity_whole, quantity_micro, sum(own_high) OVER (PARTITION BY usage_limit, organization, window_number ORDER BY request) - own_high + high AS high, sum(own_low) OVER (PARTITION BY usage_limit, organization, window_number ORDER BY request) - own_low + low AS low, sum(own_micro) OVER (PARTITION BY usage_limit, organization, window_number ORDER BY request) - own_micro + micro AS micro, is_shared
AND request <> min(request) OVER (PARTITION BY usage_limit, organization)
AND window_number IS NOT first_value(iif(windows = 1, window_number, NULL)) OVER (PARTITION BY usage_limit, organization ORDER BY request) AS is_other
FROM judged WHERE NOT is_unknown AND NOT is_too_large AND high + low + micro > 0
/* 30 */ 28 with other lines, /* 1 */ WITH over AS (q24), full AS MATERIALIZED (q27), applied AS MATERIALIZED (
/* 10 to 12 */   AND us.organization > 0 AND EXISTS (SELECT 1 FROM full)
), wanted AS MATERIALIZED (q29), demands AS MATERIALIZED (q31), judged AS MATERIALIZED (q35)
INSERT OR IGNORE INTO usage_limit_refused (request, usage_limit, organization, window_number, at, reason, is_held)
SELECT request, usage_limit, organization, window_number, at, 'unknown', 0 FROM judged WHERE is_judged AND NOT is_known UNION ALL
SELECT j.request, j.usage_limit, j.organization, j.unknown_window, min(h.created_at), 'unknown', 0 FROM judged j
CROSS JOIN usage_limits l ON l.number = j.usage_limit CROSS JOIN organizations o ON o.number = j.organization
CROSS JOIN usage_holds h ON h.organization = o.number AND h.status = 'active'
AND (coalesce(l.lineage, l.alert_lineage) IS NULL OR coalesce(l.lineage, l.alert_lineage) = h.lineage)
AND CASE l.per WHEN 'minute' THEN h.created_at / 60000 WHEN 'hour' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END = j.unknown_window
CROSS JOIN json_each(h.records) p ON l.product_slug IN ('', p.value ->> 0) AND l.metric IN ('', p.value ->> 1) WHERE j.is_judged
AND j.unknown_window IS NOT NULL GROUP BY 1, 2, 3, 4 UNION ALL
SELECT request, usage_limit, organization, window_number, at, 'exceeded', NOT (((l.sum_high - l.held_high) + l.high) + ((((l.sum_low - l.held_low) + l.low) + ((l.sum_micro - l.held_micro) + l.micro) / 1000000) >> 26), (((l.sum_low - l.held_low) + l.low) + ((l.sum_micro - l.held_micro) + l.micro) / 1000000) & 67108863, ((l.sum_micro - l.held_micro) + l.micro) % 1000000) > ((l.quantity_whole >> 26) + (((l.quantity_whole & 67108863) + l.quantity_micro / 1000000) >> 26), ((l.quantity_whole & 67108863) + l.quantity_micro / 1000000) & 67108863, l.quantity_micro % 1000000)
AND (reserved > 0 OR held_high <> 0 OR held_low <> 0 OR held_micro <> 0) FROM (q36) l UNION ALL
SELECT request, usage_limit, organization, window_number, at, 'others', 0 FROM (q37) l WHERE is_judged
AND (((l.sum_high + l.high) + (((l.sum_low + l.low) + (l.sum_micro + l.micro) / 1000000) >> 26), ((l.sum_low + l.low) + (l.sum_micro + l.micro) / 1000000) & 67108863, (l.sum_micro + l.micro) % 1000000) > ((l.quantity_whole >> 26) + (((l.quantity_whole & 67108863) + l.quantity_micro / 1000000) >> 26), ((l.quantity_whole & 67108863) + l.quantity_micro / 1000000) & 67108863, l.quantity_micro % 1000000) OR is_other)
/* 31 */ DELETE FROM usage_records WHERE seq > (SELECT seq FROM usage_cursor) AND seq IN (
  SELECT (SELECT seq FROM usage_cursor) + e.key + 1 FROM json_each(?1) e WHERE EXISTS (SELECT 1 FROM usage_limit_refused)
  AND CAST(substr(e.value, 6, 5) AS INTEGER) IN (SELECT request FROM usage_limit_refused)
)
/* 32 */ DELETE FROM usage_added WHERE EXISTS (SELECT 1 FROM usage_limit_refused)
/* 33 */ 5 with other lines, /* 3 */ FROM usage_records r WHERE r.seq > (SELECT seq FROM usage_cursor) AND EXISTS (SELECT 1 FROM usage_limit_refused) GROUP BY 2, 3
/* 34 */ DELETE FROM usage_limit_added WHERE EXISTS (SELECT 1 FROM usage_limit_refused)
/* 35 */ 28 with other lines, /* 10 */   AND us.organization > 0 AND EXISTS (SELECT 1 FROM usage_limit_refused)
/* 36 */ 28 with other lines, /* 1 to 11 */ INSERT INTO usage_limit_counters (usage_limit, organization, window_number, sum_high, sum_low, sum_micro, is_known, opened_seq)
SELECT usage_limit, organization, window_number, sum_high, sum_low, sum_micro, 1, 0 FROM usage_limit_added WHERE sum_high + sum_low + sum_micro > 0
/* 37 */ UPDATE usage_grants AS u SET used_micros = u.used_micros + d.taken, used_at = CAST(?3 AS INTEGER), window_takes = d.window_takes FROM (
  SELECT s.number, max(0, min(s.rest, min(s.all_rest, max(min(s.added, s.expiring), s.over)) - (s.upto - s.rest))) AS taken, NULL AS window_takes
  FROM (
    SELECT f.number, f.added, f.over, f.rest, sum(f.rest) OVER (PARTITION BY f.usage_limit, f.organization) AS all_rest, sum(iif(f.ends_at < 9007199254740991, f.rest, 0)) OVER (PARTITION BY f.usage_limit, f.organization) AS expiring, sum(f.rest) OVER (PARTITION BY f.usage_limit, f.organization ORDER BY f.ends_at, f.number) AS upto
    FROM (
      SELECT f.usage_limit, f.organization, f.number, f.ends_at, f.added, f.over, iif(f.sum < 9e18, f.rest, min(f.rest, 9000000000000000000 / f.count)) AS rest
      FROM (
        SELECT a.usage_limit, a.organization, g.number, g.ends_at, g.quantity_micros - g.used_micros AS rest, CAST(max(0, min(((a.sum_high * 67108864 + a.sum_low) * 1000000 + a.sum_micro), 9000000000000000000)) AS INTEGER) AS added, iif(n.is_known, CAST(max(0, min(((n.sum_high * 67108864 + (n.sum_low - l.quantity_whole - t.taken_whole)) * 1000000 + n.sum_micro - l.quantity_micro - t.taken_micro), 9000000000000000000)) AS INTEGER), 0) AS over, total(g.quantity_micros - g.used_micros) OVER (PARTITION BY a.usage_limit, a.organization) AS sum, count(*) OVER (PARTITION BY a.usage_limit, a.organization) AS count
        FROM (SELECT 1 WHERE EXISTS (SELECT 1 FROM usage_grant_accounts)) CROSS JOIN usage_limit_added a
        CROSS JOIN usage_limits l ON l.number = a.usage_limit AND l.per = 'total' CROSS JOIN usage_grant_accounts t ON t.organization = a.organization
        AND t.product_slug = l.product_slug AND t.metric = l.metric AND t.per = l.per
        AND (l.per = 'total' OR EXISTS (SELECT 1 FROM usage_grant_accounts WHERE per > '' AND per <> 'total')) AND l.property = ''
        AND l.lineage IS NULL AND l.alert_of IS NULL CROSS JOIN usage_limit_counters n ON n.usage_limit = a.usage_limit
        AND n.organization = a.organization AND n.window_number = a.window_number CROSS JOIN usage_grants g ON g.organization = t.organization
        AND g.product_slug = t.product_slug AND g.metric = t.metric AND g.per = t.per AND g.ends_at > CAST(?3 AS INTEGER) AND g.voided_at IS NULL
        AND g.used_micros < g.quantity_micros AND g.starts_at <= CAST(?3 AS INTEGER)
      ) f
    ) f
  ) s UNION ALL SELECT * FROM (
    WITH needs AS MATERIALIZED (
      SELECT a.usage_limit, a.window_number, t.organization, t.product_slug, t.metric, t.per, CAST(max(0, min(((n.sum_high * 67108864 + (n.sum_low - l.quantity_whole - iif(t.per = 'total', t.taken_whole, coalesce((q11), 0)))) * 1000000 + n.sum_micro - l.quantity_micro - iif(t.per = 'total', t.taken_micro, coalesce((q14), 0))), 9000000000000000000)) AS INTEGER) AS amount
      FROM (SELECT 1 WHERE EXISTS (SELECT 1 FROM usage_grant_accounts WHERE per > '' AND per <> 'total'))
      CROSS JOIN usage_limit_added a ON a.sum_high + a.sum_low + a.sum_micro > 0 OR ?1 IS 1 CROSS JOIN usage_limits l ON l.number = a.usage_limit
      AND l.per <> 'total' CROSS JOIN usage_grant_accounts t ON t.organization = a.organization AND t.product_slug = l.product_slug
      AND t.metric = l.metric AND t.per = l.per AND (l.per = 'total' OR EXISTS (SELECT 1 FROM usage_grant_accounts WHERE per > '' AND per <> 'total'))
      AND l.property = '' AND l.lineage IS NULL AND l.alert_of IS NULL CROSS JOIN usage_limit_counters n ON n.usage_limit = a.usage_limit
      AND n.organization = a.organization AND n.window_number = a.window_number AND n.is_known
    ), needed AS (
      SELECT f.*, sum(f.need) OVER (PARTITION BY f.usage_limit, f.organization ORDER BY f.window_number DESC) AS need_upto FROM (
        SELECT f.*, iif(f.sum < 9e18, f.amount, min(f.amount, 9000000000000000000 / f.count)) AS need FROM (
          SELECT f.*, total(f.amount) OVER (PARTITION BY f.usage_limit, f.organization) AS sum, count(*) OVER (PARTITION BY f.usage_limit, f.organization) AS count
          FROM needs f WHERE f.amount > 0
        ) f
      ) f
    ), rests AS (
      SELECT f.*, sum(f.rest) OVER (PARTITION BY f.usage_limit, f.organization, f.window_number ORDER BY f.ends_at, f.number) AS upto FROM (
        SELECT f.*, iif(f.sum < 9e18, f.left, min(f.left, 9000000000000000000 / f.count)) AS rest FROM (
          SELECT t.usage_limit, t.organization, t.product_slug, t.metric, t.per, t.window_number, t.need, t.need_upto, g.number, g.ends_at, g.quantity_micros - g.used_micros AS left, total(g.quantity_micros - g.used_micros) OVER (PARTITION BY t.usage_limit, t.organization, t.window_number) AS sum, count(*) OVER (PARTITION BY t.usage_limit, t.organization, t.window_number) AS count
          FROM needed t CROSS JOIN usage_grants g ON g.organization = t.organization AND g.product_slug = t.product_slug AND g.metric = t.metric
          AND g.per = t.per AND g.ends_at > CAST(?3 AS INTEGER) AND g.voided_at IS NULL AND g.used_micros < g.quantity_micros
          AND g.starts_at <= CAST(?3 AS INTEGER)
        ) f
      ) f
    ), takes AS (
      SELECT t.number, t.ends_at, t.window_number, min(t.need_upto, t.upto) - max(t.need_upto - t.need, t.upto - t.rest) AS taken, iif(t.upto - t.rest <= t.need_upto - t.need, (
        SELECT iif(w.grant_number = t.number AND w.ends_at = t.ends_at, w.place, NULL) FROM usage_grant_windows w
        WHERE w.organization = t.organization AND w.product_slug = t.product_slug AND w.metric = t.metric AND w.per = t.per
        AND w.window_number = t.window_number ORDER BY w.place DESC, w.ends_at DESC, w.grant_number DESC LIMIT 1
      ), NULL) AS place FROM rests t
    ) SELECT k.number, sum(k.taken), json_group_array(json_array(k.window_number, coalesce(k.place, 2 * c.seq - (?1 IS 1)), k.ends_at, k.taken))
    FROM takes k CROSS JOIN usage_cursor c WHERE k.taken > 0 GROUP BY k.number
  )
) d WHERE u.number = +d.number AND d.taken > 0
/* 38 */ 31 with other lines, /* 1 to 3 */ DELETE FROM limit_notices WHERE (usage_limit, organization, window_number, percent) IN (
  SELECT x.usage_limit, x.organization, x.window_number, x.percent FROM usage_limit_added a CROSS JOIN usage_limits l ON l.number = a.usage_limit
  CROSS JOIN organizations o ON o.number = a.organization CROSS JOIN limit_notices x ON x.usage_limit = a.usage_limit
  AND x.organization = a.organization
  AND x.window_number = iif(l.per IN ('minute', 'hour'), CASE 'day' WHEN 'minute' THEN a.at / 60000 WHEN 'hour' THEN (a.at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= a.at ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= a.at ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (a.at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= a.at ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (a.at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= a.at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (a.at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= a.at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END, a.window_number)
  AND x.percent = 100 AND x.is_refusal = 1 CROSS JOIN usage_limit_counters n ON n.usage_limit = a.usage_limit AND n.organization = a.organization
  AND n.window_number = a.window_number AND n.is_known WHERE a.sum_high + a.sum_low + a.sum_micro > 0
  AND (n.sum_high + ((n.sum_low + n.sum_micro / 1000000) >> 26), (n.sum_low + n.sum_micro / 1000000) & 67108863, n.sum_micro % 1000000) >= (((l.quantity_whole + coalesce((q13), 0) + (l.quantity_micro + coalesce((q16), 0)) / 1000000) >> 26) + ((((l.quantity_whole + coalesce((q13), 0) + (l.quantity_micro + coalesce((q16), 0)) / 1000000) & 67108863) + ((l.quantity_micro + coalesce((q16), 0)) % 1000000) / 1000000) >> 26), (((l.quantity_whole + coalesce((q13), 0) + (l.quantity_micro + coalesce((q16), 0)) / 1000000) & 67108863) + ((l.quantity_micro + coalesce((q16), 0)) % 1000000) / 1000000) & 67108863, ((l.quantity_micro + coalesce((q16), 0)) % 1000000) % 1000000)
/* 39 */ INSERT INTO limit_notices (usage_limit, organization, window_number, percent, is_refusal, used, at, noted_at, mailed_at, quantity_whole, quantity_micro)
SELECT usage_limit, organization, window_number, percent, reason IS NOT NULL
AND mode = 'hard', used, at, CAST(?3 AS INTEGER), NULL, quantity_whole, quantity_micro FROM (
  SELECT a.usage_limit, a.organization, iif(l.per IN ('minute', 'hour'), CASE 'day' WHEN 'minute' THEN a.at / 60000 WHEN 'hour' THEN (a.at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= a.at ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= a.at ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (a.at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= a.at ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (a.at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= a.at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (a.at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= a.at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END, a.window_number) AS window_number, a.at, a.reason, l.mode, (l.quantity_whole + coalesce((q13), 0) + (l.quantity_micro + coalesce((q16), 0)) / 1000000) AS quantity_whole, ((l.quantity_micro + coalesce((q16), 0)) % 1000000) AS quantity_micro, json_array(n.sum_high, n.sum_low, n.sum_micro, json(iif(n.held_high <> 0 OR n.held_low <> 0 OR n.held_micro <> 0, (
    SELECT json_array( n.held_high - coalesce(sum((p.value ->> 2) >> 26), 0), n.held_low - coalesce(sum((p.value ->> 2) & 67108863), 0), n.held_micro - coalesce(sum(p.value ->> 3), 0))
    FROM (SELECT 1) CROSS JOIN usage_holds h ON h.organization = o.number AND h.status = 'active'
    AND (coalesce(l.lineage, l.alert_lineage) IS NULL OR coalesce(l.lineage, l.alert_lineage) = h.lineage)
    AND CASE l.per WHEN 'minute' THEN h.created_at / 60000 WHEN 'hour' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END = a.window_number
    CROSS JOIN json_each(h.records) p ON l.product_slug IN ('', p.value ->> 0) AND l.metric IN ('', p.value ->> 1)
    WHERE h.expires_at <= CAST(?3 AS INTEGER) AND (h.expires_at <= CAST(?3 AS INTEGER) AND h.is_recorded_on_expiry = 0)
  ), NULL))) AS used, CASE WHEN a.reason IS NULL THEN (
    SELECT max(p.value) FROM json_each(coalesce(l.notify_at, json_array(80, 100))) p
    WHERE iif(t.organization IS NULL, ((n.sum_high * 100) + (((n.sum_low * 100) + (n.sum_micro * 100) / 1000000) >> 26), ((n.sum_low * 100) + (n.sum_micro * 100) / 1000000) & 67108863, (n.sum_micro * 100) % 1000000) >= (((l.quantity_whole >> 26) * p.value) + ((((l.quantity_whole & 67108863) * p.value) + (l.quantity_micro * p.value) / 1000000) >> 26), (((l.quantity_whole & 67108863) * p.value) + (l.quantity_micro * p.value) / 1000000) & 67108863, (l.quantity_micro * p.value) % 1000000), 100 * ((n.sum_high * 67108864 + (n.sum_low - CASE WHEN t.per <> 'total' THEN 0 WHEN t.turn_at > CAST(?3 AS INTEGER) THEN t.mark_whole ELSE n.sum_high * 67108864 + n.sum_low END)) * 1000000 + n.sum_micro - CASE WHEN t.per <> 'total' THEN 0 WHEN t.turn_at > CAST(?3 AS INTEGER) THEN t.mark_micro ELSE n.sum_micro END) >= p.value * ((0 * 67108864 + (l.quantity_whole + iif(t.per = 'total', t.taken_whole, coalesce((q21), 0)) + coalesce((q12), 0) - CASE WHEN t.per <> 'total' THEN 0 WHEN t.turn_at > CAST(?3 AS INTEGER) THEN t.mark_whole ELSE n.sum_high * 67108864 + n.sum_low END)) * 1000000 + l.quantity_micro + iif(t.per = 'total', t.taken_micro, coalesce((q22), 0)) + coalesce((q15), 0) - CASE WHEN t.per <> 'total' THEN 0 WHEN t.turn_at > CAST(?3 AS INTEGER) THEN t.mark_micro ELSE n.sum_micro END))
  ) WHEN (n.sum_high + n.sum_low + n.sum_micro > 0 OR (n.sum_high + ((n.sum_low + n.sum_micro / 1000000) >> 26), (n.sum_low + n.sum_micro / 1000000) & 67108863, n.sum_micro % 1000000) >= (((l.quantity_whole + coalesce((q13), 0) + (l.quantity_micro + coalesce((q16), 0)) / 1000000) >> 26) + ((((l.quantity_whole + coalesce((q13), 0) + (l.quantity_micro + coalesce((q16), 0)) / 1000000) & 67108863) + ((l.quantity_micro + coalesce((q16), 0)) % 1000000) / 1000000) >> 26), (((l.quantity_whole + coalesce((q13), 0) + (l.quantity_micro + coalesce((q16), 0)) / 1000000) & 67108863) + ((l.quantity_micro + coalesce((q16), 0)) % 1000000) / 1000000) & 67108863, ((l.quantity_micro + coalesce((q16), 0)) % 1000000) % 1000000))
  AND (SELECT max(p.value) FROM json_each(coalesce(l.notify_at, json_array(80, 100))) p WHERE true) >= 100 THEN 100 END AS percent FROM (
    SELECT usage_limit, organization, window_number, at, NULL AS reason FROM usage_limit_added WHERE sum_high + sum_low + sum_micro > 0 UNION ALL
    SELECT usage_limit, organization, window_number, at, reason FROM usage_limit_refused WHERE reason = 'exceeded' AND NOT is_held
  ) a CROSS JOIN usage_limits l ON l.number = a.usage_limit CROSS JOIN usage_limit_counters n ON n.usage_limit = a.usage_limit
  AND n.organization = a.organization AND n.window_number = a.window_number
  AND (a.reason IS NOT NULL OR (n.is_known AND iif(l.notify_at IS NULL, ((n.sum_high * 100) + (((n.sum_low * 100) + (n.sum_micro * 100) / 1000000) >> 26), ((n.sum_low * 100) + (n.sum_micro * 100) / 1000000) & 67108863, (n.sum_micro * 100) % 1000000) >= (((l.quantity_whole >> 26) * 80) + ((((l.quantity_whole & 67108863) * 80) + (l.quantity_micro * 80) / 1000000) >> 26), (((l.quantity_whole & 67108863) * 80) + (l.quantity_micro * 80) / 1000000) & 67108863, (l.quantity_micro * 80) % 1000000), ((n.sum_high * 100) + (((n.sum_low * 100) + (n.sum_micro * 100) / 1000000) >> 26), ((n.sum_low * 100) + (n.sum_micro * 100) / 1000000) & 67108863, (n.sum_micro * 100) % 1000000) >= (((l.quantity_whole >> 26) * min(l.notify_at ->> 0, 100)) + ((((l.quantity_whole & 67108863) * min(l.notify_at ->> 0, 100)) + (l.quantity_micro * min(l.notify_at ->> 0, 100)) / 1000000) >> 26), (((l.quantity_whole & 67108863) * min(l.notify_at ->> 0, 100)) + (l.quantity_micro * min(l.notify_at ->> 0, 100)) / 1000000) & 67108863, (l.quantity_micro * min(l.notify_at ->> 0, 100)) % 1000000))))
  CROSS JOIN organizations o ON o.number = a.organization LEFT JOIN usage_grant_accounts t ON t.organization = a.organization
  AND t.product_slug = l.product_slug AND t.metric = l.metric AND t.per = l.per
  AND (l.per = 'total' OR EXISTS (SELECT 1 FROM usage_grant_accounts WHERE per > '' AND per <> 'total')) AND l.property = '' AND l.lineage IS NULL
  AND l.alert_of IS NULL
) a WHERE percent IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM limit_notices x WHERE x.usage_limit = a.usage_limit AND x.organization = a.organization AND x.window_number = a.window_number
  AND x.percent >= a.percent AND (a.reason IS NOT NULL OR x.is_refusal = 0)
) GROUP BY usage_limit, organization, window_number HAVING max(2 * percent + (reason IS NULL)) > 0
/* 40 */ INSERT INTO events (id, type, organization, at, facts)
SELECT ? || lower(hex(randomblob(8))), r.type, o.number, ?, json_set(r.facts, '$.organization', json_object('id', o.id, 'externalId', o.external_id, 'name', o.name))
FROM (
  SELECT x.organization, iif(x.percent < 100, 'limit.approaching', iif(l.mode = 'soft', 'limit.exceeded', 'limit.reached')) AS type, json_object('limit', json_set(json_object('id', l.id, 'productSlug', nullif(l.product_slug, ''), 'metric', nullif(l.metric, ''), 'per', l.per, 'by', nullif(l.property, ''), 'mode', l.mode, 'isAlert', l.alert_of IS NOT NULL, 'whole', coalesce(x.quantity_whole, l.quantity_whole), 'micro', coalesce(x.quantity_micro, l.quantity_micro)), '$.value', nullif(x.value, ''), '$.apiKey', (
    SELECT json_object('id', k.id, 'name', k.name) FROM api_keys k
    WHERE k.number = (SELECT max(q.number) FROM api_keys q WHERE q.lineage = coalesce(l.lineage, l.alert_lineage))
  )), 'used', json(x.used), 'percent', x.percent, 'isRefusal', x.is_refusal, 'usedAt', x.at, 'timezone', o.timezone) AS facts FROM limit_notices x
  CROSS JOIN usage_limits l ON l.number = x.usage_limit CROSS JOIN organizations o ON o.number = x.organization WHERE x.mailed_at IS NULL
) r CROSS JOIN organizations o ON o.number = r.organization
/* 41 */ UPDATE limit_notices SET mailed_at = noted_at WHERE mailed_at IS NULL
/* 42 */ SELECT json_group_array(json_object('request', a.request, 'reason', a.reason, 'isHeld', a.is_held, 'held', json_array(CAST(coalesce(n.held_high, 0) AS TEXT), CAST(coalesce(n.held_low, 0) AS TEXT), CAST(coalesce(n.held_micro, 0) AS TEXT), json(iif(n.usage_limit IS NULL OR n.held_high <> 0 OR n.held_low <> 0 OR n.held_micro <> 0, (
  SELECT json_array(n.usage_limit IS NOT NULL, CAST(coalesce(sum((p.value ->> 2) >> 26), 0) AS TEXT), CAST(coalesce(sum((p.value ->> 2) & 67108863), 0) AS TEXT), CAST(coalesce(sum(p.value ->> 3), 0) AS TEXT))
  FROM (SELECT 1) CROSS JOIN usage_holds h ON h.organization = o.number AND h.status = 'active'
  AND (coalesce(l.lineage, l.alert_lineage) IS NULL OR coalesce(l.lineage, l.alert_lineage) = h.lineage)
  AND CASE l.per WHEN 'minute' THEN h.created_at / 60000 WHEN 'hour' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END = a.window_number
  CROSS JOIN json_each(h.records) p ON l.product_slug IN ('', p.value ->> 0) AND l.metric IN ('', p.value ->> 1)
  WHERE h.expires_at <= iif(n.usage_limit IS NULL, 9007199254740991, CAST(?3 AS INTEGER))
  AND iif(n.usage_limit IS NULL, NOT (h.expires_at <= CAST(?3 AS INTEGER) AND h.is_recorded_on_expiry = 0), (h.expires_at <= CAST(?3 AS INTEGER) AND h.is_recorded_on_expiry = 0))
), NULL))), 'heldUntil', iif(a.is_held, (SELECT min(h.expires_at) FROM usage_holds h WHERE h.organization = a.organization AND h.status = 'active'), NULL), 'usageLimit', a.usage_limit, 'organization', a.organization, 'windowNumber', a.window_number, 'at', a.at, 'limitId', l.id, 'lineage', coalesce(l.lineage, l.alert_lineage), 'productSlug', l.product_slug, 'metric', l.metric, 'per', l.per, 'mode', l.mode, 'whole', CAST((l.quantity_whole + coalesce((q13), 0) + (l.quantity_micro + coalesce((q16), 0)) / 1000000) AS TEXT), 'micro', CAST(((l.quantity_micro + coalesce((q16), 0)) % 1000000) AS TEXT), 'timezone', o.timezone, 'openedSeq', n.opened_seq, 'used', json_array(CAST(n.sum_high AS TEXT), CAST(n.sum_low AS TEXT), CAST(n.sum_micro AS TEXT)), 'reserved', (
  SELECT CAST(min(CAST(max(0, min((coalesce((q12), 0) * 1000000 + coalesce((q15), 0)), 9000000000000000000)) AS INTEGER), coalesce((
    SELECT CAST(max(0, min((sum(need / 1000000) * 1000000 + sum(need % 1000000)), 9000000000000000000)) AS INTEGER) FROM (
      SELECT iif(m.is_known, min(CAST(max(0, min(((m.held_high * 67108864 + m.held_low) * 1000000 + m.held_micro), 9000000000000000000)) AS INTEGER), CAST(max(0, min((((m.sum_high + m.held_high) * 67108864 + (m.sum_low + m.held_low - (l.quantity_whole + iif(t.per = 'total', t.taken_whole, coalesce((q17), 0))))) * 1000000 + m.sum_micro + m.held_micro - (l.quantity_micro + iif(t.per = 'total', t.taken_micro, coalesce((q18), 0)))), 9000000000000000000)) AS INTEGER)), CAST(max(0, min(((m.held_high * 67108864 + m.held_low) * 1000000 + m.held_micro), 9000000000000000000)) AS INTEGER)) AS need
      FROM (
        SELECT c.window_number, c.sum_high, c.sum_low, c.sum_micro, c.is_known, c.held_high - coalesce(e.held_high, 0) AS held_high, c.held_low - coalesce(e.held_low, 0) AS held_low, c.held_micro - coalesce(e.held_micro, 0) AS held_micro
        FROM usage_limit_counters c LEFT JOIN (
          SELECT CASE l.per WHEN 'minute' THEN h.created_at / 60000 WHEN 'hour' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END AS window_number, coalesce(sum((p.value ->> 2) >> 26), 0) AS held_high, coalesce(sum((p.value ->> 2) & 67108863), 0) AS held_low, coalesce(sum(p.value ->> 3), 0) AS held_micro
          FROM (SELECT 1) CROSS JOIN usage_holds h ON h.organization = o.number AND h.status = 'active'
          AND (coalesce(l.lineage, l.alert_lineage) IS NULL OR coalesce(l.lineage, l.alert_lineage) = h.lineage)
          AND CASE l.per WHEN 'minute' THEN h.created_at / 60000 WHEN 'hour' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END = CASE l.per WHEN 'minute' THEN h.created_at / 60000 WHEN 'hour' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END
          CROSS JOIN json_each(h.records) p ON l.product_slug IN ('', p.value ->> 0) AND l.metric IN ('', p.value ->> 1)
          WHERE h.expires_at <= CAST(?3 AS INTEGER) AND (h.expires_at <= CAST(?3 AS INTEGER) AND h.is_recorded_on_expiry = 0) GROUP BY 1
        ) e ON e.window_number = c.window_number WHERE c.usage_limit = l.number AND c.organization = o.number
        AND c.opened_seq >= max(l.created_seq, o.limits_seq) AND c.window_number <> a.window_number
        AND (c.held_high <> 0 OR c.held_low <> 0 OR c.held_micro <> 0)
      ) m WHERE (m.held_high <> 0 OR m.held_low <> 0 OR m.held_micro <> 0)
    )
  ), 0)) AS TEXT) FROM usage_grant_accounts t WHERE t.organization = o.number AND t.product_slug = l.product_slug AND t.metric = l.metric
  AND t.per = l.per AND (l.per = 'total' OR EXISTS (SELECT 1 FROM usage_grant_accounts WHERE per > '' AND per <> 'total')) AND l.property = ''
  AND l.lineage IS NULL AND l.alert_of IS NULL AND t.per <> 'total'
))) AS list FROM (
  SELECT NULL AS request, NULL AS reason, 0 AS is_held, usage_limit, organization, window_number, at FROM usage_limit_added a
  WHERE at = CAST(?3 AS INTEGER) AND EXISTS (
    SELECT 1 FROM usage_limit_counters n WHERE n.usage_limit = a.usage_limit AND n.organization = a.organization AND n.window_number = a.window_number
    AND n.is_known
  ) UNION ALL SELECT NULL, 'unknown', 0, usage_limit, organization, window_number, at FROM (
    SELECT * FROM (
      SELECT a.usage_limit, a.organization, a.window_number, a.at FROM usage_limit_added a
      CROSS JOIN usage_limit_counters n ON n.usage_limit = a.usage_limit AND n.organization = a.organization AND n.window_number = a.window_number
      AND NOT n.is_known CROSS JOIN usage_limits l ON l.number = a.usage_limit AND (l.mode <> 'hard' OR a.sum_high + a.sum_low + a.sum_micro > 0)
      ORDER BY a.at <> CAST(?3 AS INTEGER) LIMIT 2000
    ) UNION ALL SELECT * FROM (
      SELECT a.usage_limit, a.organization, m.window_number, (
        SELECT min(h.created_at) FROM (SELECT 1) CROSS JOIN usage_holds h ON h.organization = o.number AND h.status = 'active'
        AND (coalesce(l.lineage, l.alert_lineage) IS NULL OR coalesce(l.lineage, l.alert_lineage) = h.lineage)
        AND CASE l.per WHEN 'minute' THEN h.created_at / 60000 WHEN 'hour' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END = m.window_number
        CROSS JOIN json_each(h.records) p ON l.product_slug IN ('', p.value ->> 0) AND l.metric IN ('', p.value ->> 1)
      ) AS at FROM (SELECT 1 WHERE EXISTS (SELECT 1 FROM usage_grant_accounts WHERE per > '' AND per <> 'total')) CROSS JOIN usage_limit_added a
      CROSS JOIN usage_limits l ON l.number = a.usage_limit CROSS JOIN usage_grant_accounts t ON t.organization = a.organization
      AND t.product_slug = l.product_slug AND t.metric = l.metric AND t.per = l.per
      AND (l.per = 'total' OR EXISTS (SELECT 1 FROM usage_grant_accounts WHERE per > '' AND per <> 'total')) AND l.property = '' AND l.lineage IS NULL
      AND l.alert_of IS NULL AND t.per <> 'total' CROSS JOIN organizations o CROSS JOIN usage_limit_counters m ON m.usage_limit = a.usage_limit
      AND m.organization = o.number AND m.window_number <> a.window_number AND (m.held_high <> 0 OR m.held_low <> 0 OR m.held_micro <> 0)
      AND m.opened_seq >= max(l.created_seq, o.limits_seq) WHERE o.number = a.organization AND m.is_known = 0 LIMIT 2000
    )
  ) UNION ALL SELECT request, reason, is_held, usage_limit, organization, window_number, at
  FROM (SELECT *, row_number() OVER (PARTITION BY request) AS rank FROM usage_limit_refused) WHERE rank <= iif(reason = 'unknown', 2000, 100)
) a CROSS JOIN usage_limit_counters n ON n.usage_limit = a.usage_limit AND n.organization = a.organization AND n.window_number = a.window_number
CROSS JOIN usage_limits l ON l.number = a.usage_limit AND (l.alert_of IS NULL OR a.reason IS NOT NULL)
CROSS JOIN organizations o ON o.number = a.organization
/* 43 */ DELETE FROM usage_limit_added
/* 44 */ DELETE FROM usage_limit_refused
/* 45 */ 12 with other lines, /* 1 */ WITH series AS MATERIALIZED (q7) DELETE FROM usage_series

-- With limits per value: 24, 46, 47, 48, 5, 49, 29, 50, 51, 52, 53, 54, 31, 32, 33, 34, 55, 56, 57, 36, 58, 37, 59, 38, 39, 40, 41, 42, 60, 61, 43, 44, 6, 7, 8, 9, 10, 11, 62, 13, 14
/* 46 */ 2 with other lines, /* 8 */     AND true AND true
/* 47 */ 3 with other lines, /* 7 */     AND true AND true
/* q38 */ q2 with other lines, /* 6 */ AND true AND true
/* 48 */ 4 with other lines, /* 1 */ WITH series AS MATERIALIZED (q38), blocked AS MATERIALIZED (q3)
/* 49 */ 28 with other lines, /* 8 */   AND true AND true
/* q39 */ q8 with other lines, /* 2 */ AND own.property = l.property
/* q40 */ q38 with other lines, /* 1 to 4 */ SELECT CAST(e.key AS INTEGER) AS position, us.id AS series, us.organization, l.number AS usage_limit, l.per, o.timezone, l.property
FROM json_each(?2) e JOIN api_keys k ON k.key_hash = e.value ->> 0 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?3)
AND k.disabled_at IS NULL JOIN organizations o ON o.id = k.organization_id
JOIN usage_series us ON us.organization = iif(k.environment = 'test', -o.number, o.number) AND us.product_slug = e.value ->> 1
AND us.metric = e.value ->> 2 AND us.api_key = k.number
CROSS JOIN usage_limits l ON (+l.property <> '' AND ((l.plan = o.plan AND l.product_slug IN ('', us.product_slug) AND l.metric IN ('', us.metric) AND NOT EXISTS (q39)) OR (l.organization = o.number AND l.product_slug IN ('', us.product_slug) AND l.metric IN ('', us.metric) AND l.quantity_whole IS NOT NULL) OR (l.lineage = k.lineage AND l.product_slug IN ('', us.product_slug) AND l.metric IN ('', us.metric)) OR (l.alert_of = o.number AND l.product_slug IN ('', us.product_slug) AND l.metric IN ('', us.metric) AND (l.alert_lineage IS NULL OR l.alert_lineage = k.lineage))))
/* 8 */ AND us.organization > 0
AND NOT EXISTS (SELECT 1 FROM usage_value_spans s WHERE s.organization = us.organization AND s.usage_limit = l.number AND s.until_seq IS NULL)
/* 50 */ WITH applied AS MATERIALIZED (q40)
INSERT INTO usage_hold_values (hold, usage_limit, organization, window_number, value, held_high, held_low, held_micro)
SELECT h.number, l.number, o.number, CASE l.per WHEN 'minute' THEN h.created_at / 60000 WHEN 'hour' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END, coalesce(p.value -> 4 ->> l.property, '(none)'), coalesce(sum((p.value ->> 2) >> 26), 0) AS held_high, coalesce(sum((p.value ->> 2) & 67108863), 0) AS held_low, coalesce(sum(p.value ->> 3), 0) AS held_micro
FROM (SELECT DISTINCT organization, usage_limit FROM applied) a CROSS JOIN usage_limits l ON l.number = a.usage_limit
CROSS JOIN organizations o ON o.number = a.organization CROSS JOIN usage_holds h ON h.organization = o.number AND h.status = 'active'
AND (coalesce(l.lineage, l.alert_lineage) IS NULL OR coalesce(l.lineage, l.alert_lineage) = h.lineage)
AND CASE l.per WHEN 'minute' THEN h.created_at / 60000 WHEN 'hour' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END = CASE l.per WHEN 'minute' THEN h.created_at / 60000 WHEN 'hour' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (h.created_at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= h.created_at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END
CROSS JOIN json_each(h.records) p ON l.product_slug IN ('', p.value ->> 0) AND l.metric IN ('', p.value ->> 1)
WHERE NOT EXISTS (SELECT 1 FROM usage_value_spans s WHERE s.organization = o.number AND s.usage_limit = l.number AND s.until_seq IS NULL)
AND NOT (h.expires_at <= CAST(?3 AS INTEGER) AND h.is_recorded_on_expiry = 0)
AND NOT EXISTS (SELECT 1 FROM usage_hold_values v WHERE v.hold = h.number AND v.usage_limit = l.number) GROUP BY 1, 2, 3, 4, 5
ORDER BY h.number, min(p.key)
/* 51 */ WITH applied AS MATERIALIZED (q40) INSERT OR REPLACE INTO usage_value_spans (organization, usage_limit, since_seq, timezone)
SELECT DISTINCT organization, usage_limit, (SELECT seq FROM usage_cursor), timezone FROM applied
/* q41 */ SELECT a.*, coalesce(r.properties ->> a.property, '(none)') AS value, r.seq, r.timestamp AS at, r.quantity_whole >> 26 AS high, r.quantity_whole & 67108863 AS low, r.quantity_micro AS micro
FROM usage_records r CROSS JOIN applied a ON a.series = r.series WHERE r.seq > (SELECT seq FROM usage_cursor) UNION ALL
SELECT a.*, coalesce(nullif(substr(e.value, 66 + CAST(substr(e.value, 63, 3) AS INTEGER)), '') ->> a.property, '(none)'), (SELECT seq FROM usage_cursor) + e.key + 1, CAST(?3 AS INTEGER), 0, 0, 0
FROM json_each(?1) e CROSS JOIN applied a ON a.position = CAST(substr(e.value, 1, 5) AS INTEGER)
/* q42 */ SELECT usage_limit, organization, CASE a.per WHEN 'minute' THEN a.at / 60000 WHEN 'hour' THEN (a.at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= a.at ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= a.at ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (a.at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= a.at ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (a.at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= a.at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (a.at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= a.at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END AS window_number, per, timezone, value, min(seq) AS first_seq, iif(max(at = CAST(?3 AS INTEGER)), CAST(?3 AS INTEGER), min(at)) AS at, sum(high) AS sum_high, sum(low) AS sum_low, sum(micro) AS sum_micro
FROM found a GROUP BY usage_limit, organization, 3, value
/* q43 */ SELECT w.counters FROM usage_value_windows w WHERE w.usage_limit = s.usage_limit AND w.organization = s.organization
AND w.window_number = s.window_number
/* q44 */ SELECT 1 FROM usage_value_counters c WHERE c.usage_limit = s.usage_limit AND c.organization = s.organization AND c.window_number = s.window_number
AND c.value = s.value
/* q45 */ SELECT s.*, (s.value = '(other)' OR EXISTS (q44) OR EXISTS (SELECT 1 FROM usage_limit_exceptions x WHERE x.usage_limit = s.usage_limit AND x.value = s.value)) AS has_own
FROM summed s
WHERE CASE s.per WHEN 'hour' THEN s.window_number + 3600000 + 172800000 > CAST(?3 AS INTEGER) ELSE iif(s.per = 'day', (s.window_number + 1) * 86400000 + 3456000000, (1000 * strftime('%s', format('%d-%02d-01', 1970 + (s.window_number + 1) / 12, 1 + (s.window_number + 1) % 12))) + 34905600000) > CAST(?3 AS INTEGER) + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = s.timezone AND z.since <= CAST(?3 AS INTEGER) ORDER BY z.since DESC LIMIT 1), 0) END
/* q46 */ SELECT *, iif(has_own, 0, 10000 - coalesce((q43), 0)) AS room, row_number() OVER ( PARTITION BY usage_limit, organization, window_number, has_own, sum_high + sum_low + sum_micro > 0 ORDER BY first_seq) AS rank
FROM (q45) s
/* 52 */ 49 with other lines, /* 2 to 6 */   SELECT CAST(e.key AS INTEGER) AS position, us.id AS series, us.organization, l.number AS usage_limit, l.per, o.timezone, l.property
  FROM json_each(?2) e JOIN api_keys k ON k.key_hash = e.value ->> 0 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?3)
  AND k.disabled_at IS NULL JOIN organizations o ON o.id = k.organization_id
  JOIN usage_series us ON us.organization = iif(k.environment = 'test', -o.number, o.number) AND us.product_slug = e.value ->> 1
  AND us.metric = e.value ->> 2 AND us.api_key = k.number
  CROSS JOIN usage_limits l ON (+l.property <> '' AND ((l.plan = o.plan AND l.product_slug IN ('', us.product_slug) AND l.metric IN ('', us.metric) AND NOT EXISTS (q39)) OR (l.organization = o.number AND l.product_slug IN ('', us.product_slug) AND l.metric IN ('', us.metric) AND l.quantity_whole IS NOT NULL) OR (l.lineage = k.lineage AND l.product_slug IN ('', us.product_slug) AND l.metric IN ('', us.metric)) OR (l.alert_of = o.number AND l.product_slug IN ('', us.product_slug) AND l.metric IN ('', us.metric) AND (l.alert_lineage IS NULL OR l.alert_lineage = k.lineage))))
/* 11 to 12 */ ), found AS (q41), summed AS MATERIALIZED (q42)
INSERT INTO usage_value_added (usage_limit, organization, window_number, value, counter, at, sum_high, sum_low, sum_micro)
SELECT usage_limit, organization, window_number, value, iif(has_own OR rank <= room, value, '(other)'), at, sum_high, sum_low, sum_micro FROM (q46)
WHERE true ON CONFLICT DO UPDATE SET sum_high = excluded.sum_high, sum_low = excluded.sum_low, sum_micro = excluded.sum_micro
/* 53 */ 30 with other lines, /* 8 */   AND true AND true
/* q47 */ SELECT min(number) AS number, usage_limit, organization, window_number, counter AS value, max(at) AS at, sum(sum_high) AS sum_high, sum(sum_low) AS sum_low, sum(sum_micro) AS sum_micro
FROM usage_value_added GROUP BY usage_limit, organization, window_number, counter
/* q48 */ SELECT a.*, l.per, l.mode, l.notify_at, l.alert_of, iif(x.value IS NULL, l.quantity_whole, x.quantity_whole) AS quantity_whole, iif(x.value IS NULL, l.quantity_micro, x.quantity_micro) AS quantity_micro
FROM (q47) a CROSS JOIN usage_limits l ON l.number = a.usage_limit LEFT JOIN usage_limit_exceptions x ON x.usage_limit = a.usage_limit
AND x.value = a.value
/* 54 */ 52 with other lines, /* 1 */ WITH full AS MATERIALIZED (
  SELECT -l.number AS usage_limit, l.usage_limit AS number, l.mode, l.organization, l.window_number, l.value, l.at, l.quantity_whole, l.quantity_micro, coalesce(n.sum_high + n.held_high, 0) AS sum_high, coalesce(n.sum_low + n.held_low, 0) AS sum_low, coalesce(n.sum_micro + n.held_micro, 0) AS sum_micro, coalesce(n.held_high, 0) AS held_high, coalesce(n.held_low, 0) AS held_low, coalesce(n.held_micro, 0) AS held_micro
  FROM (q48) l LEFT JOIN usage_value_counters n ON n.usage_limit = l.usage_limit AND n.organization = l.organization
  AND n.window_number = l.window_number AND n.value = l.value WHERE (l.mode = 'hard' OR (l.mode = 'cutoff' AND ?4 IS NOT NULL))
  AND ((coalesce(n.sum_high + n.held_high, 0) + l.sum_high) + (((coalesce(n.sum_low + n.held_low, 0) + l.sum_low) + (coalesce(n.sum_micro + n.held_micro, 0) + (l.sum_micro + (l.mode = 'cutoff'))) / 1000000) >> 26), ((coalesce(n.sum_low + n.held_low, 0) + l.sum_low) + (coalesce(n.sum_micro + n.held_micro, 0) + (l.sum_micro + (l.mode = 'cutoff'))) / 1000000) & 67108863, (coalesce(n.sum_micro + n.held_micro, 0) + (l.sum_micro + (l.mode = 'cutoff'))) % 1000000) > ((l.quantity_whole >> 26) + (((l.quantity_whole & 67108863) + l.quantity_micro / 1000000) >> 26), ((l.quantity_whole & 67108863) + l.quantity_micro / 1000000) & 67108863, l.quantity_micro % 1000000)
), applied AS MATERIALIZED (
/* 11 to 15 */   AND us.organization > 0 AND EXISTS (SELECT 1 FROM full)
), demands AS MATERIALIZED (
  SELECT *, iif(mode = 'cutoff', 0, own_high) AS high, iif(mode = 'cutoff', 0, own_low) AS low, iif(mode = 'cutoff', records > 0, own_micro) AS micro
  FROM (
    SELECT CAST(substr(e.value, 6, 5) AS INTEGER) AS request, l.*, l.mode = 'hard' OR CAST(substr(e.value, 6, 5) AS INTEGER) IN (SELECT value FROM json_each(?4)) AS is_judged, count(r.seq) AS records, coalesce(sum(r.quantity_whole >> 26), 0) AS own_high, coalesce(sum(r.quantity_whole & 67108863), 0) AS own_low, coalesce(sum(r.quantity_micro), 0) AS own_micro
    FROM json_each(?1) e CROSS JOIN applied a ON a.position = CAST(substr(e.value, 1, 5) AS INTEGER)
    CROSS JOIN usage_records r ON r.seq = (SELECT seq FROM usage_cursor) + e.key + 1 CROSS JOIN usage_value_added v ON v.usage_limit = a.usage_limit
    AND v.organization = a.organization
    AND v.window_number = CASE a.per WHEN 'minute' THEN r.timestamp / 60000 WHEN 'hour' THEN (r.timestamp + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= r.timestamp ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= r.timestamp ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (r.timestamp + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= r.timestamp ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (r.timestamp + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= r.timestamp ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (r.timestamp + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = a.timezone AND z.since <= r.timestamp ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END
    AND v.value = coalesce(r.properties ->> a.property, '(none)') CROSS JOIN full l ON l.number = v.usage_limit AND l.organization = v.organization
    AND l.window_number = v.window_number AND l.value = v.counter WHERE EXISTS (SELECT 1 FROM full) GROUP BY 1, l.usage_limit
  )
), judged AS MATERIALIZED (
  SELECT *, max(is_over) OVER (PARTITION BY request) AS is_too_large FROM (
    SELECT l.*, is_judged AND high + low + micro > 0
    AND ((l.sum_high + l.high) + (((l.sum_low + l.low) + (l.sum_micro + l.micro) / 1000000) >> 26), ((l.sum_low + l.low) + (l.sum_micro + l.micro) / 1000000) & 67108863, (l.sum_micro + l.micro) % 1000000) > ((l.quantity_whole >> 26) + (((l.quantity_whole & 67108863) + l.quantity_micro / 1000000) >> 26), ((l.quantity_whole & 67108863) + l.quantity_micro / 1000000) & 67108863, l.quantity_micro % 1000000) AS is_over
    FROM demands l
  )
) INSERT INTO usage_limit_refused (request, usage_limit, organization, window_number, at, reason, is_held)
SELECT request, usage_limit, organization, window_number, at, 'exceeded', NOT (((l.sum_high - l.held_high) + l.high) + ((((l.sum_low - l.held_low) + l.low) + ((l.sum_micro - l.held_micro) + l.micro) / 1000000) >> 26), (((l.sum_low - l.held_low) + l.low) + ((l.sum_micro - l.held_micro) + l.micro) / 1000000) & 67108863, ((l.sum_micro - l.held_micro) + l.micro) % 1000000) > ((l.quantity_whole >> 26) + (((l.quantity_whole & 67108863) + l.quantity_micro / 1000000) >> 26), ((l.quantity_whole & 67108863) + l.quantity_micro / 1000000) & 67108863, l.quantity_micro % 1000000)
FROM judged l WHERE is_over UNION ALL SELECT request, usage_limit, organization, window_number, at, 'others', 0 FROM (
  SELECT request, usage_limit, organization, window_number, at, is_judged, sum_high, sum_low, sum_micro, quantity_whole, quantity_micro, sum(own_high) OVER (PARTITION BY usage_limit, organization, window_number ORDER BY request) - own_high + high AS high, sum(own_low) OVER (PARTITION BY usage_limit, organization, window_number ORDER BY request) - own_low + low AS low, sum(own_micro) OVER (PARTITION BY usage_limit, organization, window_number ORDER BY request) - own_micro + micro AS micro, false AS is_other
  FROM judged WHERE true AND NOT is_too_large AND high + low + micro > 0
) l WHERE is_judged
AND (((l.sum_high + l.high) + (((l.sum_low + l.low) + (l.sum_micro + l.micro) / 1000000) >> 26), ((l.sum_low + l.low) + (l.sum_micro + l.micro) / 1000000) & 67108863, (l.sum_micro + l.micro) % 1000000) > ((l.quantity_whole >> 26) + (((l.quantity_whole & 67108863) + l.quantity_micro / 1000000) >> 26), ((l.quantity_whole & 67108863) + l.quantity_micro / 1000000) & 67108863, l.quantity_micro % 1000000) OR is_other)
/* 55 */ 35 with other lines, /* 8 */   AND true AND true
/* 56 */ UPDATE usage_value_added SET sum_high = 0, sum_low = 0, sum_micro = 0 WHERE EXISTS (SELECT 1 FROM usage_limit_refused)
/* 57 */ 52 with other lines, /* 11 */   AND us.organization > 0 AND EXISTS (SELECT 1 FROM usage_limit_refused)
/* 58 */ INSERT INTO usage_value_counters (usage_limit, organization, window_number, value, sum_high, sum_low, sum_micro, opened_seq)
SELECT usage_limit, organization, window_number, counter, sum(sum_high), sum(sum_low), sum(sum_micro), (SELECT seq FROM usage_cursor)
FROM usage_value_added WHERE sum_high + sum_low + sum_micro > 0 GROUP BY 1, 2, 3, 4 ON CONFLICT DO UPDATE
SET sum_high = sum_high + excluded.sum_high, sum_low = sum_low + excluded.sum_low, sum_micro = sum_micro + excluded.sum_micro
/* 59 */ INSERT INTO limit_notices (usage_limit, organization, window_number, percent, is_refusal, used, at, noted_at, mailed_at, quantity_whole, quantity_micro, value, is_quiet)
SELECT usage_limit, organization, window_number, percent, reason IS NOT NULL
AND mode = 'hard', used, at, CAST(?3 AS INTEGER), NULL, quantity_whole, quantity_micro, value, is_quiet FROM (
  WITH noted AS MATERIALIZED (
    SELECT l.usage_limit, l.organization, iif(l.per IN ('minute', 'hour'), CASE 'day' WHEN 'minute' THEN l.at / 60000 WHEN 'hour' THEN (l.at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= l.at ORDER BY z.since DESC LIMIT 1), 0)) / 3600000 * 3600000 - coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= l.at ORDER BY z.since DESC LIMIT 1), 0) WHEN 'day' THEN (l.at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= l.at ORDER BY z.since DESC LIMIT 1), 0)) / 86400000 WHEN 'month' THEN ((strftime('%Y', (l.at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= l.at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', (l.at + coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = o.timezone AND z.since <= l.at ORDER BY z.since DESC LIMIT 1), 0)) / 1000, 'unixepoch') - 1) ELSE 0 END, l.window_number) AS window_number, l.reason, l.mode, l.at, l.quantity_whole, l.quantity_micro, json_array(coalesce(n.sum_high, 0), coalesce(n.sum_low, 0), coalesce(n.sum_micro, 0), json(iif(n.held_high <> 0 OR n.held_low <> 0 OR n.held_micro <> 0, (
      SELECT json_array( n.held_high - coalesce(sum(v.held_high), 0), n.held_low - coalesce(sum(v.held_low), 0), n.held_micro - coalesce(sum(v.held_micro), 0))
      FROM (SELECT 1) CROSS JOIN usage_holds h ON h.organization = n.organization AND h.status = 'active'
      CROSS JOIN usage_hold_values v ON v.hold = h.number AND v.usage_limit = n.usage_limit AND v.organization = n.organization
      AND v.window_number = n.window_number AND v.counter = n.value WHERE h.expires_at <= CAST(?3 AS INTEGER)
      AND (h.expires_at <= CAST(?3 AS INTEGER) AND h.is_recorded_on_expiry = 0)
    ), NULL))) AS used, iif(l.reason IS NULL, (
      SELECT max(p.value) FROM json_each(coalesce(l.notify_at, json_array(80, 100))) p
      WHERE ((n.sum_high * 100) + (((n.sum_low * 100) + (n.sum_micro * 100) / 1000000) >> 26), ((n.sum_low * 100) + (n.sum_micro * 100) / 1000000) & 67108863, (n.sum_micro * 100) % 1000000) >= (((l.quantity_whole >> 26) * p.value) + ((((l.quantity_whole & 67108863) * p.value) + (l.quantity_micro * p.value) / 1000000) >> 26), (((l.quantity_whole & 67108863) * p.value) + (l.quantity_micro * p.value) / 1000000) & 67108863, (l.quantity_micro * p.value) % 1000000)
    ), iif((SELECT max(p.value) FROM json_each(coalesce(l.notify_at, json_array(80, 100))) p WHERE true) >= 100, 100, NULL)) AS percent, l.value AS name
    FROM (
      SELECT l.*, NULL AS reason FROM (q48) l WHERE l.sum_high + l.sum_low + l.sum_micro > 0 UNION ALL SELECT l.*, f.reason FROM usage_limit_refused f
      CROSS JOIN usage_value_added v ON v.number = -f.usage_limit CROSS JOIN (q48) l ON l.usage_limit = v.usage_limit
      AND l.organization = v.organization AND l.window_number = v.window_number AND l.value = v.counter WHERE f.reason = 'exceeded' AND NOT f.is_held
    ) l CROSS JOIN organizations o ON o.number = l.organization LEFT JOIN usage_value_counters n ON n.usage_limit = l.usage_limit
    AND n.organization = l.organization AND n.window_number = l.window_number AND n.value = l.value
    WHERE iif(l.reason IS NULL, iif(l.notify_at IS NULL, ((n.sum_high * 100) + (((n.sum_low * 100) + (n.sum_micro * 100) / 1000000) >> 26), ((n.sum_low * 100) + (n.sum_micro * 100) / 1000000) & 67108863, (n.sum_micro * 100) % 1000000) >= (((l.quantity_whole >> 26) * 80) + ((((l.quantity_whole & 67108863) * 80) + (l.quantity_micro * 80) / 1000000) >> 26), (((l.quantity_whole & 67108863) * 80) + (l.quantity_micro * 80) / 1000000) & 67108863, (l.quantity_micro * 80) % 1000000), ((n.sum_high * 100) + (((n.sum_low * 100) + (n.sum_micro * 100) / 1000000) >> 26), ((n.sum_low * 100) + (n.sum_micro * 100) / 1000000) & 67108863, (n.sum_micro * 100) % 1000000) >= (((l.quantity_whole >> 26) * min(l.notify_at ->> 0, 100)) + ((((l.quantity_whole & 67108863) * min(l.notify_at ->> 0, 100)) + (l.quantity_micro * min(l.notify_at ->> 0, 100)) / 1000000) >> 26), (((l.quantity_whole & 67108863) * min(l.notify_at ->> 0, 100)) + (l.quantity_micro * min(l.notify_at ->> 0, 100)) / 1000000) & 67108863, (l.quantity_micro * min(l.notify_at ->> 0, 100)) % 1000000)), n.sum_high + n.sum_low + n.sum_micro > 0 OR l.quantity_whole + l.quantity_micro = 0)
  ), shared AS MATERIALIZED (
    SELECT f.*, (
      SELECT count(DISTINCT x.value) FROM limit_notices x WHERE x.usage_limit = f.usage_limit AND x.organization = f.organization
      AND x.window_number = f.window_number AND x.value > ''
    ) AS named FROM (SELECT DISTINCT usage_limit, organization, window_number FROM noted) f CROSS JOIN usage_limits y ON y.number = f.usage_limit
    AND (
      SELECT min(EXISTS (SELECT 1 FROM json_each(m.shareable) e WHERE e.value = y.property)) FROM products p
      CROSS JOIN product_metrics m ON m.product = p.slug AND y.metric IN ('', m.slug) WHERE y.product_slug IN ('', p.slug)
    ) = 1
  ), known AS (
    SELECT f.*, w.named, w.named IS NOT NULL AND EXISTS (
      SELECT 1 FROM limit_notices x WHERE x.usage_limit = f.usage_limit AND x.organization = f.organization AND x.window_number = f.window_number
      AND x.value = f.name
    ) AS is_named FROM noted f LEFT JOIN shared w ON w.usage_limit = f.usage_limit AND w.organization = f.organization
    AND w.window_number = f.window_number WHERE f.percent IS NOT NULL
  ), valued AS (
    SELECT *, iif(is_named OR named + dense_rank() OVER ( PARTITION BY usage_limit, organization, window_number, is_named ORDER BY name) <= 100, name, '') AS value
    FROM known
  )
  SELECT *, value <> first_value(value) OVER (PARTITION BY usage_limit, organization, window_number ORDER BY 2 * percent + (reason IS NULL) DESC, value) OR EXISTS (
    SELECT 1 FROM limit_notices x WHERE x.usage_limit = v.usage_limit AND x.organization = v.organization AND x.window_number = v.window_number
    AND x.percent >= v.percent
  ) AS is_quiet FROM valued v
) a WHERE percent IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM limit_notices x WHERE x.usage_limit = a.usage_limit AND x.organization = a.organization AND x.window_number = a.window_number
  AND x.percent >= a.percent AND x.value = a.value
) GROUP BY usage_limit, organization, window_number, value HAVING max(2 * percent + (reason IS NULL)) > 0
/* 60 */ 42 with other lines, /* 2 to 6 */   SELECT json_array(n.usage_limit IS NOT NULL, CAST(coalesce(sum(v.held_high), 0) AS TEXT), CAST(coalesce(sum(v.held_low), 0) AS TEXT), CAST(coalesce(sum(v.held_micro), 0) AS TEXT))
  FROM (SELECT 1) CROSS JOIN usage_holds h ON h.organization = n.organization AND h.status = 'active'
  CROSS JOIN usage_hold_values v ON v.hold = h.number AND v.usage_limit = n.usage_limit AND v.organization = n.organization
  AND v.window_number = n.window_number AND v.counter = n.value
/* 9 to 59 */ ), NULL))), 'heldUntil', iif(a.is_held, (SELECT min(h.expires_at) FROM usage_holds h WHERE h.organization = a.organization AND h.status = 'active'), NULL), 'usageLimit', a.usage_limit, 'organization', a.organization, 'windowNumber', a.window_number, 'at', a.at, 'limitId', l.id, 'lineage', coalesce(l.lineage, l.alert_lineage), 'productSlug', l.product_slug, 'metric', l.metric, 'per', l.per, 'mode', l.mode, 'whole', CAST(a.quantity_whole AS TEXT), 'micro', CAST(a.quantity_micro AS TEXT), 'timezone', o.timezone, 'openedSeq', n.opened_seq, 'used', json_array(CAST(coalesce(n.sum_high, 0) AS TEXT), CAST(coalesce(n.sum_low, 0) AS TEXT), CAST(coalesce(n.sum_micro, 0) AS TEXT)), 'by', l.property, 'value', a.value, 'counter', a.counter, 'countsFrom', max(l.created_at, o.created_at, iif(l.plan IS NULL, 0, coalesce(o.plan_since, 0))))) AS list
FROM (
  SELECT NULL AS request, NULL AS reason, 0 AS is_held, v.value AS value, l.usage_limit, l.organization, l.window_number, l.value AS counter, l.at, l.quantity_whole, l.quantity_micro
  FROM usage_value_added v CROSS JOIN (q48) l ON l.usage_limit = v.usage_limit AND l.organization = v.organization
  AND l.window_number = v.window_number AND l.value = v.counter AND l.alert_of IS NULL WHERE v.at = CAST(?3 AS INTEGER) UNION ALL
  SELECT request, reason, is_held, value, usage_limit, organization, window_number, value, at, quantity_whole, quantity_micro FROM (
    SELECT l.*, f.request, f.reason, f.is_held, row_number() OVER (PARTITION BY f.request) AS rank FROM usage_limit_refused f
    CROSS JOIN usage_value_added v ON v.number = -f.usage_limit CROSS JOIN (q48) l ON l.usage_limit = v.usage_limit
    AND l.organization = v.organization AND l.window_number = v.window_number AND l.value = v.counter
  ) WHERE rank <= 100
) a CROSS JOIN usage_limits l ON l.number = a.usage_limit CROSS JOIN organizations o ON o.number = a.organization
LEFT JOIN usage_value_counters n ON n.usage_limit = a.usage_limit AND n.organization = a.organization AND n.window_number = a.window_number
AND n.value = a.counter WHERE a.quantity_whole IS NOT NULL
/* 61 */ DELETE FROM usage_value_added
/* 62 */ 12 with other lines, /* 1 */ WITH series AS MATERIALIZED (q38) DELETE FROM usage_series

-- With dimensions: 1, 63, 64, 65, 5, 6, 7, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 8, 9, 10, 11, 81, 13, 14
/* 63 */ 2 with other lines, /* 8 to 10 */     AND true AND NOT EXISTS (SELECT 1 FROM usage_limits) AND true AND NOT EXISTS (q1)
/* 64 */ 3 with other lines, /* 7 to 9 */     AND true AND NOT EXISTS (SELECT 1 FROM usage_limits) AND true AND NOT EXISTS (q1)
/* q49 */ q2 with other lines, /* 6 to 8 */ AND true AND NOT EXISTS (SELECT 1 FROM usage_limits) AND true AND true
/* 65 */ 4 with other lines, /* 1 */ WITH series AS MATERIALIZED (q49), blocked AS MATERIALIZED (q3)
/* 66 */ WITH w AS MATERIALIZED (
  SELECT s.id AS series, s.organization, g.number, g.property FROM (SELECT DISTINCT series FROM usage_added) a
  CROSS JOIN usage_series s ON s.id = a.series CROSS JOIN usage_aggregations g ON g.product = s.product_slug AND g.metric = s.metric
  AND g.removed_at IS NULL AND g.aggregation = 'last' AND true WHERE s.organization NOT IN (0, -2147483648)
), ranked AS (
  SELECT w.number, r.*, row_number() OVER (PARTITION BY r.series, r.timestamp / 900000 ORDER BY r.timestamp DESC, r.seq DESC) AS rank
  FROM usage_records r CROSS JOIN w ON w.series = r.series WHERE r.seq > (SELECT seq FROM usage_cursor) AND EXISTS (SELECT 1 FROM w)
) INSERT INTO usage_latest (aggregation, series, quarter, timestamp, seq, quantity_whole, quantity_micro)
SELECT number, series, timestamp / 900000, timestamp, seq, quantity_whole, quantity_micro FROM ranked WHERE rank = 1
ON CONFLICT (aggregation, series, quarter) DO UPDATE
SET timestamp = excluded.timestamp, seq = excluded.seq, quantity_whole = excluded.quantity_whole, quantity_micro = excluded.quantity_micro
WHERE (excluded.timestamp, excluded.seq) > (usage_latest.timestamp, usage_latest.seq)
/* 67 */ 66 with other lines, /* 4 to 12 */   AND g.removed_at IS NULL AND g.aggregation = 'unique' AND true WHERE s.organization NOT IN (0, -2147483648)
) INSERT INTO usage_unique_added (aggregation, organization, series, month, quarter, value, first_seq, count)
SELECT number, organization, series, ((strftime('%Y', quarter * 900000 / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', quarter * 900000 / 1000, 'unixepoch') - 1), quarter, value, min(seq), count(*)
FROM (
  SELECT w.number, w.organization, w.series, r.timestamp / 900000 AS quarter, r.seq, r.properties ->> w.property AS value FROM usage_records r
  CROSS JOIN w ON w.series = r.series WHERE r.seq > (SELECT seq FROM usage_cursor) AND EXISTS (SELECT 1 FROM w)
) WHERE value IS NOT NULL GROUP BY series, quarter, value
/* q50 */ SELECT v.number FROM usage_unique_values v WHERE v.aggregation = a.aggregation AND v.organization = a.organization AND v.month = a.month
AND v.value = a.value
/* 68 */ UPDATE usage_unique_added AS a SET value_number = (q50)
/* 69 */ INSERT INTO usage_unique_values (aggregation, organization, month, value) SELECT aggregation, organization, month, value FROM (
  SELECT n.*, row_number() OVER (PARTITION BY aggregation, organization, month ORDER BY first_seq, value) AS rank
  FROM (SELECT aggregation, organization, month, value, min(first_seq) AS first_seq FROM usage_unique_added WHERE value_number IS NULL GROUP BY 1, 2, 3, 4) n
) n
WHERE rank <= 100000 - coalesce((SELECT l.known FROM usage_unique_limits l WHERE l.aggregation = n.aggregation AND l.organization = n.organization AND l.month = n.month), 0)
/* 70 */ UPDATE usage_unique_added AS a SET value_number = (q50), is_new = 1 WHERE value_number IS NULL
/* 71 */ INSERT INTO usage_unique_limits (aggregation, organization, month, known, others)
SELECT aggregation, organization, month, count(DISTINCT iif(is_new, value_number, NULL)), sum(iif(value_number IS NULL, count, 0))
FROM usage_unique_added GROUP BY 1, 2, 3 ON CONFLICT DO UPDATE SET known = known + excluded.known, others = others + excluded.others
/* 72 */ INSERT INTO usage_unique_quarters (aggregation, series, quarter, value, count) SELECT aggregation, series, quarter, value_number, count
FROM usage_unique_added WHERE value_number IS NOT NULL ON CONFLICT DO UPDATE SET count = count + excluded.count
/* 73 */ INSERT INTO usage_unique_months (aggregation, series, month, value, count) SELECT aggregation, series, month, value_number, sum(count)
FROM usage_unique_added WHERE value_number IS NOT NULL GROUP BY 1, 2, 3, 4 ON CONFLICT DO UPDATE SET count = count + excluded.count
/* 74 */ DELETE FROM usage_unique_added
/* 75 */ WITH w AS MATERIALIZED (
  SELECT s.id AS series, s.organization, d.number, d.name_1, d.name_2, d.name_3 FROM (SELECT DISTINCT series FROM usage_added) a
  CROSS JOIN usage_series s ON s.id = a.series CROSS JOIN usage_dimensions d ON d.product = s.product_slug AND d.metric = s.metric
  AND d.removed_at IS NULL AND true WHERE s.organization NOT IN (0, -2147483648)
), texts AS MATERIALIZED (
  SELECT r.series, r.timestamp / 900000 AS quarter, r.properties, min(r.seq) AS first_seq, count(*) AS count, sum(r.quantity_whole >> 26) AS sum_high, sum(r.quantity_whole & 67108863) AS sum_low, sum(r.quantity_micro) AS sum_micro, min(iif(r.quantity_whole < 9000000000000, r.quantity_whole * 1000000 + r.quantity_micro, format('%016d%06d', r.quantity_whole, r.quantity_micro))) AS smallest, max(iif(r.quantity_whole < 9000000000000, r.quantity_whole * 1000000 + r.quantity_micro, format('%016d%06d', r.quantity_whole, r.quantity_micro))) AS largest
  FROM usage_records r WHERE r.seq > (SELECT seq FROM usage_cursor) AND r.series IN (SELECT series FROM w) GROUP BY 1, 2, 3
)
INSERT INTO usage_dimension_added (dimension, organization, series, month, quarter, value, first_seq, count, sum_high, sum_low, sum_micro, smallest, largest)
SELECT d.number, d.organization, t.series, ((strftime('%Y', t.quarter * 900000 / 1000, 'unixepoch') - 1970) * 12 + strftime('%m', t.quarter * 900000 / 1000, 'unixepoch') - 1), t.quarter, CASE WHEN d.name_2 IS NULL THEN json_array(coalesce(t.properties ->> d.name_1, '(none)')) WHEN d.name_3 IS NULL THEN json_array(coalesce(t.properties ->> d.name_1, '(none)'), coalesce(t.properties ->> d.name_2, '(none)')) ELSE json_array(coalesce(t.properties ->> d.name_1, '(none)'), coalesce(t.properties ->> d.name_2, '(none)'), coalesce(t.properties ->> d.name_3, '(none)')) END AS value, min(t.first_seq), sum(t.count), sum(t.sum_high), sum(t.sum_low), sum(t.sum_micro), min(t.smallest), max(t.largest)
FROM texts t CROSS JOIN w d ON d.series = t.series GROUP BY d.number, t.series, t.quarter, value
/* 76 */ WITH new AS MATERIALIZED (
  SELECT n.*, EXISTS (
    SELECT 1 FROM usage_priced_values p WHERE p.dimension = n.dimension AND p.value = n.value AND NOT EXISTS (
      SELECT 1 FROM usage_dimension_values v WHERE v.organization = n.organization AND v.dimension = n.dimension AND v.month = n.month
      AND v.value = '' AND v.number <= p.after_number
    )
  ) AS is_named FROM (
    SELECT a.organization, a.dimension, a.month, a.value, min(a.first_seq) AS first_seq FROM usage_dimension_added a WHERE NOT EXISTS (
      SELECT 1 FROM usage_dimension_values v WHERE v.organization = a.organization AND v.dimension = a.dimension AND v.month = a.month
      AND v.value = a.value
    ) GROUP BY 1, 2, 3, 4
  ) n
), months AS MATERIALIZED (
  SELECT n.organization, n.dimension, n.month, iif(EXISTS (SELECT 1 FROM usage_dimension_values v WHERE v.organization = n.organization AND v.dimension = n.dimension AND v.month = n.month AND v.value = ''), 1000, (SELECT count(*) FROM usage_dimension_values v WHERE v.organization = n.organization AND v.dimension = n.dimension AND v.month = n.month) - (
    SELECT count(*) FROM usage_priced_values p CROSS JOIN usage_dimension_values v ON v.organization = n.organization AND v.dimension = n.dimension
    AND v.month = n.month AND v.value = p.value WHERE p.dimension = n.dimension
  )) AS used FROM (SELECT DISTINCT organization, dimension, month FROM new) n
) INSERT INTO usage_dimension_values (organization, dimension, month, value)
SELECT DISTINCT organization, dimension, month, iif(is_named OR used + rank <= 1000, value, '') FROM (
  SELECT n.*, m.used, row_number() OVER ( PARTITION BY n.organization, n.dimension, n.month, n.is_named ORDER BY n.first_seq, n.value) AS rank
  FROM new n JOIN months m ON m.organization = n.organization AND m.dimension = n.dimension AND m.month = n.month
) WHERE true ON CONFLICT DO NOTHING
/* 77 */ UPDATE usage_dimension_added AS a SET value_number = coalesce((
  SELECT x.number FROM usage_dimension_values x WHERE x.organization = a.organization AND x.dimension = a.dimension AND x.month = a.month
  AND x.value = a.value
), (
  SELECT x.number FROM usage_dimension_values x WHERE x.organization = a.organization AND x.dimension = a.dimension AND x.month = a.month
  AND x.value = ''
))
/* 78 */ INSERT INTO usage_dimension_series (value, series) SELECT DISTINCT a.value_number, a.series FROM usage_dimension_added a
WHERE NOT EXISTS (SELECT 1 FROM usage_dimension_series ds WHERE ds.value = a.value_number AND ds.series = a.series)
/* 79 */ 5 with other lines, /* 2 to 3 */ SELECT -4294967296, -ds.id, a.quarter, sum(a.count), sum(a.sum_high), sum(a.sum_low), sum(a.sum_micro), min(a.smallest), max(a.largest)
FROM usage_dimension_added a CROSS JOIN usage_dimension_series ds ON ds.value = a.value_number AND ds.series = a.series GROUP BY ds.id, a.quarter
/* 80 */ DELETE FROM usage_dimension_added
/* 81 */ 12 with other lines, /* 1 */ WITH series AS MATERIALIZED (q49) DELETE FROM usage_series

-- With a catalogue of all products: 1, 82, 83, 84, 85, 5, 6, 7, 8, 9, 10, 11, 86, 13, 14
/* 82 */ SELECT json_group_array(json_object('position', CAST(e.key AS INTEGER), 'isProduct', NOT EXISTS (SELECT 1 FROM products p WHERE p.slug = e.value ->> 1))) AS list
FROM json_each(?2) e WHERE NOT EXISTS (SELECT 1 FROM product_metrics pm WHERE pm.product = e.value ->> 1 AND pm.slug = e.value ->> 2)
/* 83 */ 2 with other lines, /* 8 */     AND EXISTS (SELECT 1 FROM product_metrics pm WHERE pm.product = e.value ->> 1 AND pm.slug = e.value ->> 2)
    AND NOT EXISTS (SELECT 1 FROM usage_limits)
/* 84 */ 3 with other lines, /* 7 */     AND EXISTS (SELECT 1 FROM product_metrics pm WHERE pm.product = e.value ->> 1 AND pm.slug = e.value ->> 2)
    AND NOT EXISTS (SELECT 1 FROM usage_limits)
/* q51 */ q2 with other lines, /* 6 */ AND EXISTS (SELECT 1 FROM product_metrics pm WHERE pm.product = e.value ->> 1 AND pm.slug = e.value ->> 2) AND NOT EXISTS (SELECT 1 FROM usage_limits)
/* 85 */ 4 with other lines, /* 1 */ WITH series AS MATERIALIZED (q51), blocked AS MATERIALIZED (q3)
/* 86 */ 12 with other lines, /* 1 */ WITH series AS MATERIALIZED (q51) DELETE FROM usage_series

-- With API keys that an operator verifies: 87, 88, 89, 90, 5, 6, 7, 8, 9, 10, 11, 91, 13, 92
/* 87 */ 1 with other lines, /* 1 to 2 */ SELECT json_group_array(json_object('position', e.key, 'id', k.id, 'denial', CASE WHEN (length(e.value) > 64 AND substr(e.value, 66, 64) <> hex(zeroblob(32)) AND NOT EXISTS (
  SELECT 1 FROM operator_tokens t WHERE t.token_hash = substr(e.value, 66, 64) AND t.revoked_at IS NULL
  AND (t.expires_at IS NULL OR t.expires_at > ?3) AND instr(t.scopes, '"keys:verify"') > 0
)) THEN 'token' WHEN k.addresses IS NOT iif(length(e.value) = 64, NULL, substr(e.value, 131) ->> '$[2]') THEN 'addresses' WHEN o.suspended_at IS NOT NULL THEN 'suspended' WHEN CASE length(e.value) WHEN 64 THEN NOT instr(k.permissions, '"usage:write"') > 0 ELSE EXISTS (SELECT 1 FROM json_each(substr(e.value, 131), '$[0]') p WHERE p.value NOT IN (SELECT value FROM json_each(k.permissions))) END THEN 'permission' WHEN CASE WHEN length(e.value) > 64 THEN EXISTS (
  SELECT 1 FROM json_each(substr(e.value, 131), '$[1]') f
  WHERE f.value NOT IN (SELECT value FROM json_each((SELECT pl.features FROM plans pl WHERE pl.number = o.plan)))
) END THEN 'feature' END, 'environment', k.environment, 'seq', (SELECT seq FROM usage_cursor), 'hasLimits', EXISTS (SELECT 1 FROM usage_limits), 'hasDimensions', (EXISTS (SELECT 1 FROM usage_dimensions WHERE removed_at IS NULL) OR EXISTS (SELECT 1 FROM usage_aggregations WHERE removed_at IS NULL AND aggregation IN ('last', 'unique'))), 'hasHolds', EXISTS (SELECT 1 FROM usage_holds WHERE status = 'active'), 'hasValueLimits', EXISTS (SELECT 1 FROM usage_limits WHERE property <> ''), 'requestsPerSecond', coalesce(o.requests_per_second, (SELECT pl.requests_per_second FROM plans pl WHERE pl.number = o.plan)), 'ownRequestsPerSecond', k.requests_per_second, 'addresses', k.addresses , 'key', json_array(k.id, k.name, json(k.permissions), k.expires_at, k.revoked_at, k.last_used_at, k.environment, coalesce(o.requests_per_second, (SELECT pl.requests_per_second FROM plans pl WHERE pl.number = o.plan)), iif(o.deleted_at IS NULL, json_array(o.id, o.name, o.external_id, (SELECT p.id FROM plans p WHERE p.number = o.plan), o.suspended_at, json((SELECT pl.features FROM plans pl WHERE pl.number = o.plan))), NULL), k.disabled_at, k.requests_per_second, k.addresses, k.external_id, json(k.metadata)))) AS list
FROM json_each(?1) e JOIN api_keys k ON k.key_hash = substr(e.value, 1, 64) AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?3)
/* q52 */ SELECT 1 FROM operator_tokens t WHERE t.token_hash = substr(e.value ->> 0, 66, 64) AND t.revoked_at IS NULL
AND (t.expires_at IS NULL OR t.expires_at > ?3) AND instr(t.scopes, '"keys:verify"') > 0
/* q53 */ SELECT 1 FROM json_each(substr(e.value ->> 0, 131), '$[1]') f
WHERE f.value NOT IN (SELECT value FROM json_each((SELECT pl.features FROM plans pl WHERE pl.number = o.plan)))
/* 88 */ 2 with other lines, /* 4 to 5 */     FROM json_each(?2) e JOIN api_keys k ON k.key_hash = substr(e.value ->> 0, 1, 64) AND k.revoked_at IS NULL
    AND (k.expires_at IS NULL OR k.expires_at > ?3) AND k.disabled_at IS NULL JOIN organizations o ON o.id = k.organization_id
/* 7 */     AND CASE WHEN (length(e.value ->> 0) > 64 AND substr(e.value ->> 0, 66, 64) <> hex(zeroblob(32)) AND NOT EXISTS (q52)) THEN 'token' WHEN k.addresses IS NOT iif(length(e.value ->> 0) = 64, NULL, substr(e.value ->> 0, 131) ->> '$[2]') THEN 'addresses' WHEN o.suspended_at IS NOT NULL THEN 'suspended' WHEN CASE length(e.value ->> 0) WHEN 64 THEN NOT instr(k.permissions, '"usage:write"') > 0 ELSE EXISTS (SELECT 1 FROM json_each(substr(e.value ->> 0, 131), '$[0]') p WHERE p.value NOT IN (SELECT value FROM json_each(k.permissions))) END THEN 'permission' WHEN CASE WHEN length(e.value ->> 0) > 64 THEN EXISTS (q53) END THEN 'feature' END IS NULL
/* 89 */ 3 with other lines, /* 4 to 6 */     FROM json_each(?2) e JOIN api_keys k ON k.key_hash = substr(e.value ->> 0, 1, 64) AND k.revoked_at IS NULL
    AND (k.expires_at IS NULL OR k.expires_at > ?3) AND k.disabled_at IS NULL JOIN organizations o ON o.id = k.organization_id WHERE true
    AND CASE WHEN (length(e.value ->> 0) > 64 AND substr(e.value ->> 0, 66, 64) <> hex(zeroblob(32)) AND NOT EXISTS (q52)) THEN 'token' WHEN k.addresses IS NOT iif(length(e.value ->> 0) = 64, NULL, substr(e.value ->> 0, 131) ->> '$[2]') THEN 'addresses' WHEN o.suspended_at IS NOT NULL THEN 'suspended' WHEN CASE length(e.value ->> 0) WHEN 64 THEN NOT instr(k.permissions, '"usage:write"') > 0 ELSE EXISTS (SELECT 1 FROM json_each(substr(e.value ->> 0, 131), '$[0]') p WHERE p.value NOT IN (SELECT value FROM json_each(k.permissions))) END THEN 'permission' WHEN CASE WHEN length(e.value ->> 0) > 64 THEN EXISTS (q53) END THEN 'feature' END IS NULL
/* q54 */ q2 with other lines, /* 2 to 5 */ JOIN api_keys k ON k.key_hash = substr(e.value ->> 0, 1, 64) AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?3)
AND k.disabled_at IS NULL JOIN organizations o ON o.id = k.organization_id
JOIN usage_series us ON us.organization = iif(k.environment = 'test', -o.number, o.number) AND us.product_slug = e.value ->> 1
AND us.metric = e.value ->> 2 AND us.api_key = k.number
WHERE CASE WHEN (length(e.value ->> 0) > 64 AND substr(e.value ->> 0, 66, 64) <> hex(zeroblob(32)) AND NOT EXISTS (q52)) THEN 'token' WHEN k.addresses IS NOT iif(length(e.value ->> 0) = 64, NULL, substr(e.value ->> 0, 131) ->> '$[2]') THEN 'addresses' WHEN o.suspended_at IS NOT NULL THEN 'suspended' WHEN CASE length(e.value ->> 0) WHEN 64 THEN NOT instr(k.permissions, '"usage:write"') > 0 ELSE EXISTS (SELECT 1 FROM json_each(substr(e.value ->> 0, 131), '$[0]') p WHERE p.value NOT IN (SELECT value FROM json_each(k.permissions))) END THEN 'permission' WHEN CASE WHEN length(e.value ->> 0) > 64 THEN EXISTS (q53) END THEN 'feature' END IS NULL
/* 90 */ 4 with other lines, /* 1 */ WITH series AS MATERIALIZED (q54), blocked AS MATERIALIZED (q3)
/* 91 */ 12 with other lines, /* 1 */ WITH series AS MATERIALIZED (q54) DELETE FROM usage_series
/* 92 */ UPDATE api_keys AS k SET last_used_at = ?3 WHERE k.key_hash IN (
  SELECT substr(value, 1, 64) FROM json_each(?1) WHERE NOT (length(value) > 64 AND substr(value, 66, 64) <> hex(zeroblob(32)) AND NOT EXISTS (
    SELECT 1 FROM operator_tokens t WHERE t.token_hash = substr(value, 66, 64) AND t.revoked_at IS NULL
    AND (t.expires_at IS NULL OR t.expires_at > ?3) AND instr(t.scopes, '"keys:verify"') > 0
  ))
) AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?3) AND k.disabled_at IS NULL
AND (k.last_used_at IS NULL OR k.last_used_at <= ?2)

-- Recorded by an operator: 93, 94, 95, 96, 5, 6, 7, 8, 9, 10, 11, 97, 13
/* 93 */ SELECT json_group_array(json_object('position', e.key, 'id', k.id, 'denial', nullif(?3, ?3), 'environment', k.environment, 'seq', (SELECT seq FROM usage_cursor), 'hasLimits', EXISTS (SELECT 1 FROM usage_limits), 'hasDimensions', (EXISTS (SELECT 1 FROM usage_dimensions WHERE removed_at IS NULL) OR EXISTS (SELECT 1 FROM usage_aggregations WHERE removed_at IS NULL AND aggregation IN ('last', 'unique'))), 'hasHolds', EXISTS (SELECT 1 FROM usage_holds WHERE status = 'active'), 'hasValueLimits', EXISTS (SELECT 1 FROM usage_limits WHERE property <> ''), 'requestsPerSecond', coalesce(o.requests_per_second, (SELECT pl.requests_per_second FROM plans pl WHERE pl.number = o.plan)), 'ownRequestsPerSecond', k.requests_per_second, 'addresses', k.addresses )) AS list
FROM json_each(?1) e LEFT JOIN api_keys k ON k.id = e.value JOIN organizations o ON o.id = coalesce(k.organization_id, e.value)
AND o.deleted_at IS NULL
/* q55 */ q1 with other lines, /* 2 */ AND us.metric = e.value ->> 2 AND us.api_key = coalesce(k.number, 0)
/* 94 */ 2 with other lines, /* 3 to 5 */     SELECT CAST(e.key AS INTEGER) AS position, o.number AS organization, iif(k.environment = 'test', -o.number, o.number) AS usage_number, e.value ->> 1 AS product_slug, e.value ->> 2 AS metric, coalesce(k.number, 0) AS api_key, coalesce(o.usage_series_max, (SELECT pl.usage_series_max FROM plans pl WHERE pl.number = o.plan)) AS series_max, coalesce(o.usage_series_max, (SELECT pl.usage_series_max FROM plans pl WHERE pl.number = o.plan)) - o.series AS room
    FROM json_each(?2) e LEFT JOIN api_keys k ON k.id = e.value ->> 0 JOIN organizations o ON o.id = coalesce(k.organization_id, e.value ->> 0)
    AND o.deleted_at IS NULL
/* 7 to 8 */     AND nullif(?3, ?3) IS NULL AND true AND NOT EXISTS (SELECT 1 FROM usage_limits)
/* 10 */     AND NOT EXISTS (q55)
/* 95 */ 3 with other lines, /* 3 to 7 */     SELECT CAST(e.key AS INTEGER) AS position, o.number AS organization, iif(k.environment = 'test', -o.number, o.number) AS usage_number, e.value ->> 1 AS product_slug, e.value ->> 2 AS metric, coalesce(k.number, 0) AS api_key, coalesce(o.usage_series_max, (SELECT pl.usage_series_max FROM plans pl WHERE pl.number = o.plan)) AS series_max, coalesce(o.usage_series_max, (SELECT pl.usage_series_max FROM plans pl WHERE pl.number = o.plan)) - o.series AS room
    FROM json_each(?2) e LEFT JOIN api_keys k ON k.id = e.value ->> 0 JOIN organizations o ON o.id = coalesce(k.organization_id, e.value ->> 0)
    AND o.deleted_at IS NULL WHERE true AND nullif(?3, ?3) IS NULL AND true AND NOT EXISTS (SELECT 1 FROM usage_limits)
/* 9 */     AND NOT EXISTS (q55)
/* q56 */ q54 with other lines, /* 2 to 3 */ LEFT JOIN api_keys k ON k.id = e.value ->> 0 JOIN organizations o ON o.id = coalesce(k.organization_id, e.value ->> 0) AND o.deleted_at IS NULL
/* 5 to 7 */ AND us.metric = e.value ->> 2 AND us.api_key = coalesce(k.number, 0) WHERE nullif(?3, ?3) IS NULL AND true AND NOT EXISTS (SELECT 1 FROM usage_limits)
/* 96 */ 4 with other lines, /* 1 */ WITH series AS MATERIALIZED (q56), blocked AS MATERIALIZED (q3)
/* 97 */ 12 with other lines, /* 1 */ WITH series AS MATERIALIZED (q56) DELETE FROM usage_series

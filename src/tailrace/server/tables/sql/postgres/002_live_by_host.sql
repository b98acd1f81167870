-- Live attempts are found by their hosts, as in SQLite's store.

ALTER TABLE hosts ADD COLUMN live TEXT NOT NULL DEFAULT '[]';  -- JSON: all it may hold; some ended

CREATE VIEW live_attempts AS
SELECT attempts.*
FROM hosts
CROSS JOIN LATERAL json_array_elements_text(hosts.live::json) AS held
JOIN attempts ON attempts.attempt = held.value::bigint
WHERE attempts.outcome IS NULL;

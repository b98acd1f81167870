-- Live attempts are found by their hosts: one row per host and cycle instead of an index entry made
-- and unmade for every attempt.

DROP INDEX live_attempts;

ALTER TABLE hosts ADD COLUMN live TEXT NOT NULL DEFAULT '[]';  -- JSON: all it may hold; some ended

UPDATE hosts SET live = (
    SELECT json_group_array(attempt) FROM attempts
    WHERE attempts.host = hosts.host AND outcome IS NULL
);

CREATE VIEW live_attempts AS
SELECT attempts.*
FROM hosts CROSS JOIN json_each(hosts.live) AS held CROSS JOIN attempts
WHERE attempts.attempt = held.value AND attempts.outcome IS NULL;

-- What each host was sent of each bag, and how much of that succeeded, counted with each commit: who
-- asks for the hosts need not go through all attempts.

CREATE TABLE host_work (
    bag       INTEGER NOT NULL,
    host      TEXT NOT NULL,
    attempts  INTEGER NOT NULL,
    succeeded INTEGER NOT NULL,
    PRIMARY KEY (bag, host)
) WITHOUT ROWID;

INSERT INTO host_work (bag, host, attempts, succeeded)
SELECT bag, host, count(*), count(*) FILTER (WHERE outcome = 'succeeded')
FROM attempts WHERE bag IN (SELECT bag FROM bags) GROUP BY bag, host;

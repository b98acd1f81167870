-- What each host was sent of each bag, and how much of that succeeded, counted with each commit: who
-- asks for the hosts need not go through all attempts.

CREATE TABLE host_work (
    bag       BIGINT NOT NULL,
    host      TEXT NOT NULL,
    attempts  BIGINT NOT NULL,
    succeeded BIGINT NOT NULL,
    PRIMARY KEY (bag, host)
);

INSERT INTO host_work (bag, host, attempts, succeeded)
SELECT bag, host, count(*), count(*) FILTER (WHERE outcome = 'succeeded')
FROM attempts WHERE bag IN (SELECT bag FROM bags) GROUP BY bag, host;

-- The tables are the truth: the scheduler is restored from them alone.
-- As `sql/001_backbone.sql`; text is ordered by its bytes, as SQLite does it.

CREATE TABLE meta (
    key   TEXT COLLATE "C" PRIMARY KEY,
    value BIGINT NOT NULL
) WITH (fillfactor = 20);               -- a row that each commit locks
INSERT INTO meta VALUES ('epoch', 0), ('version', 0);

CREATE TABLE bags (
    bag         BIGINT PRIMARY KEY,
    name        TEXT COLLATE "C" NOT NULL,
    phase       TEXT NOT NULL,
    row         BYTEA NOT NULL,         -- the scheduler's own row, JSON
    spec        BYTEA NOT NULL,         -- what the user handed in, JSON
    permutation BYTEA                   -- uint32 task numbers, when ordered by a parameter
);

-- Listed commands and CSV rows, a thousand to a chunk.
CREATE TABLE chunks (
    bag  BIGINT NOT NULL,
    k    BIGINT NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (bag, k)
);

CREATE TABLE attempts (
    attempt    BIGINT PRIMARY KEY,
    bag        BIGINT NOT NULL,
    idx        BIGINT NOT NULL,
    host       TEXT COLLATE "C" NOT NULL,
    lease      BIGINT,
    why        TEXT NOT NULL,
    sent_us    BIGINT NOT NULL,
    timeout_us BIGINT,
    ended_us   BIGINT,
    outcome    TEXT,                    -- null while it lives
    accepted   BOOLEAN NOT NULL DEFAULT FALSE,
    run_us     BIGINT,
    exit       BIGINT,
    body       BYTEA                    -- what the worker reported, JSON
) WITH (fillfactor = 60);               -- each is ended once, on its own page
CREATE INDEX attempts_of_task ON attempts (bag, idx);

-- One accepted result per task, whatever happens: the key says so.
CREATE TABLE results (
    bag     BIGINT NOT NULL,
    idx     BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    outcome TEXT NOT NULL,
    PRIMARY KEY (bag, idx)
);

-- Tasks that had trouble and have no result yet.
CREATE TABLE troubles (
    bag BIGINT NOT NULL,
    idx BIGINT NOT NULL,
    row BYTEA NOT NULL,
    PRIMARY KEY (bag, idx)
);

CREATE TABLE hosts (
    host          TEXT COLLATE "C" PRIMARY KEY,
    session       BIGINT NOT NULL,
    seq           BIGINT NOT NULL,      -- of the newest call that was told to start something
    row           BYTEA NOT NULL,
    about         BYTEA NOT NULL,
    first_seen_us BIGINT NOT NULL,
    last_seen_us  BIGINT NOT NULL
) WITH (fillfactor = 20);

CREATE TABLE leases (
    lease BIGINT PRIMARY KEY,
    bag   BIGINT NOT NULL,
    row   BYTEA NOT NULL
);

-- The terms of the pools leases were taken from, for their bills.
CREATE TABLE pools (
    name     TEXT COLLATE "C" NOT NULL,
    since_us BIGINT NOT NULL,           -- a changed price leaves earlier bills as they were
    row      BYTEA NOT NULL,            -- JSON
    PRIMARY KEY (name, since_us)
);

-- Outputs of accepted results that are still to be moved to their targets.
CREATE TABLE unpublished (
    attempt BIGINT PRIMARY KEY
);

CREATE TABLE feed (
    n     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- numbers of commits that failed are missing
    bag   BIGINT NOT NULL,
    at_us BIGINT NOT NULL,
    kind  TEXT NOT NULL,
    body  BYTEA NOT NULL
);
CREATE INDEX feed_of_bag ON feed (bag, n);

-- Inputs of the scheduler, in order, for replay; never for recovery.
CREATE TABLE journal (
    n    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    body BYTEA NOT NULL
);

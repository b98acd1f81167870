-- The tables are the truth: the scheduler is restored from them alone.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO meta VALUES ('epoch', 0);

CREATE TABLE bags (
    bag         INTEGER PRIMARY KEY,
    name        TEXT NOT NULL,
    phase       TEXT NOT NULL,
    row         BLOB NOT NULL,          -- the scheduler's own row, JSON
    spec        BLOB NOT NULL,          -- what the user handed in, JSON
    permutation BLOB                    -- uint32 task numbers, when ordered by a parameter
);

-- Listed commands and CSV rows, a thousand to a chunk.
CREATE TABLE chunks (
    bag  INTEGER NOT NULL,
    k    INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (bag, k)
);

CREATE TABLE attempts (
    attempt    INTEGER PRIMARY KEY,
    bag        INTEGER NOT NULL,
    idx        INTEGER NOT NULL,
    host       TEXT NOT NULL,
    lease      INTEGER,
    why        TEXT NOT NULL,
    sent_us    INTEGER NOT NULL,
    timeout_us INTEGER,
    ended_us   INTEGER,
    outcome    TEXT,                    -- null while it lives
    accepted   INTEGER NOT NULL DEFAULT 0,
    run_us     INTEGER,
    exit       INTEGER,
    body       BLOB                     -- what the worker reported, JSON
);
CREATE INDEX attempts_of_task ON attempts (bag, idx);
CREATE INDEX live_attempts ON attempts (attempt) WHERE outcome IS NULL;

-- One accepted result per task, whatever happens: the key says so.
CREATE TABLE results (
    bag     INTEGER NOT NULL,
    idx     INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    PRIMARY KEY (bag, idx)
) WITHOUT ROWID;

-- Tasks that had trouble and have no result yet.
CREATE TABLE troubles (
    bag INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    row BLOB NOT NULL,
    PRIMARY KEY (bag, idx)
) WITHOUT ROWID;

CREATE TABLE hosts (
    host          TEXT PRIMARY KEY,
    session       INTEGER NOT NULL,
    seq           INTEGER NOT NULL,     -- of the newest call that was told to start something
    row           BLOB NOT NULL,
    about         BLOB NOT NULL,
    first_seen_us INTEGER NOT NULL,
    last_seen_us  INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE leases (
    lease INTEGER PRIMARY KEY,
    bag   INTEGER NOT NULL,
    row   BLOB NOT NULL
);

-- The terms of the pools leases were taken from, for their bills.
CREATE TABLE pools (
    name     TEXT NOT NULL,
    since_us INTEGER NOT NULL,          -- a changed price leaves earlier bills as they were
    row      BLOB NOT NULL,             -- JSON
    PRIMARY KEY (name, since_us)
) WITHOUT ROWID;

-- Outputs of accepted results that are still to be moved to their targets.
CREATE TABLE unpublished (
    attempt INTEGER PRIMARY KEY
);

CREATE TABLE feed (
    n     INTEGER PRIMARY KEY AUTOINCREMENT,
    bag   INTEGER NOT NULL,
    at_us INTEGER NOT NULL,
    kind  TEXT NOT NULL,
    body  BLOB NOT NULL
);
CREATE INDEX feed_of_bag ON feed (bag, n);

-- Inputs of the scheduler, in order, for replay; never for recovery.
CREATE TABLE journal (
    n    INTEGER PRIMARY KEY AUTOINCREMENT,
    body BLOB NOT NULL
);

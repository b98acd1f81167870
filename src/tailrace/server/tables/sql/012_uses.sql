-- What owners, and bags, have had of the machines of late.

CREATE TABLE uses (
    bag   INTEGER NOT NULL,             -- 0: all of its owner
    owner TEXT NOT NULL,
    row   BLOB NOT NULL,                -- the scheduler's own row, JSON
    PRIMARY KEY (bag, owner)
) WITHOUT ROWID;

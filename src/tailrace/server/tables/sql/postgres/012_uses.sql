-- What owners, and bags, have had of the machines of late.

CREATE TABLE uses (
    bag   BIGINT NOT NULL,              -- 0: all of its owner
    owner TEXT NOT NULL,
    row   BYTEA NOT NULL,               -- the scheduler's own row, JSON
    PRIMARY KEY (bag, owner)
);

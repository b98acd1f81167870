-- What was handed in under which key: who repeats a call whose answer was lost gets the same bag.

CREATE TABLE submissions (
    who  TEXT NOT NULL,                 -- a kind and a name
    key  TEXT NOT NULL,                 -- of the caller's choice
    hash TEXT NOT NULL,                 -- of all that was sent
    bag  INTEGER NOT NULL,
    PRIMARY KEY (who, key)
) WITHOUT ROWID;

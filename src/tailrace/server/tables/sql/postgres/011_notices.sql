-- What owners are to be told, and what was not taken yet by whoever is to be told it.

CREATE TABLE notices (
    notice  BIGINT PRIMARY KEY,
    target  TEXT NOT NULL,              -- SHA-256: an address may hold a secret
    made_us BIGINT NOT NULL,
    body    BYTEA NOT NULL              -- JSON
);

-- Who may call, and whose bags are whose.

CREATE TABLE tokens (
    token      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash       TEXT NOT NULL UNIQUE,    -- SHA-256: the token itself is kept nowhere
    kind       TEXT NOT NULL,           -- admin, user or pool
    name       TEXT NOT NULL,
    made_us    BIGINT NOT NULL,
    expires_us BIGINT,
    revoked_us BIGINT,
    used_us    BIGINT                   -- about when; not noted with every call
);

ALTER TABLE bags ADD COLUMN owner TEXT NOT NULL DEFAULT '';  -- '': whoever owns the folder

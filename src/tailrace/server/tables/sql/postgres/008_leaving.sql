-- Bags that are gone, and of which something is left to be removed, a little at a time.

CREATE TABLE leaving (
    bag BIGINT PRIMARY KEY
);

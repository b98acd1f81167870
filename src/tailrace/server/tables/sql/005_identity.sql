-- Bags whose tasks of equal values are equal: a later one takes over the results of the earlier.

ALTER TABLE bags ADD COLUMN basis TEXT NOT NULL DEFAULT '';  -- a hash; '': never taken over
ALTER TABLE bags ADD COLUMN programs TEXT NOT NULL DEFAULT '{}';  -- JSON: hashes of files, by name
CREATE INDEX bags_of_basis ON bags (basis);

-- Whether machines that join by a token are believed when they send pickled results.

ALTER TABLE tokens ADD COLUMN trusted INTEGER NOT NULL DEFAULT 0;

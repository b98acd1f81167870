-- A user's bags are found among those of others.

CREATE INDEX bags_of_owner ON bags (owner);

-- The newest attempts of a bag are found without a look at all of them, nor at those of others.

CREATE INDEX attempts_of_bag ON attempts (bag, attempt);

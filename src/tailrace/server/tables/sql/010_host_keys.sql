-- By which a host is known again: the SHA-256 of its worker's key. None until it first comes with one.

ALTER TABLE hosts ADD COLUMN key_hash BLOB;

"""What a batch becomes: a statement for each of its lists, in words that every database takes."""

from __future__ import annotations

STATEMENTS = {
    "bags": "UPDATE bags SET phase = ?, row = ? WHERE bag = ?",
    "sent": "INSERT INTO attempts (attempt, bag, idx, host, lease, why, sent_us, timeout_us)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    "ended": "UPDATE attempts SET ended_us = ?, outcome = ?, accepted = ?, run_us = ?, exit = ?,"
    " body = ? WHERE attempt = ?",
    "reopened": "DELETE FROM results WHERE bag = ? AND idx = ?",
    "settled": "INSERT INTO results (bag, idx, attempt, outcome) VALUES (?, ?, ?, ?)",
    "troubles": "INSERT INTO troubles (bag, idx, row) VALUES (?, ?, ?)"
    " ON CONFLICT (bag, idx) DO UPDATE SET row = excluded.row",
    "untroubled": "DELETE FROM troubles WHERE bag = ? AND idx = ?",
    "noted": "UPDATE attempts SET run_us = ?, exit = ?, body = ?"
    " WHERE attempt = ? AND body IS NULL",
    "hosts": "INSERT INTO hosts (host, session, seq, row, about, first_seen_us, last_seen_us,"
    " key_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (host) DO UPDATE SET"
    " session = excluded.session, seq = excluded.seq, row = excluded.row, about = excluded.about,"
    " last_seen_us = excluded.last_seen_us, key_hash = excluded.key_hash",
    "live": "UPDATE hosts SET live = ? WHERE host = ?",
    "work": "INSERT INTO host_work (bag, host, attempts, succeeded) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (bag, host) DO UPDATE SET attempts = host_work.attempts + excluded.attempts,"
    " succeeded = host_work.succeeded + excluded.succeeded",
    "answered": "UPDATE hosts SET seq = ? WHERE host = ?",
    "leases": "INSERT INTO leases (lease, bag, row) VALUES (?, ?, ?)"
    " ON CONFLICT (lease) DO UPDATE SET bag = excluded.bag, row = excluded.row",
    "uses": "INSERT INTO uses (bag, owner, row) VALUES (?, ?, ?)"
    " ON CONFLICT (bag, owner) DO UPDATE SET row = excluded.row",
    "unpublished": "INSERT INTO unpublished VALUES (?) ON CONFLICT DO NOTHING",
    "published": "DELETE FROM unpublished WHERE attempt = ?",
    "feed": "INSERT INTO feed (bag, at_us, kind, body) VALUES (?, ?, ?, ?)",
    "floors": "INSERT INTO meta (key, value) VALUES (?, ?)"
    " ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE excluded.value > meta.value",
    "forgotten": "INSERT INTO leaving (bag) VALUES (?)",
    "forgotten_hosts": "DELETE FROM hosts WHERE host = ?",
    "journal": "INSERT INTO journal (body) VALUES (?)",
}
NEW_BAG = (
    "INSERT INTO bags (bag, name, phase, row, spec, permutation, owner, basis, programs)"
    " VALUES (?, ?, '', ?, ?, ?, ?, ?, ?)"
)
NEW_KEY = "INSERT INTO submissions (who, key, hash, bag) VALUES (?, ?, ?, ?)"
# Until a bag is there, its rows count as what is left of one that is gone.
COMING = "INSERT INTO leaving (bag) VALUES (?) ON CONFLICT DO NOTHING"
COME = "DELETE FROM leaving WHERE bag = ?"
MORE_TASKS = "UPDATE bags SET spec = ?, permutation = ? WHERE bag = ?"
# Of an addition that was laid down, and never came.
STRAYS = "DELETE FROM chunks WHERE bag = ? AND k >= ?"
NEW_CHUNK = "INSERT INTO chunks (bag, k, body) VALUES (?, ?, ?)"
# What goes at once with a bag that is forgotten: all by which anybody would know of it.
FORGET = tuple(
    f"DELETE FROM {table} WHERE bag = ?"
    for table in ("bags", "troubles", "leases", "submissions", "host_work", "uses")
)
# What is left of it goes in slices.
CLEAR = {
    table: f"DELETE FROM {table} WHERE bag = ? AND {key} IN"
    f" (SELECT {key} FROM {table} WHERE bag = ? ORDER BY {key} LIMIT ?)"
    for table, key in (("results", "idx"), ("attempts", "attempt"), ("feed", "n"), ("chunks", "k"))
}

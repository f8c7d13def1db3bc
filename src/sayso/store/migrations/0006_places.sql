-- Each stream of the trail has a number, and an entry its place: the number of its stream, then its own (40 bits).
-- So an entry is added at the end of its stream, in one page, and lies in no stream but its own.
-- Calls are found by when they were over, if they are not yet, or still have a result. Those that are not come
-- last, next to those that ended just now, so that the end of a call changes one page of the index. (An IN would
-- make SQLite build a list of the states for each call.)

ALTER TABLE entries RENAME TO former_entries;
CREATE TABLE streams (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO streams (name) SELECT DISTINCT stream FROM former_entries ORDER BY stream;

CREATE TABLE entries (
    place INTEGER NOT NULL PRIMARY KEY,
    stream_number INTEGER GENERATED ALWAYS AS (place >> 40) VIRTUAL,
    seq INTEGER GENERATED ALWAYS AS (place & 1099511627775) VIRTUAL,
    at REAL NOT NULL,
    event TEXT NOT NULL,
    session TEXT NOT NULL,
    prev BLOB NOT NULL,
    hash BLOB NOT NULL,
    body BLOB
) STRICT;
INSERT INTO entries (place, at, event, session, prev, hash, body)
SELECT (streams.number << 40) + seq, at, event, session, prev, hash, body
FROM former_entries INNER JOIN streams ON streams.name = former_entries.stream
ORDER BY streams.number, seq;
DROP TABLE former_entries;

DROP INDEX calls_state;
DROP INDEX calls_result;
ALTER TABLE calls ADD COLUMN over_at REAL GENERATED ALWAYS AS (
    CASE
        WHEN state = 'succeeded' OR state = 'failed' OR state = 'denied' OR state = 'expired' OR state = 'cancelled'
        THEN ended_at ELSE 1e18
    END
) VIRTUAL;
CREATE INDEX calls_recent ON calls (over_at, place) WHERE over_at = 1e18 OR result IS NOT NULL;

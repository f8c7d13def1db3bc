-- What is added up from the trail and the questions, so that figures and history need not read all of them.
-- It begins empty: whoever signs the trail next adds up what is there, step by step.

CREATE TABLE summaries (
    source TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    place INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (source, kind, name, place)
) STRICT, WITHOUT ROWID;

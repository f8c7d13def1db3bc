-- What each surface is to show: an open question, or a notice. Nothing is decided by these rows.

CREATE TABLE deliveries (
    surface TEXT NOT NULL,
    subject TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    due_at REAL NOT NULL,
    version INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    at REAL NOT NULL,
    body BLOB NOT NULL,
    ref TEXT,
    error TEXT,
    PRIMARY KEY (surface, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_due ON deliveries (surface, due_at) WHERE state = 'due';
CREATE INDEX deliveries_shown ON deliveries (surface, subject) WHERE state = 'shown' AND kind = 'question';
CREATE INDEX deliveries_over ON deliveries (due_at) WHERE state = 'over';

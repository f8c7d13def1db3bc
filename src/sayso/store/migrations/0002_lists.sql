-- What lists are made by: whose a session is, when a grant ends, which calls are runs of a workflow.
-- A grant from before has no end here, so it comes last in the list, and is looked at until its session ends.
-- Of a call from before nobody can tell here whether it is a run, so while it is under way it may be one.

ALTER TABLE grants ADD COLUMN expires_at REAL NOT NULL DEFAULT 1e18;
CREATE INDEX grants_end ON grants (expires_at, id);

ALTER TABLE calls ADD COLUMN workflow TEXT;
UPDATE calls SET workflow = '' WHERE state IN ('pending', 'running', 'waiting', 'ambiguous');
CREATE INDEX calls_run ON calls (state, place) WHERE workflow IS NOT NULL;

CREATE INDEX sessions_owner ON sessions (owner, place) WHERE ended_at IS NULL;

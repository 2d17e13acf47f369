-- What answers were before they were changed, see store.Step. Steps of a submission are in
-- the order of their ids, which may be given again once they are free.
CREATE TABLE history (
	id         INTEGER PRIMARY KEY,
	submission INTEGER NOT NULL, -- its id
	at         INTEGER NOT NULL, -- milliseconds since 1970, UTC
	username   TEXT    NOT NULL, -- "" on an anonymous form
	previous   TEXT    NOT NULL  -- a JSON object: values by field id, or null if they were removed
) STRICT;

CREATE INDEX history_by_submission ON history (submission);

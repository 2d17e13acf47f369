-- One row per submission. fields is the text of the nested model's "fields"
-- member (see forms.Entries), so that a list copies it out without decoding.
CREATE TABLE submissions (
	id       INTEGER PRIMARY KEY,
	page_id  INTEGER NOT NULL,
	form_id  TEXT    NOT NULL,
	username TEXT    NOT NULL,
	created  INTEGER NOT NULL, -- milliseconds since 1970, UTC
	once     TEXT,             -- who this is, where a form takes one submission each
	fields   TEXT    NOT NULL
) STRICT;

-- The row id ends every index entry, so both serve lists in id order.
CREATE INDEX submissions_by_form ON submissions (page_id, form_id);
CREATE INDEX submissions_by_user ON submissions (page_id, form_id, username) WHERE username <> '';

CREATE UNIQUE INDEX submissions_once ON submissions (page_id, form_id, once) WHERE once IS NOT NULL;

-- The last ids given, or reserved to be given. Kept apart from the rows,
-- because a deleted row's id must not come back.
CREATE TABLE sequences (
	only_row   INTEGER PRIMARY KEY CHECK (only_row = 1),
	submission INTEGER NOT NULL,
	entry      INTEGER NOT NULL
) STRICT;
INSERT INTO sequences VALUES (1, 0, 0);

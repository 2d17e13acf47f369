-- The row id of a submission becomes its place: the number of its form, then
-- its own id in the lower 40 bits. Rows of one form lie side by side in the
-- order of their ids, so lists need no index, and a create writes one b-tree
-- less.
CREATE TABLE forms (
	number  INTEGER PRIMARY KEY,
	page_id INTEGER NOT NULL,
	form_id TEXT    NOT NULL,
	UNIQUE (page_id, form_id)
) STRICT;
INSERT INTO forms (page_id, form_id) SELECT DISTINCT page_id, form_id FROM submissions ORDER BY page_id, form_id;

ALTER TABLE submissions RENAME TO old_submissions;
CREATE TABLE submissions (
	place    INTEGER PRIMARY KEY,
	form     INTEGER NOT NULL, -- its number, again: the indexes begin with it
	username TEXT    NOT NULL,
	created  INTEGER NOT NULL, -- milliseconds since 1970, UTC
	once     TEXT,             -- who this is, where a form takes one submission each
	fields   TEXT    NOT NULL
) STRICT;

-- The place ends every index entry, so this serves lists in id order. Both are
-- made before there are rows, and rows come in the order of their places: to
-- sort a large store could take more memory than there is.
DROP INDEX submissions_by_user;
DROP INDEX submissions_once;
CREATE INDEX submissions_by_user ON submissions (form, username) WHERE username <> '';
CREATE UNIQUE INDEX submissions_once ON submissions (form, once) WHERE once IS NOT NULL;
INSERT INTO submissions
	SELECT number << 40 | id, number, username, created, once, fields
	FROM forms CROSS JOIN old_submissions AS old ON old.page_id = forms.page_id AND old.form_id = forms.form_id
	ORDER BY number, id;
DROP TABLE old_submissions;

-- For people in a database shell.
CREATE VIEW readable AS
	SELECT place & 0xffffffffff AS id, page_id, form_id, username,
		strftime('%Y-%m-%dT%H:%M:%fZ', created / 1000.0, 'unixepoch') AS created, fields
	FROM submissions JOIN forms ON number = form;

-- What all who use the store agree on.
CREATE TABLE settings (
	name  TEXT PRIMARY KEY,
	value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO settings VALUES ('store-id', lower(hex(randomblob(16))));

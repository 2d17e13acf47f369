-- Forms have numbers, which are part of the row ids of their submissions.
CREATE TABLE forms (
	number  INTEGER PRIMARY KEY,
	page_id INTEGER NOT NULL,
	form_id TEXT    NOT NULL,
	UNIQUE (page_id, form_id)
) STRICT;

-- One row per submission. The row id is the number of its form, then its own id
-- in the lower 40 bits: rows of one form lie side by side in the order of their
-- ids, so lists need no index.
CREATE TABLE submissions (
	row_id        INTEGER PRIMARY KEY,
	form          INTEGER NOT NULL, -- its number, again: the indexes begin with it
	username      TEXT    NOT NULL, -- "" on an anonymous form
	created       INTEGER NOT NULL, -- milliseconds since 1970, UTC
	submitter_key TEXT,             -- the submitter's key, where a form takes one submission each
	fields        TEXT    NOT NULL, -- the text of the nested model's "fields" member, see forms.Entries
	key           TEXT,             -- what a repeated create is recognised by
	body          TEXT,             -- a hash of what was sent with the key
	files         TEXT              -- a JSON array, see forms.EncodeFiles
) STRICT;

-- The row id ends every index entry, so this serves lists in id order.
CREATE INDEX submissions_by_user ON submissions (form, username) WHERE username <> '';
-- For the latest submissions of a user, whatever their form.
CREATE INDEX submissions_latest ON submissions (username, row_id & 0xffffffffff) WHERE username <> '';
CREATE UNIQUE INDEX submissions_by_submitter ON submissions (form, submitter_key) WHERE submitter_key IS NOT NULL;
CREATE UNIQUE INDEX submissions_key ON submissions (form, key) WHERE key IS NOT NULL;

-- For people in a database shell.
CREATE VIEW readable AS
	SELECT row_id & 0xffffffffff AS id, page_id, form_id, username,
		strftime('%Y-%m-%dT%H:%M:%fZ', created / 1000.0, 'unixepoch') AS created, fields
	FROM submissions JOIN forms ON number = form;

-- The last id given, or reserved to be given. It is not taken from the rows,
-- because a deleted row's id must not come back.
CREATE TABLE sequence (
	only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
	last     INTEGER NOT NULL
) STRICT;
INSERT INTO sequence VALUES (1, 0);

-- Settings of the store as a whole, see store.Settings.
CREATE TABLE settings (
	name  TEXT PRIMARY KEY,
	value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO settings VALUES ('store-id', lower(hex(randomblob(16))));

-- The contents of files, in chunks of 64 KiB; the last of a file may have less. The
-- last four bytes of data are a checksum, see internal/store/engine.
CREATE TABLE file_chunks (
	file   INTEGER NOT NULL, -- the id that a submission's files tell
	number INTEGER NOT NULL, -- from 0
	data   BLOB    NOT NULL,
	PRIMARY KEY (file, number)
) STRICT;

-- The files that belong to no submission: staged, or marked for removal.
CREATE TABLE staged_files (
	id      INTEGER PRIMARY KEY,
	touched INTEGER NOT NULL, -- when its last chunk was stored, in milliseconds since 1970
	removed INTEGER NOT NULL  -- 1: marked for removal, and can't be named any more
) STRICT;

-- Who is signed in. Neither names nor credentials can be read from it, see
-- store.Sessions.
CREATE TABLE sessions (
	hash    BLOB    PRIMARY KEY, -- of the session's id
	owner   BLOB    NOT NULL,    -- a keyed hash of the user's name
	expires INTEGER NOT NULL,    -- milliseconds since 1970, UTC
	sealed  BLOB    NOT NULL     -- the encrypted credential
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_owner ON sessions (owner, expires);
CREATE INDEX sessions_by_expiry ON sessions (expires);

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
	files         TEXT,             -- a JSON array, see forms.EncodeFiles
	changed       INTEGER,          -- as created; NULL while it was never changed
	changer       TEXT,             -- "" on an anonymous form; NULL while nobody has changed it
	definition    BLOB    NOT NULL DEFAULT x'' -- the hash of its definition; zeros or none if it is not known
) STRICT;

-- One index for all questions about a user. It serves lists in id order, since the row id
-- ends every index entry, and the latest submissions, which are looked up form by form.
CREATE INDEX submissions_by_user ON submissions (username, form) WHERE username <> '';
CREATE UNIQUE INDEX submissions_by_submitter ON submissions (form, submitter_key) WHERE submitter_key IS NOT NULL;
CREATE UNIQUE INDEX submissions_key ON submissions (form, key) WHERE key IS NOT NULL;

-- For people in a database shell.
CREATE VIEW readable AS
	SELECT row_id & 0xffffffffff AS id, page_id, form_id, username,
		strftime('%Y-%m-%dT%H:%M:%fZ', created / 1000.0, 'unixepoch') AS created,
		strftime('%Y-%m-%dT%H:%M:%fZ', changed / 1000.0, 'unixepoch') AS changed, changer, fields
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

-- Forms as they were when submissions to them were checked. Each definition of a form is
-- stored once, until the form has had no submissions for a day.
CREATE TABLE definitions (
	page_id    INTEGER NOT NULL,
	form_id    TEXT    NOT NULL,
	hash       BLOB    NOT NULL, -- of the definition, 16 bytes
	stored     INTEGER NOT NULL, -- when it was last used for a submission, or some minutes before, in milliseconds since 1970
	definition TEXT    NOT NULL, -- JSON, see forms.Definition
	PRIMARY KEY (page_id, form_id, hash)
) STRICT;

-- How long forms keep their submissions, see store.Keep. A form without a row, or whose keep is '', keeps them for ever.
CREATE TABLE keeps (
	page_id INTEGER NOT NULL,
	form_id TEXT    NOT NULL,
	keep    TEXT    NOT NULL, -- such as 90 days
	since   INTEGER NOT NULL, -- when it was set, in milliseconds since 1970
	before  TEXT    NOT NULL, -- what was in force then; "" for ever
	PRIMARY KEY (page_id, form_id)
) STRICT, WITHOUT ROWID;

-- Outlines of pages of a live wiki, see store.Outlines.
CREATE TABLE outlines (
	page_id INTEGER PRIMARY KEY,
	outline TEXT    NOT NULL,
	set_at  INTEGER NOT NULL -- milliseconds since 1970, UTC
) STRICT;

-- What listeners are to be told of, see store.Events. A row is deleted when it was
-- delivered. AUTOINCREMENT: the id of a deleted row is never given again.
CREATE TABLE events (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	hook       TEXT    NOT NULL,
	recipient  TEXT    NOT NULL, -- the address of a mail, or ""
	form       INTEGER NOT NULL, -- its number
	submission INTEGER NOT NULL, -- its id
	type       TEXT    NOT NULL,
	created    INTEGER NOT NULL, -- milliseconds since 1970, UTC
	message    TEXT    NOT NULL, -- by which a receiver recognises a repeated delivery
	title      TEXT,             -- of the form, for a mail
	language   TEXT,             -- of the form's page, for a mail
	anonymous  INTEGER NOT NULL, -- 1: the form was anonymous
	failed     INTEGER,          -- when delivery was given up, as created; NULL while it waits
	error      TEXT              -- of the last attempt
) STRICT;

-- The id ends every index entry.
CREATE INDEX events_waiting ON events (hook, recipient, form) WHERE failed IS NULL;
CREATE INDEX events_failed ON events (failed) WHERE failed IS NOT NULL;

-- The queues of events. Every queue with waiting events has a row.
CREATE TABLE event_queues (
	hook      TEXT    NOT NULL,
	recipient TEXT    NOT NULL,
	form      INTEGER NOT NULL,
	due       INTEGER NOT NULL, -- when its next attempt may begin, in milliseconds since 1970
	leased    INTEGER NOT NULL, -- 1: a server delivers it
	attempts  INTEGER NOT NULL, -- failed attempts in a row
	error     TEXT,             -- of the last attempt
	PRIMARY KEY (hook, recipient, form)
) STRICT, WITHOUT ROWID;

CREATE INDEX event_queues_due ON event_queues (hook, due);

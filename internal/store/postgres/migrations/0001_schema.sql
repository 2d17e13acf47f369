-- How many migrations were applied.
CREATE TABLE formulary_schema (version_id bigint NOT NULL);

-- One row per submission, as in SQLite. The key begins with page and form, so
-- that a form's submissions are stored together, in the order of their ids. Texts are
-- compared by their bytes, whatever language the database was made for.
CREATE TABLE submissions (
	page_id       bigint           NOT NULL,
	form_id       text COLLATE "C" NOT NULL,
	id            bigint           NOT NULL,
	username      text COLLATE "C" NOT NULL, -- "" on an anonymous form
	created       bigint           NOT NULL, -- milliseconds since 1970, UTC
	submitter_key text COLLATE "C",          -- the submitter's key, where a form takes one submission each
	fields        text             NOT NULL, -- the text of the nested model's "fields" member, see forms.Entries
	key           text COLLATE "C",          -- what a repeated create is recognised by
	body          text,                      -- a hash of what was sent with the key
	files         text,                      -- a JSON array, see forms.EncodeFiles
	PRIMARY KEY (page_id, form_id, id)
);

CREATE INDEX submissions_by_user ON submissions (page_id, form_id, username, id) WHERE username <> '';
CREATE INDEX submissions_latest ON submissions (username, id) WHERE username <> '';
CREATE UNIQUE INDEX submissions_by_submitter ON submissions (page_id, form_id, submitter_key) WHERE submitter_key IS NOT NULL;
CREATE UNIQUE INDEX submissions_key ON submissions (page_id, form_id, key) WHERE key IS NOT NULL;

CREATE SEQUENCE submission_ids MAXVALUE 1099511627775; -- forms.MaxSubmissionID

-- Settings of the store as a whole, see store.Settings.
CREATE TABLE settings (
	name  text COLLATE "C" PRIMARY KEY,
	value text             NOT NULL
);
INSERT INTO settings VALUES ('store-id', gen_random_uuid()::text);

-- The contents of files, in chunks of 64 KiB; the last of a file may have less. The
-- last four bytes of data are a checksum, see internal/store/engine.
CREATE TABLE file_chunks (
	file   bigint NOT NULL, -- the id that a submission's files tell
	number bigint NOT NULL, -- from 0
	data   bytea  NOT NULL,
	PRIMARY KEY (file, number)
);

-- The files that belong to no submission: staged, or marked for removal.
CREATE TABLE staged_files (
	id      bigint      PRIMARY KEY,
	touched timestamptz NOT NULL, -- when its last chunk was stored
	removed boolean     NOT NULL  -- marked for removal, and can't be named any more
);

-- Who is signed in. Neither names nor credentials can be read from it, see
-- store.Sessions.
CREATE TABLE sessions (
	hash    bytea  PRIMARY KEY, -- of the session's id
	owner   bytea  NOT NULL,    -- a keyed hash of the user's name
	expires bigint NOT NULL,    -- milliseconds since 1970, UTC
	sealed  bytea  NOT NULL     -- the encrypted credential
);

CREATE INDEX sessions_by_owner ON sessions (owner, expires);
CREATE INDEX sessions_by_expiry ON sessions (expires);

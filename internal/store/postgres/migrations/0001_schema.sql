-- The last row has the version, see engine.Migrations.
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
	changed       bigint,                    -- as created; NULL while it was never changed
	changer       text COLLATE "C",          -- "" on an anonymous form; NULL while nobody has changed it
	definition    uuid             NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000', -- the hash of its definition; 0 if it is not known
	PRIMARY KEY (page_id, form_id, id)
);

-- One index for all questions about a user: lists of a form, and the latest submissions,
-- which are looked up form by form.
CREATE INDEX submissions_by_user ON submissions (username, page_id, form_id, id) WHERE username <> '';
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

-- What answers were before they were changed, see store.Step. Steps of a submission are in
-- the order of their ids.
CREATE TABLE history (
	id         bigint GENERATED ALWAYS AS IDENTITY,
	submission bigint NOT NULL, -- its id
	at         bigint NOT NULL, -- milliseconds since 1970, UTC
	username   text   NOT NULL, -- "" on an anonymous form
	previous   text   NOT NULL, -- a JSON object: values by field id, or null if they were removed
	PRIMARY KEY (submission, id)
);

-- Forms as they were when submissions to them were checked. Each definition of a form is
-- stored once, until the form has had no submissions for a day.
CREATE TABLE definitions (
	page_id    bigint           NOT NULL,
	form_id    text COLLATE "C" NOT NULL,
	hash       uuid             NOT NULL, -- of the definition, 16 bytes
	stored     bigint           NOT NULL, -- when it was last used for a submission, or some minutes before, in milliseconds since 1970
	definition text             NOT NULL, -- JSON, see forms.Definition
	PRIMARY KEY (page_id, form_id, hash)
);

-- How long forms keep their submissions, see store.Keep. A form without a row, or whose keep is '', keeps them for ever.
CREATE TABLE keeps (
	page_id bigint           NOT NULL,
	form_id text COLLATE "C" NOT NULL,
	keep    text             NOT NULL, -- such as 90 days
	since   bigint           NOT NULL, -- when it was set, in milliseconds since 1970
	before  text             NOT NULL, -- what was in force then; "" for ever
	PRIMARY KEY (page_id, form_id)
);

-- Outlines of pages of a live wiki, see store.Outlines.
CREATE TABLE outlines (
	page_id bigint PRIMARY KEY,
	outline text   NOT NULL,
	set_at  bigint NOT NULL -- milliseconds since 1970, UTC
);

-- What listeners are to be told of, see store.Events. A row is deleted when it was
-- delivered. There is no primary key: each index costs time at every change.
CREATE TABLE events (
	id         bigint GENERATED ALWAYS AS IDENTITY,
	hook       text COLLATE "C" NOT NULL,
	recipient  text COLLATE "C" NOT NULL, -- the address of a mail, or ""
	page_id    bigint           NOT NULL,
	form_id    text COLLATE "C" NOT NULL,
	submission bigint           NOT NULL, -- its id
	type       text             NOT NULL,
	created    bigint           NOT NULL, -- milliseconds since 1970, UTC
	message    text             NOT NULL, -- by which a receiver recognises a repeated delivery
	title      text,                      -- of the form, for a mail
	language   text,                      -- of the form's page, for a mail
	anonymous  boolean          NOT NULL,
	failed     bigint,                    -- when delivery was given up, as created; NULL while it waits
	error      text                       -- of the last attempt
);

CREATE INDEX events_waiting ON events (hook, recipient, page_id, form_id, id) WHERE failed IS NULL;
CREATE INDEX events_failed ON events (failed) WHERE failed IS NOT NULL;

-- The queues of events. Every queue with waiting events has a row.
CREATE TABLE event_queues (
	hook      text COLLATE "C" NOT NULL,
	recipient text COLLATE "C" NOT NULL,
	page_id   bigint           NOT NULL,
	form_id   text COLLATE "C" NOT NULL,
	due       bigint           NOT NULL, -- when its next attempt may begin, in milliseconds since 1970
	leased    boolean          NOT NULL, -- a server delivers it
	attempts  bigint           NOT NULL, -- failed attempts in a row
	error     text,                      -- of the last attempt
	PRIMARY KEY (hook, recipient, page_id, form_id)
);

CREATE INDEX event_queues_due ON event_queues (hook, due);

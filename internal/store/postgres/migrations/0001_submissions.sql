-- +goose Up

-- One row per submission, as in SQLite. The key begins with page and form, so
-- that a form's submissions are stored together, in the order of their ids. Texts are
-- compared by their bytes, whatever language the database was made for.
CREATE TABLE submissions (
	page_id  bigint           NOT NULL,
	form_id  text COLLATE "C" NOT NULL,
	id       bigint           NOT NULL,
	username text COLLATE "C" NOT NULL,
	created  bigint           NOT NULL, -- milliseconds since 1970, UTC
	once     text COLLATE "C",          -- the submitter's key, where a form takes one submission each
	fields   text             NOT NULL, -- the text of the nested model's "fields" member
	PRIMARY KEY (page_id, form_id, id)
);

CREATE INDEX submissions_by_user ON submissions (page_id, form_id, username, id) WHERE username <> '';

CREATE UNIQUE INDEX submissions_once ON submissions (page_id, form_id, once) WHERE once IS NOT NULL;

-- Ids stay below 2^53, because JavaScript reads them. Entry ids are taken
-- sixteen at a time: entryBlock in ids.go must be the same.
CREATE SEQUENCE submission_ids MAXVALUE 9007199254740991;
CREATE SEQUENCE entry_ids INCREMENT BY 16 MAXVALUE 9007199254740976;

-- Forms as they were when submissions to them were checked. Each definition of a form is
-- stored once, until the form has no submissions.
CREATE TABLE definitions (
	page_id    INTEGER NOT NULL,
	form_id    TEXT    NOT NULL,
	hash       INTEGER NOT NULL, -- of the definition
	definition TEXT    NOT NULL, -- JSON, see forms.Definition
	PRIMARY KEY (page_id, form_id, hash)
) STRICT;

ALTER TABLE submissions ADD COLUMN definition INTEGER NOT NULL DEFAULT 0; -- its hash; 0 if it is not known

-- Forms as they were when submissions to them were checked. Each definition of a form is
-- stored once, until the form has no submissions.
CREATE TABLE definitions (
	page_id    bigint           NOT NULL,
	form_id    text COLLATE "C" NOT NULL,
	hash       bigint           NOT NULL, -- of the definition
	definition text             NOT NULL, -- JSON, see forms.Definition
	PRIMARY KEY (page_id, form_id, hash)
);

ALTER TABLE submissions ADD COLUMN definition bigint NOT NULL DEFAULT 0; -- its hash; 0 if it is not known

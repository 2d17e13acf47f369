-- +goose Up

-- The contents of files, in chunks of 64 KiB; the last of a file may have less. The
-- last four bytes of data are a checksum, see internal/store/content.
CREATE TABLE file_chunks (
	file   bigint NOT NULL, -- the id that a submission's files tell
	number bigint NOT NULL, -- from 0
	data   bytea  NOT NULL,
	PRIMARY KEY (file, number)
);

-- The contents that belong to no submission.
CREATE TABLE loose_files (
	id      bigint      PRIMARY KEY,
	touched timestamptz NOT NULL, -- when its last chunk was stored
	removed boolean     NOT NULL  -- its chunks are being removed, and it can't be named any more
);

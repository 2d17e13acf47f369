-- The contents of files, in chunks of 64 KiB; the last of a file may have less. The
-- last four bytes of data are a checksum, see internal/store/content.
CREATE TABLE file_chunks (
	file   INTEGER NOT NULL, -- the id that a submission's files tell
	number INTEGER NOT NULL, -- from 0
	data   BLOB    NOT NULL,
	PRIMARY KEY (file, number)
) STRICT;

-- The contents that belong to no submission.
CREATE TABLE loose_files (
	id      INTEGER PRIMARY KEY,
	touched INTEGER NOT NULL, -- when its last chunk was stored, in milliseconds since 1970
	removed INTEGER NOT NULL  -- 1: its chunks are being removed, and it can't be named any more
) STRICT;

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

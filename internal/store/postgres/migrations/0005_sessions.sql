-- +goose Up

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

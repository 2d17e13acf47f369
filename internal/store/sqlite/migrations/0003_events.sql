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
	anonymous  INTEGER NOT NULL, -- 1: the form was anonymous
	failed     INTEGER,          -- when delivery was given up, as created; NULL while it waits
	error      TEXT              -- of the last attempt
) STRICT;

-- The id ends every index entry.
CREATE INDEX events_waiting ON events (hook, recipient, form) WHERE failed IS NULL;
CREATE INDEX events_failed ON events (failed) WHERE failed IS NOT NULL;

-- The queues of events that are leased or delayed. A queue without a row is due.
CREATE TABLE event_queues (
	hook      TEXT    NOT NULL,
	recipient TEXT    NOT NULL,
	form      INTEGER NOT NULL,
	due       INTEGER NOT NULL, -- when the lease or the delay ends, in milliseconds since 1970
	leased    INTEGER NOT NULL, -- 1: a server delivers it
	attempts  INTEGER NOT NULL, -- failed attempts in a row
	error     TEXT,             -- of the last attempt
	PRIMARY KEY (hook, recipient, form)
) STRICT, WITHOUT ROWID;

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
	anonymous  boolean          NOT NULL,
	failed     bigint,                    -- when delivery was given up, as created; NULL while it waits
	error      text                       -- of the last attempt
);

CREATE INDEX events_waiting ON events (hook, recipient, page_id, form_id, id) WHERE failed IS NULL;
CREATE INDEX events_failed ON events (failed) WHERE failed IS NOT NULL;

-- The queues of events that are leased or delayed. A queue without a row is due.
CREATE TABLE event_queues (
	hook      text COLLATE "C" NOT NULL,
	recipient text COLLATE "C" NOT NULL,
	page_id   bigint           NOT NULL,
	form_id   text COLLATE "C" NOT NULL,
	due       bigint           NOT NULL, -- when the lease or the delay ends, in milliseconds since 1970
	leased    boolean          NOT NULL, -- a server delivers it
	attempts  bigint           NOT NULL, -- failed attempts in a row
	error     text,                      -- of the last attempt
	PRIMARY KEY (hook, recipient, page_id, form_id)
);

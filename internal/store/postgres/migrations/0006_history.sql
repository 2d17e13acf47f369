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

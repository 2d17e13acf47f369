-- +goose Up

-- What all who share the database must agree on.
CREATE TABLE settings (
	name  text COLLATE "C" PRIMARY KEY,
	value text             NOT NULL
);

INSERT INTO settings VALUES ('store-id', gen_random_uuid()::text);

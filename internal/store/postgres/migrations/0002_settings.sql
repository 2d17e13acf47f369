-- +goose Up

-- Settings that all servers on this database share.
CREATE TABLE settings (
	name  text COLLATE "C" PRIMARY KEY,
	value text             NOT NULL
);

INSERT INTO settings VALUES ('store-id', gen_random_uuid()::text);

-- +goose Up

-- All three are NULL in most rows, which the index leaves out.
ALTER TABLE submissions ADD COLUMN key text COLLATE "C"; -- what a repeated create is recognised by
ALTER TABLE submissions ADD COLUMN body text;            -- a hash of what was sent with the key
ALTER TABLE submissions ADD COLUMN files text;           -- a JSON array, see forms.EncodeFiles

CREATE UNIQUE INDEX submissions_key ON submissions (page_id, form_id, key) WHERE key IS NOT NULL;

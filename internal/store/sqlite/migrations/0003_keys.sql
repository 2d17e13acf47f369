-- All three are NULL in most rows, which the index leaves out.
ALTER TABLE submissions ADD COLUMN key TEXT;   -- what a repeated create is recognised by
ALTER TABLE submissions ADD COLUMN body TEXT;  -- a hash of what was sent with the key
ALTER TABLE submissions ADD COLUMN files TEXT; -- a JSON array, see forms.EncodeFiles

CREATE UNIQUE INDEX submissions_key ON submissions (form, key) WHERE key IS NOT NULL;

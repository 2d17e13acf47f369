-- One index for all questions about a user. It serves lists in id order, since the row id
-- ends every index entry, and the latest submissions, which are looked up form by form.
DROP INDEX IF EXISTS submissions_latest;
DROP INDEX IF EXISTS submissions_by_user;
CREATE INDEX submissions_by_user ON submissions (username, form) WHERE username <> '';

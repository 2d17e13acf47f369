-- One index for all questions about a user: lists of a form, and the latest submissions,
-- which are looked up form by form.
DROP INDEX IF EXISTS submissions_latest;
DROP INDEX IF EXISTS submissions_by_user;
CREATE INDEX submissions_by_user ON submissions (username, page_id, form_id, id) WHERE username <> '';

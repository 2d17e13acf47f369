-- From now on every queue with waiting events has a row, and due is when its next attempt
-- may begin. So an index finds the queues that are due.
INSERT INTO event_queues (hook, recipient, page_id, form_id, due, leased, attempts)
	SELECT DISTINCT hook, recipient, page_id, form_id, 0, false, 0 FROM events WHERE failed IS NULL
	ON CONFLICT DO NOTHING;

CREATE INDEX event_queues_due ON event_queues (hook, due);

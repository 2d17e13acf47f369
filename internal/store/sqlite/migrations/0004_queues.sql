-- From now on every queue with waiting events has a row, and due is when its next attempt
-- may begin. So an index finds the queues that are due.
INSERT OR IGNORE INTO event_queues (hook, recipient, form, due, leased, attempts)
	SELECT DISTINCT hook, recipient, form, 0, 0, 0 FROM events WHERE failed IS NULL;

CREATE INDEX event_queues_due ON event_queues (hook, due);

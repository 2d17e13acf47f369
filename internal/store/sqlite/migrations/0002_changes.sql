-- Who changed a submission last, and when.

ALTER TABLE submissions ADD COLUMN changed INTEGER; -- as created; NULL while it was never changed
ALTER TABLE submissions ADD COLUMN changer TEXT;    -- "" on an anonymous form; NULL while nobody has changed it

DROP VIEW readable;
CREATE VIEW readable AS
	SELECT row_id & 0xffffffffff AS id, page_id, form_id, username,
		strftime('%Y-%m-%dT%H:%M:%fZ', created / 1000.0, 'unixepoch') AS created,
		strftime('%Y-%m-%dT%H:%M:%fZ', changed / 1000.0, 'unixepoch') AS changed, changer, fields
	FROM submissions JOIN forms ON number = form;

-- Who changed a submission last, and when.

ALTER TABLE submissions
	ADD COLUMN changed bigint,           -- as created; NULL while it was never changed
	ADD COLUMN changer text COLLATE "C"; -- "" on an anonymous form; NULL while nobody has changed it

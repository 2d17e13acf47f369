package postgres

import (
	"fmt"
	"strings"

	"github.com/formulary/formulary/internal/store/engine"
)

// The SQL statements. Each finds its rows by an index, which TestPlans checks.
const (
	sqlGet = `SELECT ` + sqlSubmission + ` FROM submissions WHERE page_id = $1 AND form_id = $2 AND id = $3`

	sqlLock = sqlGet + ` FOR UPDATE`

	// sqlSubmission are the columns of readSubmission.
	sqlSubmission = `created, username, fields, files, ` + sqlChange

	// sqlChange is the creation while the submission was never changed.
	sqlChange = `COALESCE(changed, created), COALESCE(changer, username)`

	sqlByKey = `SELECT id, body, ` + sqlSubmission + ` FROM submissions
		WHERE page_id = $1 AND form_id = $2 AND key = $3 AND key IS NOT NULL`

	// sqlRefusal returns an index of refusals. It counts up to the limit of the form, $5.
	sqlRefusal = `SELECT CASE
		WHEN $3 <> '' AND (
			EXISTS (SELECT 1 FROM submissions WHERE page_id = $1 AND form_id = $2 AND submitter_key = $3 AND submitter_key IS NOT NULL)
			OR EXISTS (SELECT 1 FROM submissions WHERE page_id = $1 AND form_id = $2 AND username = $4 AND username <> '')) THEN 1
		WHEN $5::bigint > 0 AND $5 <=
			(SELECT count(*) FROM (SELECT 1 FROM submissions WHERE page_id = $1 AND form_id = $2 ORDER BY id LIMIT $5) AS n) THEN 2
		ELSE 0 END`

	// sqlLockForm waits until no other transaction has the lock of the form. Two forms
	// may share a lock.
	sqlLockForm = `SELECT pg_advisory_xact_lock(hashtextextended($2, $1))`

	sqlLatest = `SELECT page_id, form_id, id, created FROM submissions
		WHERE username = $1 AND username <> '' ORDER BY id DESC LIMIT $2`

	// sqlEventColumns are the columns of eventColumns.
	sqlEventColumns = `(page_id, form_id, submission, hook, recipient, type, created, message, title, anonymous, failed, error)`

	// sqlEvent are the columns of readEvent.
	sqlEvent = `id, page_id, form_id, submission, hook, recipient, type, created, message, COALESCE(title, ''), anonymous,
		COALESCE(failed, 0), COALESCE(error, '')`

	// sqlNow is the time in milliseconds since 1970. It goes on within a transaction.
	sqlNow = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

	// sqlDueQueues numbers the due queues of each page, so that pages take turns.
	sqlDueQueues = `SELECT h.hook, recipient, page_id, form_id FROM unnest($1::text[], $2::bigint[]) AS h (hook, after) CROSS JOIN LATERAL (
			SELECT recipient, page_id, form_id, row_number() OVER (PARTITION BY page_id ORDER BY due) AS turn
			FROM event_queues q WHERE q.hook = h.hook AND due <= ` + sqlNow + `
			ORDER BY turn, page_id <= h.after, page_id LIMIT $3) AS due`

	sqlLease = `UPDATE event_queues SET due = ` + sqlNow + ` + $5, leased = true` + sqlOfQueue + ` AND due <= ` + sqlNow + `
		RETURNING attempts, due`

	sqlOfQueue = ` WHERE hook = $1 AND recipient = $2 AND page_id = $3 AND form_id = $4`

	sqlWaiting = `SELECT ` + sqlEvent + ` FROM events` + sqlOfQueue + ` AND failed IS NULL ORDER BY id LIMIT $5`

	sqlDelivered = `DELETE FROM events` + sqlOfQueue + ` AND failed IS NULL AND id = ANY($5::bigint[])`

	// sqlRemoveDelivered does not wait for the disk: if the database crashes, an event is sent again.
	sqlRemoveDelivered = sqlDelivered + ` AND set_config('synchronous_commit', 'off', true) = 'off'`

	sqlGiveUp = `UPDATE events SET failed = ` + sqlNow + `, error = $6` + sqlOfQueue + ` AND failed IS NULL AND id = ANY($5::bigint[])`

	sqlLeased = sqlOfQueue + ` AND leased AND due = $5`

	sqlDelayQueue = `UPDATE event_queues SET due = ` + sqlNow + ` + $6, leased = false, attempts = $7, error = NULLIF($8, '')` + sqlLeased

	// sqlIsWaiting reads in the order of an index. EXISTS could read the whole table.
	sqlIsWaiting = `(SELECT id FROM events` + sqlOfQueue + ` AND failed IS NULL ORDER BY id LIMIT 1) IS NOT NULL`

	// sqlQueueLock is the key of an advisory lock, one of 64: a transaction may add to many queues.
	sqlQueueLock = `1181904236, (hashtextextended(form_id, page_id) & 63)::int`

	// These end a lease without a delay. An empty queue is removed, unless a transaction that is still open may have
	// added an event: that found the row, and wrote none. Then the queue is looked at again soon. An event that was
	// committed after sqlRemoveQueue had begun, and before its lock, is visible to sqlRestoreQueue.
	sqlEndLease = `UPDATE event_queues SET due = ` + sqlNow + ` + CASE WHEN ` + sqlIsWaiting + ` THEN 0 ELSE 500 END,
		leased = false, attempts = 0, error = NULL` + sqlLeased
	sqlRemoveQueue = `DELETE FROM event_queues` + sqlOfQueue + ` AND NOT leased
		AND CASE WHEN ` + sqlIsWaiting + ` THEN false ELSE pg_try_advisory_xact_lock(` + sqlQueueLock + `) END`
	sqlRestoreQueue = `INSERT INTO event_queues (hook, recipient, page_id, form_id, due, leased, attempts)
		SELECT $1::text, $2::text, $3::bigint, $4::text, ` + sqlNow + `, false, 0 WHERE ` + sqlIsWaiting + ` ON CONFLICT DO NOTHING`

	// sqlEventCounts takes the error of the queue that is due last, or else that of the
	// event that failed last.
	sqlEventCounts = `SELECT hook, count(*) FILTER (WHERE failed IS NULL), count(failed),
			COALESCE(min(created) FILTER (WHERE failed IS NULL), 0),
			COALESCE((SELECT q.error FROM event_queues q WHERE q.hook = e.hook AND q.error IS NOT NULL ORDER BY q.due DESC LIMIT 1),
				(array_agg(error ORDER BY failed DESC) FILTER (WHERE failed IS NOT NULL))[1], '')
		FROM events e GROUP BY hook ORDER BY hook`

	sqlOfHooks = `hook IN (SELECT jsonb_array_elements_text($1::jsonb))`

	sqlRetryFailed = `UPDATE events SET failed = NULL, error = NULL WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM events WHERE failed IS NOT NULL AND ` + sqlOfHooks + ` ORDER BY failed LIMIT 1000))`

	// sqlAddQueues adds the queues of the events told, in an order that avoids deadlocks. A transaction has the lock
	// of a queue before it looks whether there is a row, until it ends.
	sqlAddQueues = `locked AS MATERIALIZED (
			SELECT pg_advisory_xact_lock_shared(` + sqlQueueLock + `) FROM (SELECT DISTINCT page_id, form_id FROM told) AS forms),
		queued AS (INSERT INTO event_queues (hook, recipient, page_id, form_id, due, leased, attempts)
			SELECT *, ` + sqlNow + `, false, 0 FROM (SELECT DISTINCT hook, recipient, page_id, form_id FROM told ORDER BY 1, 2, 3, 4) AS queues
			WHERE (SELECT count(*) FROM locked) > 0 ON CONFLICT DO NOTHING)`

	// sqlAdoptEvents adds the queues of events that wait again, or that a server of an older version has written.
	sqlAdoptEvents = `INSERT INTO event_queues (hook, recipient, page_id, form_id, due, leased, attempts)
		SELECT DISTINCT hook, recipient, page_id, form_id, 0, false, 0 FROM events WHERE failed IS NULL ON CONFLICT DO NOTHING`

	sqlDiscard = `DELETE FROM events WHERE ctid = ANY (ARRAY(SELECT ctid FROM events WHERE ` + sqlOfHooks + ` LIMIT 1000))`

	sqlRetryDelayed = `UPDATE event_queues SET due = 0 WHERE attempts > 0 AND NOT leased AND ` + sqlOfHooks

	sqlRemoveFailed = `DELETE FROM events WHERE ctid = ANY (ARRAY(SELECT ctid FROM events WHERE failed < ` + sqlNow + ` - $1 ORDER BY failed LIMIT $2))`

	sqlAllEvents = `SELECT ` + sqlEvent + ` FROM events ORDER BY id`

	sqlUpdate = `UPDATE submissions SET fields = $4, files = $5, changed = $6, changer = $7 WHERE page_id = $1 AND form_id = $2 AND id = $3`

	sqlDelete = `DELETE FROM submissions WHERE page_id = $1 AND form_id = $2 AND id = $3`

	// sqlRows turns the columns of a batch into rows.
	sqlRows = `unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
			$11::bigint[], $12::text[])
		AS n (page_id, form_id, id, username, created, fields, submitter_key, key, body, files, changed, changer)`

	// sqlInsert stores all rows of a batch or none.
	sqlInsert = `INSERT INTO submissions (page_id, form_id, id, username, created, fields, submitter_key, key, body, files, changed, changer)
		SELECT n.page_id, n.form_id, n.id, n.username, n.created, n.fields, NULLIF(n.submitter_key, ''),
			NULLIF(n.key, ''), NULLIF(n.body, ''), NULLIF(n.files, ''), n.changed, n.changer FROM ` + sqlRows

	// sqlInsertPlain is sqlInsert for rows that have no limit, key or files, as
	// most have. The other columns would cost a tenth of a create.
	sqlInsertPlain = `INSERT INTO submissions (page_id, form_id, id, username, created, fields)
		SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[])`

	// sqlCreate stores the rows of a batch that do not violate a limit of one
	// submission and whose key is not used, and returns their ids. The subquery
	// is scalar: the planner could turn EXISTS into a join, which reads the whole
	// table and changes the order in which rows are stored (see newBatch).
	sqlCreate = sqlInsert + `
		WHERE n.submitter_key = '' OR n.username = '' OR (` + sqlByUser + `) IS NULL
		ON CONFLICT DO NOTHING RETURNING id`

	sqlByUser = `SELECT s.id FROM submissions s
		WHERE s.page_id = n.page_id AND s.form_id = n.form_id AND s.username = n.username AND s.username <> ''
		ORDER BY s.id LIMIT 1`

	// sqlKeysUsed returns the ids of the rows of a batch whose key is stored.
	sqlKeysUsed = `SELECT n.id FROM ` + sqlRows + `
		WHERE n.key <> '' AND (` + sqlKeyOwner + `) IS NOT NULL`

	sqlKeyOwner = `SELECT s.id FROM submissions s
		WHERE s.page_id = n.page_id AND s.form_id = n.form_id AND s.key = n.key AND s.key IS NOT NULL LIMIT 1`

	// sqlUseIndex keeps the planner from sorting the whole table before the first
	// row of sqlDump.
	sqlUseIndex = `SET LOCAL cursor_tuple_fraction = 0`

	sqlDump = `DECLARE dump NO SCROLL CURSOR FOR
		SELECT page_id, form_id, id, COALESCE(submitter_key, ''), COALESCE(key, ''), COALESCE(body, ''), ` + sqlSubmission + `
		FROM submissions ORDER BY page_id, form_id, id`

	sqlCount = `SELECT count(*) FROM submissions`

	// The first chunk begins a content; each further one shows that the upload
	// goes on. They store no row if the content is not staged any more.
	sqlStageEmpty = `INSERT INTO staged_files (id, touched, removed) VALUES ($1, now(), false)`
	sqlStageFirst = `WITH staged AS (` + sqlStageEmpty + ` RETURNING id)
		INSERT INTO file_chunks (file, number, data) SELECT id, $2, $3 FROM staged`
	sqlStageChunk = `WITH staged AS (UPDATE staged_files SET touched = now() WHERE id = $1 AND NOT removed RETURNING id)
		INSERT INTO file_chunks (file, number, data) SELECT id, $2, $3 FROM staged`

	sqlChunk = `SELECT data FROM file_chunks WHERE file = $1 AND number = $2`

	sqlMarkRemoved = `UPDATE staged_files SET removed = true WHERE id = $1`

	// sqlTouch changes nothing within a minute: each change leaves a dead row.
	sqlTouch = `UPDATE staged_files SET touched = now()
		WHERE id = ANY($1::bigint[]) AND NOT removed AND touched < now() - interval '1 minute'`

	sqlMarkStale = `UPDATE staged_files SET removed = true WHERE NOT removed AND touched < now() - $1::bigint * interval '1 second'`

	sqlClaimFiles = `DELETE FROM staged_files WHERE id = ANY($1::bigint[]) AND NOT removed`

	sqlMarkFiles = `INSERT INTO staged_files (id, touched, removed) SELECT id, now(), true FROM unnest($1::bigint[]) AS n (id)`

	// sqlNextRemoved returns a marked content that is not among $2, if more than $1
	// chunks are marked. It counts no more than these. $1 = 0 also finds a content
	// without chunks.
	sqlNextRemoved = `SELECT id FROM staged_files WHERE removed AND id <> ALL(COALESCE($2::bigint[], '{}')) AND ($1::bigint = 0 OR $1 <
		(SELECT count(*) FROM (SELECT 1 FROM staged_files l JOIN file_chunks ON file = l.id WHERE l.removed LIMIT $1 + 1) AS n)) LIMIT 1`

	sqlRemoveChunks = `DELETE FROM file_chunks WHERE file = $1
		AND number IN (SELECT number FROM file_chunks WHERE file = $1 ORDER BY number LIMIT $2)`

	sqlRemoveFile = `DELETE FROM staged_files WHERE id = $1 AND removed AND NOT EXISTS (SELECT 1 FROM file_chunks WHERE file = $1)`

	// sqlClaim sets a value that is set to itself, so that it is returned.
	sqlClaim = `INSERT INTO settings (name, value) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET value = settings.value RETURNING value`

	sqlSetting = `SELECT value FROM settings WHERE name = $1`

	sqlSession = `SELECT owner, expires, sealed FROM sessions WHERE hash = $1`

	sqlInsertSession = `INSERT INTO sessions (hash, owner, expires, sealed) VALUES ($1, $2, $3, $4)`

	// sqlTrimSessions keeps the $2 sessions of an owner that expire last.
	sqlTrimSessions = `DELETE FROM sessions
		WHERE hash = ANY (ARRAY(SELECT hash FROM sessions WHERE owner = $1 ORDER BY expires DESC OFFSET $2))`

	sqlDeleteExpired = `DELETE FROM sessions
		WHERE hash = ANY (ARRAY(SELECT hash FROM sessions WHERE expires <= $1 ORDER BY expires LIMIT $2))`

	// sqlTakeIDs allocates so many submission ids.
	sqlTakeIDs = `SELECT nextval('submission_ids') FROM generate_series(1, $1)`

	// sqlLastID waits for sqlLockSequence, unlike a SELECT from the sequence.
	sqlLastID = `SELECT COALESCE(pg_sequence_last_value('submission_ids'), 0)`

	// ALTER SEQUENCE is the only way to lock a sequence. This changes nothing.
	sqlLockSequence = `ALTER SEQUENCE submission_ids CACHE 1`
	sqlAdvance      = `SELECT setval('submission_ids', $1) FROM submission_ids WHERE last_value <= $1`
)

// These take the parameters of eventColumns, after those of another statement.
var (
	sqlInsertEvents = `WITH ` + insertEvents(1, ``) + ` SELECT 1`

	// sqlInsertPlainWithEvents is sqlInsertPlain with events of the rows.
	sqlInsertPlainWithEvents = `WITH ` + insertEvents(7, ``) + ` ` + sqlInsertPlain

	// sqlCreateWithEvents is sqlCreate with events of the rows that are stored.
	sqlCreateWithEvents = `WITH stored AS (` + sqlCreate + `), ` +
		insertEvents(13, ` WHERE submission IN (SELECT id FROM stored) ORDER BY submission`) + ` SELECT id FROM stored`
)

// insertEvents stores the events that a condition selects, and adds their queues. The number is that of its first
// parameter.
func insertEvents(first int, which string) string {
	columns := strings.Split(`bigint text bigint text text text bigint text text boolean bigint text`, " ")
	for i, column := range columns {
		columns[i] = fmt.Sprintf("$%d::%s[]", first+i, column)
	}
	return `told AS (INSERT INTO events ` + sqlEventColumns + ` SELECT * FROM unnest(` + strings.Join(columns, ", ") + `) AS e ` +
		sqlEventColumns + which + ` RETURNING hook, recipient, page_id, form_id), ` + sqlAddQueues
}

var listStatements = engine.ListStatements(listSQL)

func listSQL(k engine.ListKind) string {
	change, user := ``, ``
	if k.Changes {
		change = `, ` + sqlChange
	}
	if k.ByUser {
		user = ` AND username = $5 AND username <> ''`
	}
	rows := `SELECT id, created, username, fields` + change + ` FROM submissions WHERE page_id = $1 AND form_id = $2` + user
	switch {
	case k.ByIDs: // LIMIT 1 keeps the planner from a join that reads all rows of the form
		return `SELECT s.* FROM unnest($3::bigint[]) WITH ORDINALITY AS wanted (wanted_id, position)
			CROSS JOIN LATERAL (` + rows + ` AND id = wanted_id LIMIT 1) AS s ORDER BY position LIMIT $4`
	case k.Descending:
		return rows + ` AND id < $3 ORDER BY id DESC LIMIT $4`
	default:
		return rows + ` AND id > $3 ORDER BY id LIMIT $4`
	}
}

package postgres

import (
	"fmt"
	"strings"

	"github.com/formulary/formulary/internal/store"
)

// The SQL statements. Each finds its rows by an index, which TestPlans checks.
const (
	sqlGet = `SELECT ` + sqlSubmission + ` FROM submissions WHERE page_id = $1 AND form_id = $2 AND id = $3`

	sqlLock = sqlGet + ` FOR UPDATE`

	// sqlSubmission are the columns of readSubmission.
	sqlSubmission = `created, username, fields, ` + sqlChange

	// sqlChange are the files and the last change, which is the creation while the submission was never changed.
	sqlChange = `files, COALESCE(changed, created), COALESCE(changer, username)`

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

	// sqlTallies has a row for each element of its parameters. It counts up to the limits, $3.
	sqlTallies = `SELECT
			(SELECT count(*) FROM (SELECT 1` + sqlOfForm + ` ORDER BY id LIMIT most) AS counted),
			submitter <> '' AND (EXISTS (SELECT 1` + sqlOfForm + ` AND s.submitter_key = submitter AND s.submitter_key IS NOT NULL)
				OR EXISTS (SELECT 1` + sqlOfForm + ` AND s.username = n.username AND s.username <> ''))
		FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[]) WITH ORDINALITY
			AS n (page_id, form_id, most, submitter, username, place) ORDER BY place`
	sqlOfForm = ` FROM submissions s WHERE s.page_id = n.page_id AND s.form_id = n.form_id`

	// sqlCountNamed counts up to store.MaxLimit. Long fields are in another table.
	sqlCountNamed = `SELECT count(NULLIF(username, '')), count(*) FROM (SELECT username FROM submissions
		WHERE page_id = $1 AND form_id = $2 ORDER BY id LIMIT 10000) AS n`

	// sqlCountForms finds the forms one by one: that does not depend on how many submissions they have.
	sqlCountForms = `WITH RECURSIVE stored AS (
			(SELECT page_id, form_id FROM submissions WHERE page_id BETWEEN $1 AND $2 ORDER BY page_id, form_id LIMIT 1)
			UNION ALL SELECT another.* FROM stored CROSS JOIN LATERAL (SELECT page_id, form_id FROM submissions s
				WHERE (s.page_id, s.form_id) > (stored.page_id, stored.form_id) AND s.page_id <= $2
				ORDER BY page_id, form_id LIMIT 1) AS another)
		SELECT page_id, form_id, (SELECT count(*) FROM (SELECT 1 FROM submissions s
			WHERE s.page_id = stored.page_id AND s.form_id = stored.form_id ORDER BY id LIMIT $3) AS n)
		FROM stored ORDER BY page_id, form_id`

	// sqlLockForm waits until no other transaction has the lock of the form. Two forms
	// may share a lock.
	sqlLockForm = `SELECT pg_advisory_xact_lock(hashtextextended($2, $1))`

	// sqlLatest finds the forms of a user one by one, and the newest submission of each. The latest submissions are in
	// the forms with the newest ones.
	sqlLatest = `WITH RECURSIVE
		mine AS ((SELECT page_id, form_id` + sqlMine + ` ORDER BY page_id, form_id LIMIT 1)
			UNION ALL SELECT another.* FROM mine CROSS JOIN LATERAL (SELECT page_id, form_id` + sqlMine + `
				AND (s.page_id, s.form_id) > (mine.page_id, mine.form_id) ORDER BY page_id, form_id LIMIT 1) AS another),
		newest AS (SELECT page_id, form_id FROM mine
			ORDER BY (SELECT max(id)` + sqlMine + ` AND s.page_id = mine.page_id AND s.form_id = mine.form_id) DESC LIMIT 200),
		latest AS (SELECT page_id, form_id, id FROM newest CROSS JOIN LATERAL (SELECT id` + sqlMine + `
			AND s.page_id = newest.page_id AND s.form_id = newest.form_id ORDER BY id DESC LIMIT 200) AS own
			ORDER BY id DESC LIMIT 200)
		SELECT page_id, form_id, id, (SELECT created FROM submissions s
			WHERE s.page_id = latest.page_id AND s.form_id = latest.form_id AND s.id = latest.id) FROM latest ORDER BY id DESC`
	sqlMine = ` FROM submissions s WHERE username = $1 AND username <> ''`

	// sqlEventColumns are the columns of eventColumns.
	sqlEventColumns = `(page_id, form_id, submission, hook, recipient, type, created, message, title, language,
		anonymous, failed, error)`

	// sqlNow is the time in milliseconds since 1970. It goes on within a transaction.
	sqlNow = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

	// sqlQueueLock is the key of an advisory lock, one of 64: a transaction may add to many queues.
	sqlQueueLock = `1181904236, (hashtextextended(form_id, page_id) & 63)::int`

	// sqlAddQueues adds the queues of the events told, in an order that avoids deadlocks. A transaction has the lock
	// of a queue before it looks whether there is a row, until it ends.
	sqlAddQueues = `locked AS MATERIALIZED (
			SELECT pg_advisory_xact_lock_shared(` + sqlQueueLock + `) FROM (SELECT DISTINCT page_id, form_id FROM told) AS forms),
		queued AS (INSERT INTO event_queues (hook, recipient, page_id, form_id, due, leased, attempts)
			SELECT *, ` + sqlNow + `, false, 0 FROM (SELECT DISTINCT hook, recipient, page_id, form_id FROM told ORDER BY 1, 2, 3, 4) AS queues
			WHERE (SELECT count(*) FROM locked) > 0 ON CONFLICT DO NOTHING)`

	sqlDefinition = `SELECT d.definition FROM submissions s
		JOIN definitions d ON d.page_id = $1 AND d.form_id = $2 AND hash = s.definition
		WHERE s.page_id = $1 AND s.form_id = $2 AND id = $3`

	// sqlUnused is the condition that the form of a definition has no submissions. EXISTS could become a join, which reads
	// the whole table.
	sqlUnused = `(SELECT id FROM submissions s WHERE s.page_id = definitions.page_id AND s.form_id = definitions.form_id
		ORDER BY id LIMIT 1) IS NULL`

	sqlUpdate = `UPDATE submissions SET fields = $4, files = $5, changed = $6, changer = $7 WHERE page_id = $1 AND form_id = $2 AND id = $3`

	sqlDelete = `DELETE FROM submissions WHERE page_id = $1 AND form_id = $2 AND id = $3`

	// sqlRows turns the columns of a batch into rows.
	sqlRows = `unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::uuid[], $8::text[], $9::text[], $10::text[],
			$11::text[], $12::bigint[], $13::text[])
		AS n (page_id, form_id, id, username, created, fields, definition, submitter_key, key, body, files, changed, changer)`

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
		SELECT page_id, form_id, id, COALESCE(submitter_key, ''), COALESCE(key, ''), COALESCE(body, ''), definition, ` + sqlSubmission + `
		FROM submissions ORDER BY page_id, form_id, id`

	sqlCount = `SELECT count(*) FROM submissions`

	sqlClaimFiles = `DELETE FROM staged_files WHERE id = ANY($1::bigint[]) AND NOT removed`

	sqlMarkFiles = `INSERT INTO staged_files (id, touched, removed) SELECT id, now(), true FROM unnest($1::bigint[]) AS n (id)`

	// sqlTakeIDs allocates so many submission ids. The transaction has run sqlAnnounceIDs before.
	sqlTakeIDs = `SELECT nextval('submission_ids') FROM generate_series(1, $1)`

	// ALTER SEQUENCE is the only way to lock a sequence. This changes nothing.
	sqlLockSequence = `ALTER SEQUENCE submission_ids CACHE 1`
	sqlAdvance      = `SELECT setval('submission_ids', $1) FROM submission_ids WHERE last_value <= $1`

	// sqlInsert stores all rows of a batch or none.
	sqlInsert = `INSERT INTO submissions (page_id, form_id, id, username, created, fields, definition, submitter_key, key, body, files, changed, changer)
		SELECT n.page_id, n.form_id, n.id, n.username, n.created, n.fields, n.definition,
			NULLIF(n.submitter_key, ''), NULLIF(n.key, ''), NULLIF(n.body, ''), NULLIF(n.files, ''), n.changed, n.changer FROM ` + sqlRows

	// sqlInsertPlain is sqlInsert for rows that have no limit, key or files, and the same definition, as
	// most have. The other columns would cost a tenth of a create.
	sqlInsertPlain = `INSERT INTO submissions (page_id, form_id, id, username, created, fields, definition)
		SELECT n.*, $7::uuid
		FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[]) AS n`

	// sqlCreate stores the rows of a batch that do not violate a limit of one
	// submission and whose key is not used, and returns their ids. The subquery
	// is scalar: the planner could turn EXISTS into a join, which reads the whole
	// table and changes the order in which rows are stored (see newBatch).
	sqlCreate = sqlInsert + `
		WHERE n.submitter_key = '' OR n.username = '' OR (` + sqlByUser + `) IS NULL
		ON CONFLICT DO NOTHING RETURNING id`
)

// These take the parameters of eventColumns, after those of another statement.
var (
	sqlInsertEvents = `WITH ` + insertEvents(1, ``) + ` SELECT 1`

	// sqlInsertPlainWithEvents is sqlInsertPlain with events of the rows.
	sqlInsertPlainWithEvents = `WITH ` + insertEvents(8, ``) + ` ` + sqlInsertPlain

	// sqlCreateWithEvents is sqlCreate with events of the rows that are stored.
	sqlCreateWithEvents = `WITH stored AS (` + sqlCreate + `), ` +
		insertEvents(14, ` WHERE submission IN (SELECT id FROM stored) ORDER BY submission`) + ` SELECT id FROM stored`
)

// insertEvents stores the events that a condition selects, and adds their queues. The number is that of its first
// parameter.
func insertEvents(first int, which string) string {
	columns := strings.Split(`bigint text bigint text text text bigint text text text boolean bigint text`, " ")
	for i, column := range columns {
		columns[i] = fmt.Sprintf("$%d::%s[]", first+i, column)
	}
	return `told AS (INSERT INTO events ` + sqlEventColumns + ` SELECT * FROM unnest(` + strings.Join(columns, ", ") + `) AS e ` +
		sqlEventColumns + which + ` RETURNING hook, recipient, page_id, form_id), ` + sqlAddQueues
}

// listSQL returns the statement that reads a list.
func listSQL(q store.Query) string {
	change, user := ``, ``
	if q.Changes {
		change = `, ` + sqlChange
	}
	if q.Username != nil {
		user = ` AND username = $5 AND username <> ''`
	}
	rows := `SELECT id, created, username, fields` + change + ` FROM submissions WHERE page_id = $1 AND form_id = $2` + user
	switch {
	case q.IDs != nil: // LIMIT 1 keeps the planner from a join that reads all rows of the form
		return `SELECT s.* FROM unnest($3::bigint[]) WITH ORDINALITY AS wanted (wanted_id, position)
			CROSS JOIN LATERAL (` + rows + ` AND id = wanted_id LIMIT 1) AS s ORDER BY position LIMIT $4`
	case q.Descending:
		return rows + ` AND id < $3 ORDER BY id DESC LIMIT $4`
	default:
		return rows + ` AND id > $3 ORDER BY id LIMIT $4`
	}
}

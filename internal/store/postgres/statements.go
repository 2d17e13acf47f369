package postgres

// The statements. They keep to what PostgreSQL, CockroachDB and YugabyteDB all
// understand, and every one of them finds its rows by a key: TestPlans holds
// them to that.
const (
	sqlGet = `SELECT created, username, fields FROM submissions WHERE page_id = $1 AND form_id = $2 AND id = $3`

	sqlLock = sqlGet + ` FOR UPDATE`

	sqlUpdate = `UPDATE submissions SET fields = $4 WHERE page_id = $1 AND form_id = $2 AND id = $3`

	sqlDelete = `DELETE FROM submissions WHERE page_id = $1 AND form_id = $2 AND id = $3`

	// sqlRows makes a table of what a batch brings.
	sqlRows = `unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::text[])
		AS n (page_id, form_id, id, username, created, once, fields)`

	// sqlInsert stores a batch, all of it or nothing.
	sqlInsert = `INSERT INTO submissions (page_id, form_id, id, username, created, once, fields)
		SELECT n.page_id, n.form_id, n.id, n.username, n.created, NULLIF(n.once, ''), n.fields FROM ` + sqlRows

	// sqlCreate stores a batch, but for those who may not, and tells whom it
	// stored. The subquery is a scalar one, not EXISTS, because that could be
	// turned into a join that reads the whole table, and rows must be stored
	// in the order in which they come (see newBatch).
	sqlCreate = sqlInsert + `
		WHERE n.once = '' OR n.username = '' OR (` + sqlByUser + `) IS NULL
		ON CONFLICT DO NOTHING RETURNING id`

	sqlByUser = `SELECT s.id FROM submissions s
		WHERE s.page_id = n.page_id AND s.form_id = n.form_id AND s.username = n.username AND s.username <> ''
		ORDER BY s.id LIMIT 1`

	// sqlStored tells for each of a batch whether what is stored under its id
	// is that: true, false, or null where nothing is. It locks them because that
	// makes it a write: its commit waits for what a commit here has to wait
	// for, a standby for instance, which theirs may not have.
	sqlStored = `SELECT n.id, (SELECT s.username = n.username AND s.created = n.created AND s.fields = n.fields FROM submissions s
		WHERE s.page_id = n.page_id AND s.form_id = n.form_id AND s.id = n.id FOR UPDATE) FROM ` + sqlRows

	sqlDump = `SELECT page_id, form_id, id, username, created, COALESCE(once, ''), fields FROM submissions
		WHERE (page_id, form_id, id) > ($1, $2, $3) ORDER BY page_id, form_id, id LIMIT $4`

	sqlLast = `SELECT page_id, form_id, id FROM submissions ORDER BY page_id DESC, form_id DESC, id DESC LIMIT 1`

	sqlCount = `SELECT count(*) FROM submissions`

	sqlClaim = `INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING`

	sqlSetting = `SELECT value FROM settings WHERE name = $1`

	sqlRelease = `DELETE FROM settings WHERE name = $1`

	// sqlTakeIDs takes a block of entry ids for each true, and the id of a
	// submission for each false. Not by generate_series, of which the server
	// thinks so much that it would make a new plan each time.
	sqlTakeIDs = `SELECT n.block, CASE WHEN n.block THEN nextval('entry_ids') ELSE nextval('submission_ids') END
		FROM unnest($1::boolean[]) AS n (block)`
)

// listKind selects one of the list statements.
type listKind struct{ byUser, descending bool }

var listStatements = map[listKind]string{
	{}:                               listSQL(listKind{}),
	{byUser: true}:                   listSQL(listKind{byUser: true}),
	{descending: true}:               listSQL(listKind{descending: true}),
	{byUser: true, descending: true}: listSQL(listKind{byUser: true, descending: true}),
}

func listSQL(k listKind) string {
	beyond, order, user := `id > $3`, `ASC`, ``
	if k.descending {
		beyond, order = `id < $3`, `DESC`
	}
	if k.byUser {
		user = ` AND username = $5 AND username <> ''`
	}
	return `SELECT id, created, username, fields FROM submissions WHERE page_id = $1 AND form_id = $2 AND ` +
		beyond + user + ` ORDER BY id ` + order + ` LIMIT $4`
}

package engine

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/formulary/formulary/internal/store"
)

// Statements of the history of submission $1.
const (
	SQLHistory       = `SELECT at, username, previous FROM history WHERE submission = $1 ORDER BY id`
	SQLDeleteHistory = `DELETE FROM history WHERE submission = $1`
	SQLInsertStep    = `INSERT INTO history (submission, at, username, previous) VALUES ($1, $2, $3, $4)`
	// SQLTrimHistory has store.MaxSteps and store.MaxHistoryBytes.
	SQLTrimHistory = `DELETE FROM history WHERE submission = $1 AND id <= (SELECT max(id) FROM (
		SELECT id, row_number() OVER newest AS number, sum(octet_length(previous)) OVER newest AS bytes
		FROM history WHERE submission = $1 WINDOW newest AS (ORDER BY id DESC)) AS steps
		WHERE number > 1000 OR number > 1 AND bytes > 1048576)`
	// SQLMarkRemoved adds a step if there is one with values, and SQLRemoveSteps removes those before the last.
	SQLMarkRemoved = `INSERT INTO history (submission, at, username, previous) SELECT $1, $2, $3, $4
		WHERE EXISTS (SELECT 1 FROM history WHERE submission = $1 AND previous <> $4)`
	SQLRemoveSteps = `DELETE FROM history
		WHERE submission = $1 AND id < (SELECT max(id) FROM history WHERE submission = $1)`
)

// The statements of RemoveName.
const (
	SQLRemoveChanger = `UPDATE submissions SET changer = '' WHERE {key} AND changer = $4`
	SQLRemoveName    = `UPDATE history SET username = '' WHERE submission = $1 AND username = $2`
)

// RemoveName implements store.Store.
func (c Common) RemoveName(ctx context.Context, key store.Key, username string) error {
	err := c.Database.Transact(ctx, NewStatement(SQLRemoveChanger, key.PageID, key.FormID, key.ID, username),
		NewStatement(SQLRemoveName, key.ID, username))
	return Wrap(err, "remove a name from submission %d", key.ID)
}

// HistoryStatements are those that add a step to the history of a submission.
func HistoryStatements(submissionID int64, step *store.Step) []Statement {
	if step == nil {
		return nil
	}
	insert, trim := insertStep(submissionID, *step), SQLTrimHistory
	if step.Before == nil {
		insert.SQL, trim = SQLMarkRemoved, SQLRemoveSteps
	}
	return []Statement{insert, NewStatement(trim, submissionID)}
}

func insertStep(submissionID int64, step store.Step) Statement {
	previous := "null"
	if step.Before != nil {
		text, _ := json.Marshal(step.Before, json.Deterministic(true)) // texts are always encoded
		previous = string(text)
	}
	return NewStatement(SQLInsertStep, submissionID, step.At.UnixMilli(), step.Username, previous)
}

// LoadHistory are the statements that store the history of a record.
func LoadHistory(r *store.Record) (statements []Statement) {
	for _, step := range r.History {
		statements = append(statements, insertStep(r.ID, step))
	}
	return statements
}

// History implements store.Store.
func (c Common) History(ctx context.Context, submissionID int64) (steps []store.Step, err error) {
	return ReadHistory(ctx, c.Database, submissionID)
}

// ReadHistory reads the steps of a submission.
func ReadHistory(ctx context.Context, db Querier, submissionID int64) (steps []store.Step, err error) {
	var decodeErr error
	err = db.Query(ctx, func(next Next) {
		steps, decodeErr = nil, nil
		var at int64
		var previous []byte
		for step := (store.Step{}); decodeErr == nil && next(&at, &step.Username, &previous); {
			step.At, step.Before = time.UnixMilli(at).UTC(), nil
			decodeErr = json.Unmarshal(previous, &step.Before)
			steps = append(steps, step)
		}
	}, SQLHistory, submissionID)
	if err == nil {
		err = decodeErr
	}
	return steps, Wrap(err, "read the history of submission %d", submissionID)
}

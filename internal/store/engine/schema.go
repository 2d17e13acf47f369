// Package engine holds what both storage engines share: the queue that batches
// writes, the reader of lists, files in chunks, schema versions, and the
// whole of sessions, settings and events.
package engine

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Migrations are the SQL texts that make a schema. The version of a schema is
// how many of them were applied.
type Migrations []string

// ReadMigrations reads the files in the folder migrations, in the order of their
// names. The files are part of the program: there are no errors.
func ReadMigrations(files fs.FS) (all Migrations) {
	names, _ := fs.Glob(files, "migrations/*.sql")
	for _, name := range names {
		text, _ := fs.ReadFile(files, name)
		all = append(all, string(text))
	}
	return all
}

// Require refuses a database that does not have the schema of this program. It
// is for those that are only read, and so not migrated.
func (m Migrations) Require(version int) error {
	if version == len(m) {
		return nil
	}
	return fmt.Errorf("it has schema version %d and this formulary needs version %d: use the formulary that made it",
		version, len(m))
}

// CheckSchema refuses a database that lacks a table, column or index. want holds all their
// names, found what the database has. Operators may have added others.
func CheckSchema(want string, found []string) error {
	for _, name := range strings.Fields(want) {
		if !slices.Contains(found, name) {
			return fmt.Errorf("it is damaged: its schema lacks %s: restore a backup", name)
		}
	}
	return nil
}

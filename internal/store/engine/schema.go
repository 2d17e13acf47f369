// Package engine holds what both storage engines share: the queue that batches
// writes, the reader of lists, files in chunks, schema versions, and the
// whole of sessions, settings and events.
package engine

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/store"
)

// Migrations are the SQL texts that make a schema. The first of them makes version
// firstVersion, which is that of 0.1.0, and each of the others the next one.
type Migrations []string

// firstVersion is the lowest version that is known. Those below were never released.
const firstVersion = 9

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

// Version is the version of the schema that all migrations make.
func (m Migrations) Version() int { return firstVersion + len(m) - 1 }

// After returns the migrations that a schema lacks. That of an empty database is version 0.
func (m Migrations) After(version int) []string { return m[max(version-firstVersion+1, 0):] }

// Require refuses a database that does not have the schema of this program. One that
// is migrated may be empty, or older.
func (m Migrations) Require(version int, migrate bool) error {
	advice := "start this version's server on it once, or restore it if it is a backup: that brings it up to date"
	switch {
	case version == m.Version(), migrate && (version == 0 || version >= firstVersion && version < m.Version()):
		return nil
	case version > m.Version():
		advice = "install the newer formulary that has written to it"
	case version < firstVersion:
		advice = "it was made before 0.1.0, and only the build that made it can open it. Begin with a new store"
	}
	return fmt.Errorf("%w %d and this formulary needs version %d: %s",
		store.ErrSchemaVersion, version, m.Version(), advice)
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

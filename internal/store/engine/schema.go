// Package engine holds what both storage engines share: the queue that batches
// writes, the reader of lists, files in chunks, pings and schema versions.
package engine

import (
	"fmt"
	"io/fs"
)

// Migrations are the SQL texts that make a schema. The version of a schema is
// how many of them were applied.
type Migrations []string

// ReadMigrations reads the files in the folder migrations, in the order of their
// names. The files are part of the program: an error is a mistake in it.
func ReadMigrations(files fs.FS) Migrations {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		panic(err)
	}
	all := make(Migrations, len(names))
	for i, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err)
		}
		all[i] = string(text)
	}
	return all
}

// Require refuses a database that does not have the schema of this program. It
// is for those that are only read, and so not migrated.
func (m Migrations) Require(version int) error {
	if version == len(m) {
		return nil
	}
	return fmt.Errorf("it has schema version %d and this formulary needs version %d: use the formulary that made it", version, len(m))
}

// Accept refuses a database that a newer program has migrated.
func (m Migrations) Accept(version int) error {
	if version < len(m) {
		return nil
	}
	return m.Require(version)
}

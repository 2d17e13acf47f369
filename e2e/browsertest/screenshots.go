package browsertest

import (
	"path/filepath"
	"testing"
)

// Shot is a picture to take.
type Shot struct {
	Name    string // of the file, without .png
	Address string
	Options Options
	Window  bool // it shows what the window does, not the whole page
	// Prepare, if any, brings the page into the state of the picture. It may
	// sign in, and go to other addresses.
	Prepare func(p *Page)
}

// Screenshots writes each picture to a directory. It does not call Check: pages
// that are shown may be those of others.
func Screenshots(t *testing.T, dir string, shots []Shot) {
	for _, shot := range shots {
		t.Run(shot.Name, func(t *testing.T) {
			p := Open(t, shot.Address, shot.Options)
			if shot.Prepare != nil {
				shot.Prepare(p)
			}
			p.Screenshot(filepath.Join(dir, shot.Name+".png"), !shot.Window)
		})
	}
}

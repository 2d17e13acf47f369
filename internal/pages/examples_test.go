package pages

import "testing"

// The examples are what newcomers copy: nothing may be wrong with them.
func TestExamplesHaveNoDiagnostics(t *testing.T) {
	files, unreadable, err := Find("../../examples/pages")
	if err != nil || len(unreadable) > 0 || len(files) < 4 {
		t.Fatalf("%d files, %v unreadable: %v", len(files), unreadable, err)
	}
	for _, f := range files {
		page, _, err := Read(f, nil)
		if err != nil || len(page.Diagnostics) > 0 {
			t.Errorf("%s: %v %+v", f, err, page.Diagnostics)
		}
		if page.Meta.Edit == nil || page.Meta.Lang == "" {
			t.Errorf("%s does not say who may edit it, or its language", f)
		}
	}
}

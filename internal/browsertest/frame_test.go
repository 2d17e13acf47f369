package browsertest

import (
	"strings"
	"testing"
)

func TestFrameOfAnotherSite(t *testing.T) {
	site := newSite(t)
	other := strings.Replace(site, "127.0.0.1", "forms.test", 1)
	p := Open(t, strings.Replace(site, "127.0.0.1", "wiki.test", 1)+"/frame?"+other+"/form", Options{Height: 1200})
	frame := p.Frame(other)
	frame.Fill("Name", "Ada")
	frame.In("Tea").Click("radio", "No")
	frame.Click("button", "Send")
	frame.WaitText("Ada, , r, no, ")
	if got := frame.ConsoleErrors(); got != nil {
		t.Error(got)
	}
}

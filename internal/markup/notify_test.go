package markup

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

// An address that gets no mail is a warning where it is written, and the form works.
func TestNoMail(t *testing.T) {
	allowed := func(domains ...string) *Options {
		parsed, err := forms.ParseMailDomains(domains)
		testkit.Must(t, err)
		return &Options{MailDomains: parsed}
	}
	const fields = "\nfields: [{id: x, type: date}]\n"
	markdown := "```form\nform: a\nnotify: [hr@Example.org, x@other.org]" + fields + "```\n"
	submitter := "```form\nform: a\nsubmitterMail: x\nfields: [{id: x, type: textfield, validate: email}]\n```\n"
	for _, tt := range []struct {
		name    string
		options *Options
		format  Format
		src     string
		want    []string
	}{
		{"not asked", nil, Markdown, markdown, nil},
		{"all", allowed("OTHER.org", "example.org"), Markdown, markdown, nil},
		{"one", allowed("example.org"), Markdown, markdown, []string{"3:26 x@other.org gets no mail: its domain is not one of --mail-domains"}},
		{"no domain", allowed(), Markdown, markdown, []string{"3:10 hr@Example.org gets no mail: no domain is allowed", "3:26 x@other.org gets no mail: no domain is allowed"}},
		{"off", &Options{NoMail: true}, Markdown, markdown, []string{
			"3:10 hr@Example.org gets no mail: mail is not set up on this server (--smtp)", "3:26 x@other.org gets no mail: mail is not set up on this server (--smtp)",
		}},
		{"submitters", allowed("example.org"), Markdown, submitter, nil},
		{"submitters, no domain", allowed(), Markdown, submitter, []string{"3:16 whoever submits gets no mail: no domain is allowed"}},
		{"submitters, off", &Options{NoMail: true}, Markdown, submitter, []string{"3:16 whoever submits gets no mail: mail is not set up on this server (--smtp)"}},
		{
			"a list", allowed("example.org"), Markdown, "```form\nform: a\nnotify:\n  - a@example.org\n  - \"x@other.org\"\n  - b@sub.example.org" + fields + "```\n",
			[]string{"5:5 x@other.org gets no mail: its domain is not one of --mail-domains", "6:5 b@sub.example.org gets no mail: its domain is not one of --mail-domains"},
		},
		{
			"wikitext", allowed("example.org"), Wikitext, "<pre class=\"form\">\nform: a\nnotify: x@other.org" + fields + "</pre>\n",
			[]string{"3:9 x@other.org gets no mail: its domain is not one of --mail-domains"},
		},
		{
			"macro", allowed("example.org"), Confluence, `<ac:structured-macro ac:name="form"><ac:parameter ac:name="formId">a</ac:parameter>
<ac:parameter ac:name="notify">a@example.org; x@other.org</ac:parameter><ac:rich-text-body><ac:structured-macro ac:name="form-field">
<ac:parameter ac:name="id">x</ac:parameter><ac:parameter ac:name="type">date</ac:parameter></ac:structured-macro></ac:rich-text-body></ac:structured-macro>`,
			[]string{"2:47 x@other.org gets no mail: its domain is not one of --mail-domains"},
		},
	} {
		page := Parse(tt.format, 1, []byte(tt.src), tt.options)
		var got []string
		for _, d := range page.Diagnostics {
			if d.Severity != Warning || d.Hint == "" {
				t.Errorf("%s: %+v", tt.name, d)
			}
			got = append(got, fmt.Sprintf("%d:%d %s", d.Line, d.Column, d.Message))
		}
		if strings.Join(got, "\n") != strings.Join(tt.want, "\n") || len(page.Blocks) != 1 || page.Blocks[0].Form == nil {
			t.Errorf("%s: %q, want %q; %+v", tt.name, got, tt.want, page.Blocks)
		}
	}
}

// Times without a zone are in that of the server, which messages name.
func TestTimesInTheZoneOfTheServer(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	testkit.Must(t, err)
	for text, want := range map[string]string{
		"2026-11-20 18:00": "2026-11-20T17:00:00Z", "2026-11-20T18:00": "2026-11-20T17:00:00Z",
		"2026-07-20 18:00:30": "2026-07-20T16:00:30Z", "2026-07-20T18:00:30": "2026-07-20T16:00:30Z",
		"2026-11-20 18:00:00+02:00": "2026-11-20T16:00:00Z", "2026-11-20": "2026-11-20",
		"20.11.2026 18:00": `closes "20.11.2026 18:00" is neither a day nor a time ` +
			"(write a day such as 2026-03-31, or a time in the zone Europe/Berlin such as 2026-03-31 18:00)",
	} {
		src := "form: a\ncloses: " + text + "\nfields: [{id: x, type: date}]\n"
		block, problems := ParseForm(1, "", []byte(src), &Options{Zone: berlin})
		got := ""
		if block.Form != nil {
			got = dumpMoment(block.Form.Closes)
		}
		for _, p := range problems {
			got += p.Message + " (" + p.Hint + ")"
		}
		testkit.Same(t, text, got, want)
	}
}

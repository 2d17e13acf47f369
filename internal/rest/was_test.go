package rest

import (
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

const beforeRename = "---\ntitle: Retro\nedit: [alice]\n---\n```yaml form\n" + `form: retro
fields:
  - {id: comment, type: textbox}
  - {id: mood, type: radio, options: [fine, bad]}
  - {id: papers, type: file}
` + "```\n"

var afterRename = strings.NewReplacer(
	"id: comment", "id: remarks, was: comment", "[fine, bad]", "[{value: good, was: fine}, bad]", "id: papers", "id: files, was: papers",
).Replace(beforeRename)

// TestRename: package forms maps stored answers to what the page calls them now, and old
// names that come in. This is where they come in and go out.
func TestRename(t *testing.T) {
	e := newEnv(t, map[string]string{"1.md": beforeRename})
	retro := form(1, "retro")
	created := e.expect(t, 201, uploadOf(retro+"/submission",
		textPart("comment", "Long"), textPart("mood", "fine"), filePart("papers", "a.txt", "text")))
	path := created.header.Get("Location")
	e.expect(t, 200, ask("alice PUT", result(path), `{"comment":"Longer"}`))
	e.expect(t, 201, ask("bob POST", retro+"/submission", nestedBody("comment", "Short", "mood", "bad")).
		with(jsonWith("Idempotency-Key", "k1")))
	old := e.tag(t, "alice", path)
	e.Write(t, "1.md", afterRename)
	if e.tag(t, "alice", path) == old {
		t.Error("the tag does not cover the rename")
	}
	for _, row := range testkit.Rows(strings.NewReplacer("RESULT", result(path), "PATH", path, "RETRO", retro).Replace(`
		GET | PATH | | 200 | "remarks":{"id":8193,"fieldId":"remarks","value":"Longer"},"mood":{"id":8194,"fieldId":"mood","value":"good"}
		GET | RESULT | | 200 | "remarks":"Longer","mood":"good","files":"a.txt"
		GET | RETRO/submission | | 200 | "fieldId":"remarks","value":"Short"
		GET | RETRO/result?filter[mood]=good | | 200 | "remarks":"Longer"
		GET | RETRO/result?filter[mood]=fine&sort=comment&limit=9 | | 200 | "remarks":"Longer"
		GET | RETRO/result?filter[comment]=Short | | 200 | "remarks":"Short"
		GET | RETRO/result?format=csv | | 200 | remarks,mood,files
		GET | RETRO/summary?by=mood | | 200 | "value":"good","count":1
		GET | PATH/file/files/a.txt | | 200 | text
		GET | PATH/file/papers/a.txt | | 200 | text
		GET | PATH/history | | 200 | [{"fieldId":"remarks","before":"Long","after":"Longer"}]
		PUT | RESULT | {"comment":"Again","mood":"fine"} | 200 | "remarks":"Again","mood":"good"
		PUT | RESULT | {"comment":"a","remarks":"b"} | 400 | "comment":"is another id of the field
		POST | RETRO/submission | {"fields":{"comment":{"fieldId":"comment","value":"New"}}} | 201 | "remarks":{"id":24577,"fieldId":"remarks","value":"New"}
	`)) {
		e.expectText(t, row[3], ask("alice "+row[0], row[1], row[2]), row[4])
	}
	e.expectText(t, "201", uploadOf(retro+"/submission", textPart("mood", "fine")), `"value":"good"`)
	again := uploadOf(path, filePart("papers", "b.txt", "other"))
	e.expectText(t, "200", again, `"fieldId":"files","value":"b.txt"`)
	// The same answers under new names are a repeat of those under old ones.
	key := jsonWith("Idempotency-Key", "k2")
	for _, body := range []string{nestedBody("comment", "One", "mood", "fine"), nestedBody("remarks", "One", "mood", "good")} {
		e.expectText(t, "201", ask("bob POST", retro+"/submission", body).with(key), `"pageId":1,"id":5,`)
	}
	// So is what was sent before the page was changed.
	e.expectText(t, "201", ask("bob POST", retro+"/submission", nestedBody("comment", "Short", "mood", "bad")).
		with(jsonWith("Idempotency-Key", "k1")), `"pageId":1,"id":2,`)
	e.Write(t, "1.md", beforeRename) // what nobody has written since is stored as it was
	e.expectText(t, "200", ask("alice GET", retro+"/result?filter[mood]=bad"), `"comment":"Short"`)
}

// TestRulesOfRenamedValues: rules hold for stored values by their present names, also where a rule has an earlier one.
func TestRulesOfRenamedValues(t *testing.T) {
	const before = "---\ntitle: Leave\nedit: [alice]\n---\n```yaml form\n" + `form: leave
withdraw: true
lockIf: {field: state, equals: [granted, refused]}
fields:
  - {id: state, type: status, options: [asked, granted, refused], by: editors}
  - {id: days, type: checkbox, options: [mo, tu, we]}
  - {id: why, type: textfield, showIf: {field: days, equals: "we;mo"}}
` + "```\n"
	e := newEnv(t, map[string]string{"1.md": before})
	leave := form(1, "leave")
	path, _ := e.create(t, "bob", leave, nestedBody("days", "mo;we", "why", "Rest"))
	e.expect(t, 200, ask("alice PUT", result(path), `{"state":"granted"}`))
	e.Write(t, "1.md", strings.NewReplacer("asked, granted,", "asked, {value: approved, was: granted},",
		"options: [mo,", "options: [{value: monday, was: mo},").Replace(before))
	e.expectText(t, "403", ask("bob DELETE", result(path), ""), "Only editors can change it now.")
	for _, filter := range []string{"we%3Bmonday", "mo%3Bwe"} {
		e.expectText(t, "200", ask("bob GET", leave+"/result?filter[days]="+filter), `"days":"monday;we","why":"Rest"`)
	}
	e.expectText(t, "200", ask("bob GET", leave), `"value":"we;monday"`)
	e.expectText(t, "200", ask("alice PUT", result(path), `{"state":"asked","why":"Other"}`), `"why":"Other"`)
	e.expect(t, 204, ask("bob DELETE", result(path), ""))
}

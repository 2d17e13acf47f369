package rest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/request"
)

// drawnRequest is a random request. Where it names a submission, "{id}" stands
// for an id that may not be the same in both stores, and "{tag}" for the tag
// that the submission has, or had.
type drawnRequest struct {
	testRequest
	form string
	id   idPair
	tag  tagPair
}

func (r drawnRequest) forA() testRequest { return r.with(r.id.a, r.tag.a) }
func (r drawnRequest) forB() testRequest { return r.with(r.id.b, r.tag.b) }

func (r drawnRequest) with(id int64, tag string) testRequest {
	req := r.testRequest
	req.path = strings.ReplaceAll(req.path, "{id}", strconv.FormatInt(id, 10))
	req.header = req.header.Clone()
	for _, name := range []string{"If-Match", "If-None-Match"} {
		for i := range req.header[name] {
			req.header[name][i] = strings.ReplaceAll(req.header[name][i], "{tag}", tag)
		}
	}
	return req
}

// generator draws requests. What it knows of the stores it was told.
type generator struct {
	*rand.Rand
	live, dead []known
	tags       map[idPair]tagPair // maybe of former states
}

// known is a submission that is there, or was.
type known struct {
	form string
	id   idPair
}

func (g *generator) created(form string, id idPair) { g.live = append(g.live, known{form, id}) }

// tagged takes note of most tags: the others make those that are known former
// ones.
func (g *generator) tagged(id idPair, tag tagPair) {
	if g.tags == nil {
		g.tags = map[idPair]tagPair{}
	}
	if _, known := g.tags[id]; !known || g.chance(60) {
		g.tags[id] = tag
	}
}

func (g *generator) deleted(id idPair) {
	if i := slices.IndexFunc(g.live, func(k known) bool { return k.id == id }); i >= 0 {
		g.dead = append(g.dead, g.live[i])
		g.live = slices.Delete(g.live, i, i+1)
	}
}

// chance is true so many times in a hundred.
func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func pickOne[T any](g *generator, from []T) T { return from[g.IntN(len(from))] }

// plenty is how many submissions are enough: with more of them, lists take all
// the time there is.
const plenty = 50

// next draws a request.
func (g *generator) next() drawnRequest {
	r := drawnRequest{form: pickOne(g, realForms)}
	if g.chance(5) {
		r.form = pickOne(g, unknownForms)
	}
	r.user = pickOne(g, []string{"alice", "alice", "bob", "bob", "carol", "carol", "dave"})
	if g.chance(2) {
		r.user = pickOne(g, []string{"", "mallory"})
	}
	switch n := g.IntN(100); {
	case n < 30:
		g.create(&r)
	case n < 45:
		g.update(&r)
	case n < 53:
		g.list(&r)
	case n < 60:
		g.filteredList(&r)
	case n < 75:
		g.read(&r)
	case n < 90 && len(g.live) > plenty, n < 80:
		g.remove(&r)
	case n < 95:
		g.readForm(&r)
	default:
		g.wrongMethod(&r)
	}
	return r
}

func (g *generator) create(r *drawnRequest) {
	r.method, r.path, r.body = http.MethodPost, r.form+"/submission", g.nestedBody(r.form)
	g.spoil(r)
	g.validate(r)
	g.key(r)
}

func (g *generator) update(r *drawnRequest) {
	at := g.submission(r)
	if g.chance(50) {
		r.method, r.path, r.body = http.MethodPost, r.form+"/submission/"+at, g.nestedBody(r.form)
	} else {
		r.method, r.path, r.body = http.MethodPut, r.form+"/result/"+at, g.flatBody(r.form)
	}
	g.spoil(r)
	g.validate(r)
	g.conditions(r)
}

func (g *generator) read(r *drawnRequest) {
	at := g.submission(r)
	r.method, r.path = g.getOrHead(), r.form+g.listName()+"/"+at
	g.conditions(r)
}

func (g *generator) remove(r *drawnRequest) {
	at := g.submission(r)
	r.method, r.path = http.MethodDelete, r.form+"/result/"+at
	if len(g.live) > plenty { // by who may
		r.user = "carol"
		if r.form == staffPath {
			r.user = "alice"
		}
	}
	g.conditions(r)
}

// conditions draws entity tags for some requests.
func (g *generator) conditions(r *drawnRequest) {
	r.tag = g.tags[r.id]
	for _, name := range []string{"If-Match", "If-None-Match"} {
		if !g.chance(15) {
			continue
		}
		g.setHeader(r, name, pickOne(g, []string{
			"{tag}", "{tag}", "{tag}", "W/{tag}", "*", `"x"`, `"x", {tag}`, ` , {tag},,W/"y"`, "", "x", `{tag}, *`, `"`,
		}))
	}
}

// setHeader adds a field to the header that a request has by default.
func (g *generator) setHeader(r *drawnRequest, name, value string) {
	if r.header == nil {
		r.header = http.Header{}
		if r.body != "" {
			r.header.Set("Content-Type", "application/json")
		}
	}
	r.header.Add(name, value)
}

// validate has some writes store nothing, or be refused.
func (g *generator) validate(r *drawnRequest) {
	if g.chance(10) {
		r.path += pickOne(g, []string{"?validate=only", "?validate=only", "?validate=only", "?x=y", "?validate=", "?validate=only&validate=only", "?%zz"})
	}
}

// key draws an idempotency key for some creates. Now and then the body is one
// that was sent before.
func (g *generator) key(r *drawnRequest) {
	if !g.chance(30) {
		return
	}
	if g.chance(60) {
		r.body = repeatable[r.form]
	}
	g.setHeader(r, "Idempotency-Key", pickOne(g, []string{"a", "a", "b", "b", `"c"`, "d!~", "", "two words", strings.Repeat("k", 255), strings.Repeat("k", 256)}))
	if g.chance(3) {
		g.setHeader(r, "Idempotency-Key", "a")
	}
}

// repeatable are bodies that stand for one submission to a form.
var repeatable = map[string]string{
	allPath: nestedBody("name", "the same"), ballotPath: nestedBody("vote", "yes"), oncePath: nestedBody("text", "the same"),
	staffPath: nestedBody("text", "the same"), openPath: nestedBody("text", "the same"), pollPath: nestedBody("text", "the same"),
}

func (g *generator) readForm(r *drawnRequest) {
	r.method, r.path = g.getOrHead(), r.form
	if g.chance(30) {
		r.path = r.form[:strings.LastIndex(r.form, "/")]
	}
}

func (g *generator) wrongMethod(r *drawnRequest) {
	at := g.submission(r)
	r.method = pickOne(g, []string{"PATCH", "PUT", "DELETE", "POST", "OPTIONS", "get"})
	r.path = r.form + pickOne(g, []string{"", "/submission", "/result", "/submission/" + at, "/result/" + at, "/other", "/submission/" + at + "/"})
}

func (g *generator) list(r *drawnRequest) {
	var query []string
	for _, parameter := range []struct {
		name   string
		values []string
	}{
		{"limit", []string{"1", "2", "7", "1000", "1000000", "1000001", "0", "-1", "", "x"}},
		{"after", []string{"{id}", "{id}", "{id}", "{id}", "0", "9223372036854775807", "9223372036854775808", "01", ""}},
		{"order", []string{"asc", "desc", "desc", "DESC", ""}},
		{"username", []string{"alice", "bob", "carol", "Alice", "ali", "", "%00", "%ff", "%25", "a%27b", "%E5%90%8D"}},
		{"format", []string{"json", "ndjson", "ndjson", "csv", "csv", "xlsx", "NDJSON", ""}},
		{"labels", []string{"true", "true", "false", "", "1"}},
		{"bom", []string{"true", "true", "false", "TRUE"}},
		{"guard", []string{"true", "false", "false", "no"}},
		{"other", []string{"", "%zz", "1;2"}},
	} {
		if g.chance(30) {
			query = append(query, parameter.name+"="+pickOne(g, parameter.values))
		}
	}
	if k, ok := g.any(); ok {
		r.id = k.id
	}
	if g.chance(30) {
		r.header = http.Header{"Accept": {pickOne(g, []string{"application/x-ndjson", "*/*", "text/html", "text/csv, application/json;q=0.1", encode.XLSX.MediaType, ";;q=,"})}}
	}
	r.method, r.path = g.getOrHead(), r.form+g.listName()
	if len(query) > 0 {
		r.path += "?" + strings.Join(query, "&")
	}
}

// filteredList draws parameters that select, sort and count. There is no cursor
// that is the same in both stores.
func (g *generator) filteredList(r *drawnRequest) {
	ids := append(fieldsOf(r.form), "_username", "_timestamp")
	operators := []string{"", "[equals]", "[not-equals]", "[one-of]", "[contains]", "[empty]", "[not-empty]", "[greater-than]", "[less-than]"}
	values := []string{"", "a", "L", "yes", "alice", "1", "-2", "2024-01-01", "1763164800123", "a%3Bb%3BL", "%F0%9F%99%82", "%22"}
	if g.chance(10) {
		ids, operators, values = append(ids, "nope"), append(operators, "[like]", "["), append(values, "%00", "%FF")
	}
	query := []string{"count=true"}
	for g.chance(50) {
		operator, value := pickOne(g, operators), pickOne(g, values)
		if strings.HasSuffix(operator, "empty]") {
			value = "true"
		}
		query = append(query, "filter["+pickOne(g, ids)+"]"+operator+"="+value)
	}
	if k, ok := g.any(); ok && g.chance(20) {
		r.id = k.id
		query = append(query, "filter[_id]"+pickOne(g, []string{"", "[not-equals]", "[greater-than]", "[less-than]"})+"={id}")
	}
	if g.chance(20) {
		query = append(query, "q="+pickOne(g, []string{"", "AN", "say", "%C3%89", "x%3By"}))
	}
	if g.chance(20) {
		query = append(query, "username="+r.user)
	}
	if g.chance(40) {
		query = append(query, "limit="+pickOne(g, []string{"2", "1000"}), "sort="+pickOne(g, []string{"", "-"})+pickOne(g, append(ids, "_id")))
	}
	r.method, r.path = g.getOrHead(), r.form+pickOne(g, []string{"/submission", "/result", "/summary"})+"?"+strings.Join(query, "&")
}

func (g *generator) getOrHead() string {
	if g.chance(15) {
		return http.MethodHead
	}
	return http.MethodGet
}

func (g *generator) listName() string { return pickOne(g, []string{"/submission", "/result"}) }

// any is a submission that is there, or now and then one that was.
func (g *generator) any() (k known, ok bool) {
	from := g.live
	if len(from) == 0 || (len(g.dead) > 0 && g.chance(10)) {
		from = g.dead
	}
	if len(from) == 0 {
		return known{}, false
	}
	return pickOne(g, from), true
}

// submission names one in the path, most often under the form that it is of.
func (g *generator) submission(r *drawnRequest) string {
	k, ok := g.any()
	if !ok || g.chance(6) {
		return pickOne(g, []string{"0", "007", "-1", "abc", "9007199254740991", "9223372036854775807", "9223372036854775808", "1%20"})
	}
	r.id = k.id
	if g.chance(90) {
		r.form = k.form
	}
	return "{id}"
}

var (
	realForms = []string{allPath, allPath, allPath, form(1, "zeta"), staffPath, ballotPath, oncePath, openPath, pollPath}

	unknownForms = []string{
		form(1, "nope"), form(1, "ALL"), form(1, "%00"), form(2, "all"), form(3, "all"), form(99, "all"), Prefix + "/page/01/form/all",
	}
)

// good is what a field takes, by its id. Fields of any text have none.
var good = map[string][]string{
	"size": {"S", "M", "L", "L"}, "colour": {"red", "green"}, "day": {"2024-02-29", "1999-12-31"}, "state": {"open", "done"},
	"count": {"1", "-2.50", "00"}, "word": {"Wort", "名字", "é"}, "mail": {"a@b.c"}, "vote": {"yes", "no"}, "doc": {"report.pdf"},
}

// texts are what may be hard to keep as it is, and what must not be kept.
var texts = []string{
	"Ann", "", " ", "x;y", `say "hi" \ bye`, "\x01\x1f\x7f", "e\u0301 is not é", "名字", "🙂", "\u2028\u2029", "<b>&amp;</b>", "\ufffd", "\ufeff",
	"null", "'; DROP TABLE submissions; --", "$1 %s {id}", "a\tb\r\nc", `\u0000`, `{"id":7,"fieldId":"x"}`, "L", "2023-02-29", strings.Repeat("long ", 700),
}

// fieldsOf are the fields of a form, as far as a client needs to know.
func fieldsOf(form string) []string {
	switch form {
	case allPath:
		return []string{"name", "note", "size", "colour", "extras", "day", "state", "doc", "count", "word", "mail", "why"}
	case ballotPath:
		return []string{"vote"}
	case oncePath, staffPath, openPath, pollPath:
		return []string{"text"}
	default:
		return []string{"one"}
	}
}

// answers draws what is sent for some fields of a form: pairs of an id and a
// value in JSON. Most often it is right.
func (g *generator) answers(form string) (pairs [][2]string) {
	careful := g.chance(75)
	for i, field := range fieldsOf(form) {
		if i > 0 && g.chance(60) {
			continue
		}
		pairs = append(pairs, [2]string{field, g.value(field, careful)})
	}
	if !careful && g.chance(15) {
		pairs = append(pairs, [2]string{pickOne(g, []string{"nope", "_id", "id", "Name", ""}), `"x"`})
	}
	g.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	return pairs
}

func (g *generator) value(field string, careful bool) string {
	quoted := func(s string) string { return string(appendString(nil, s)) }
	switch {
	case !careful && g.chance(5):
		return pickOne(g, []string{"null", "1", "true", "{}", "[]", `["a","a"]`, `["x;y"]`, `"\u0000"`, `"\ud800"`, "\"\xff\"", `"\ud83d\ude42"`})
	case field == "extras":
		return pickOne(g, []string{`["a","c"]`, `["b"]`, `"a;b"`, `"c"`, `[]`, `""`, `["d"]`})
	case careful && good[field] != nil:
		return quoted(pickOne(g, good[field]))
	case careful:
		return quoted(pickOne(g, texts) + "!")
	default:
		return quoted(pickOne(g, texts))
	}
}

func (g *generator) nestedBody(form string) string {
	members := []string{}
	for _, a := range g.answers(form) {
		id := string(appendString(nil, a[0]))
		members = append(members, fmt.Sprintf(`%s:{"fieldId":%s,"value":%s}`, id, id, a[1]))
	}
	return `{"fields":{` + strings.Join(members, ",") + `}}`
}

func (g *generator) flatBody(form string) string {
	members := []string{}
	for _, a := range g.answers(form) {
		members = append(members, string(appendString(nil, a[0]))+":"+a[1])
	}
	return "{" + strings.Join(members, ",") + "}"
}

// spoil breaks some requests for good.
func (g *generator) spoil(r *drawnRequest) {
	switch n := g.IntN(100); {
	case n < 3:
		r.body = pickOne(g, []string{
			"", "{", "[]", "null", `{"fields":null}`, `{"fields":[]}`, `{"fields":{"name":"x"}}`, `{"Fields":{}}`, `{"fields":{}}{}`, "\xff", "{}",
			`{"fields":{"name":{"fieldId":"note","value":"x"}}}`, `{"name":"a","name":"b"}`, strings.Repeat("[", 20_000),
		})
	case n < 5:
		r.body = r.body[:g.IntN(len(r.body))]
	case n < 7:
		r.header = http.Header{"Content-Type": {pickOne(g, []string{"text/plain", "application/json; charset=latin1", "application/jsonx", ""})}}
	case n < 8:
		r.header = http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}
	case n < 9:
		r.body += strings.Repeat(" ", request.DefaultMaxBody)
	}
}

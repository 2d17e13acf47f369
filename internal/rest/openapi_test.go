package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/testsite"
)

func TestDocumentIsValid(t *testing.T) {
	doc := loadDocument(t)
	testkit.Same(t, "openapi", doc.OpenAPI, "3.1.0")
	err := doc.Validate(t.Context(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaDefaultsValidation(),
		openapi3.EnableSchemaFormatValidation(), openapi3.EnableSchemaPatternValidation())
	if err != nil {
		t.Error(err)
	}
	if len(doc.Servers) != 1 || doc.Servers[0].URL != Prefix {
		t.Errorf("servers: %v, want %s", doc.Servers, Prefix)
	}
	if len(doc.Security) != 1 || doc.Security[0]["basic"] == nil {
		t.Errorf("security: %v", doc.Security)
	}
}

func TestDocumentAndRoutesAreTheSame(t *testing.T) {
	var routed, documented []string
	for _, e := range endpoints {
		routed = append(routed, e.method+" "+e.path)
	}
	for path, item := range loadDocument(t).Paths.Map() {
		for method := range item.Operations() {
			documented = append(documented, method+" "+path)
		}
	}
	sort.Strings(routed)
	sort.Strings(documented)
	testkit.Diff(t, "routed (-), documented (+", documented, routed)
}

// Every operation documents what can happen to any request.
func TestDocumentNamesWhatCanHappenToAnyRequest(t *testing.T) {
	for path, item := range loadDocument(t).Paths.Map() {
		for method, op := range item.Operations() {
			want := []string{"401", "404", "405", "429", "500", "503"}
			if method != http.MethodGet {
				want = append(want, "403", "507")
			}
			if op.RequestBody != nil {
				want = append(want, "400", "408", "413", "415")
			}
			for _, status := range want {
				if op.Responses.Value(status) == nil {
					t.Errorf("%s %s: %s is not documented", method, path, status)
				}
			}
		}
	}
}

// operation is one of the document's, ready to be sent.
type operation struct {
	*openapi3.Operation
	method, path string
}

// documented returns the operations with the examples of their path
// parameters filled in: first what creates, last what deletes.
func documented(t *testing.T) []operation {
	t.Helper()
	var all []operation
	for path, item := range loadDocument(t).Paths.Map() {
		for _, p := range item.Parameters {
			path = strings.ReplaceAll(path, "{"+p.Value.Name+"}", fmt.Sprint(p.Value.Example))
		}
		for method, op := range item.Operations() {
			all = append(all, operation{op, method, Prefix + path})
		}
	}
	rank := func(o operation) int {
		return slices.Index([]string{"createSubmission", "updateSubmission", "updateResult", "", "deleteResult"}, o.OperationID)
	}
	sort.Slice(all, func(i, j int) bool { return rank(all[i]) < rank(all[j]) }) // reads are -1: after the first create
	first := slices.IndexFunc(all, func(o operation) bool { return o.OperationID == "createSubmission" })
	all[0], all[first] = all[first], all[0]
	return all
}

// Whoever copies an example from the document gets what it promises.
func TestExamplesOfRequestsSucceed(t *testing.T) {
	e := newExamplesEnv(t)
	sent := 0
	for _, op := range documented(t) {
		if op.OperationID == "getFile" { // the submission of the examples has no file; see TestDownload
			sent++
			continue
		}
		bodies := []string{""}
		if op.RequestBody != nil {
			examples := op.RequestBody.Value.Content["application/json"].Examples
			if len(examples) == 0 {
				t.Errorf("%s has no example of a body", op.OperationID)
			}
			bodies = nil
			for _, ex := range examples {
				body, err := json.Marshal(ex.Value.Value)
				testkit.Must(t, err)
				bodies = append(bodies, string(body))
			}
		}
		for _, body := range bodies {
			if a := e.do(t, ask("alice "+op.method, op.path, body)); a.status >= 300 {
				t.Errorf("%s %s %s: %d %s", op.method, op.path, body, a.status, a.body)
			}
			sent++
		}
	}
	if sent < len(endpoints) {
		t.Errorf("only %d requests were sent", sent)
	}
}

func TestExamplesOfResponsesFollowTheirSchemas(t *testing.T) {
	checked := 0
	for _, op := range documented(t) {
		for status, response := range op.Responses.Map() {
			for _, media := range response.Value.Content {
				for name, example := range media.Examples {
					err := media.Schema.Value.VisitJSON(plain(t, example.Value.Value), openapi3.EnableJSONSchema2020(), openapi3.VisitAsResponse())
					if err != nil {
						t.Errorf("%s, %s, example %s: %v", op.OperationID, status, name, err)
					}
					checked++
				}
			}
		}
	}
	if checked == 0 {
		t.Error("there are no examples")
	}
}

// plain takes a value through JSON, as a client would see it.
func plain(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	testkit.Must(t, err)
	return decoded(t, string(text))
}

// The examples of forms, submissions and results are the real ones of the page
// that the examples of the path parameters name.
func TestExamplesAreWhatTheExamplePagesAnswer(t *testing.T) {
	e := newExamplesEnv(t)
	e.Clock.Set(testsite.Began.Truncate(time.Second)) // the example shows a full second
	examples := loadDocument(t).Components.Examples
	path, _ := e.create(t, "alice", form(101, "feedback"), nestedBody("comment", "Nice!", "rating", "5"))
	for name, path := range map[string]string{
		"Form": form(101, "feedback"), "Submission": path, "Result": result(path), "Summary": form(101, "feedback") + "/summary",
	} {
		testkit.Diff(t, name, plain(t, examples[name].Value.Value), decoded(t, e.get(t, "alice", path)))
	}
}

package rest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"html"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/testsite"
	"github.com/formulary/formulary/internal/wiki"
	"github.com/formulary/formulary/internal/wiki/mediawikitest"
	"github.com/formulary/formulary/internal/wiki/wikitest"
)

// onMediaWiki are the tests that run a second time with pages and users of a real
// MediaWiki.
var onMediaWiki = []func(*testing.T){
	TestWhoMayDoWhat, TestAnonymousSubmissionsCarryNoName,
	TestUserIsNotedForTheAccessLog, TestNobodyIsNotedWhereNoFormIsFound, TestAnonymousFormIsNotedForTheAccessLog,
	TestLogNeverNamesWhoSendsToAnAnonymousForm, TestRefusalByALimitIsNotedWithoutAName,
	TestBadBodiesOfTheNestedModel, TestBadBodiesOfTheFlatModel, TestBodyThatDoesNotArriveInFull, TestBodyThatDoesNotArriveInTime,
	TestFormBecomesAnonymousWhileTheBodyComesIn, TestBadBodyForAnothersSubmission,
	TestTagIsOnEveryAnswerWithOneSubmission, TestReadsWithConditions, TestWritesWithConditions, TestOfMergesWithOneTagOneSucceeds,
	TestTaggedAnswersAreNeverCompressed, TestDeletesWithConditions,
	TestOtherAnswersAreNoticed, TestWritesOnBehalfOfOtherSitesAreRefused,
	TestFaultsAreLoggedWithTheRequestID, TestRequestThatIsGivenUp, TestListThatFailsBeforeAnythingWasSent,
	TestListThatFailsOnItsWayBreaksOff,
	TestDownload, TestDownloadsNeverRun, TestFilesOfOddFields, TestWhoMayReadFiles,
	TestUpload, TestUploadReplacesAndMergeKeeps, TestMultipartFaults, TestMultipartContentTypes,
	TestUploadWithAWrongLength, TestUploadWhenTheStoreFails, TestFilesAreNotLogged,
	TestRefusedFilters, TestFiltersCoverWhatTheCallerSees, TestPassesAtATimeAreBounded, TestLinkOfAPlainPage, TestPagesOfAFilteredList,
	TestManyFieldsAtFault, TestAsManyFieldsAsAFormCanHave, TestManyValues, TestLongNamesAreNotRepeated,
	TestFormIsExactlyTheGoldenOne, TestFormsStandInPageOrderAndFieldsInRankOrder, TestPageWithoutFormsIsAnEmptyArray,
	TestNDJSONHasTheRowsOfJSON, TestFormatAndAccept, TestUnknownFormats,
	TestRepeatedCreate, TestKeysThatAreRefused, TestRepeatAfterThePageChanged, TestRepeatWhileTheFirstIsDeleted,
	TestListOptions, TestBadListOptions, TestQueryThatIsTooLong, TestCompressionOfWhatCanBeLong,
	TestContentType, TestBodyOverTheLimit, TestBodyLimitIsAMebibyteByDefault, TestBodyOverTheLimitIsNotWaitedFor,
	TestRefusedBodyIsNotWaitedFor, TestRefusedBodyIsReadToItsEnd, TestLargeBodyCountsUntilItIsAnswered, TestLargeAnswersAtATimeAreBounded,
	TestRefusalsOnAnonymousFormsNameNobody,
	TestMalformedIDsAreNotFound, TestUnknownThingsAreNotFound, TestCrookedPathsAreNotFound, TestEscapedPathsAreTheSamePaths,
	TestMethodsThatAPathDoesNotTake, TestHeadWhereverGetIs,
	TestResultIsExactlyTheGoldenOne, TestDeleteIsForGood, TestFieldsThatLeftThePage, TestFormsAndPagesThatLeaveComeBackWithTheirData,
	TestFormWasAnonymousWhenTheRequestBegan, TestRules,
	TestCreateAnswersWithTheWholeSubmission, TestUpdateMerges, TestWhatWasReadCanBeSentBack,
	TestMembersThatAClientMayNotSetAreIgnored, TestMultiValueFields, TestSummary,
	TestTablesHaveFieldsThatHaveLeftThePage, TestParametersOfTables, TestHeadersOfTables, TestXLSXIsNotCompressedTwice,
	TestFaultsInThePassesOfATable,
	TestValidationMessages, TestOneSubmissionEach,
	TestValidateOnlyStoresNothing, TestValidateOnlyKeepsTheLimits, TestOtherValuesOfValidateAreRefused,
}

// Why a test, or a case of one, runs on files alone.
const (
	ofAccounts = "it takes accounts or groups away at once, which a wiki's users keep until they are asked for again: see internal/auth"
	ofThrottle = "its many wrong passwords meet the throttle of wiki users: see e2e"
	ofProxy    = "a proxy names the users"
	ofExamples = "the examples are files"
	ofUsers    = "it needs more accounts"
	ofNoPages  = "it is about documentation, or about one function"
	ofTime     = "to save time: what it is about does not depend on where pages and users come from"
	ofResults  = "'results: viewers' is front matter, which pages of a wiki don't have"
)

var onFilesAlone = map[string]string{
	"TestFailedLoginIsNotedWithItsAddress": ofThrottle, "TestCredentialsComeFirst": ofThrottle, "TestProxyNamesTheCaller": ofProxy,
	"TestBelowABasePath": ofTime, "TestDocsBelowABasePath": ofNoPages, "TestDocumentIsServedToEverybody": ofNoPages,
	"TestDocsHaveNothingBesidesTheirFiles": ofNoPages, "TestDocsLoadFromHereAlone": ofNoPages, "TestParseTags": ofNoPages,
	"TestDocumentIsValid": ofNoPages, "TestDocumentAndRoutesAreTheSame": ofNoPages, "TestDocumentNamesWhatCanHappenToAnyRequest": ofNoPages,
	"TestExamplesOfResponsesFollowTheirSchemas": ofNoPages, "TestExamplesOfRequestsSucceed": ofExamples,
	"TestExamplesAreWhatTheExamplePagesAnswer": ofExamples, "TestFormListsAcceptedFileTypes": ofExamples, "TestFormKeepsTheMacroIDsOfItsHost": ofExamples,
	"TestListsAtATimeAreBounded": ofUsers, "TestLargeBodiesAtATimeAreBounded": ofUsers, "TestUploadsAtATimeAreBounded": ofUsers,
	"TestPassesEndWhenAccessIsRevoked": ofAccounts, "TestRightsChangeWhileTheBodyComesIn": ofAccounts, "TestListIsBrokenOffWhenAccessIsRevoked": ofAccounts,
	"TestDownloadIsBrokenOffWhenAccessIsRevoked": ofAccounts, "TestAccessIsRevokedBeforeAListBegins": ofAccounts, "TestAccessIsRevokedDuringATable": ofAccounts,
	"TestFormChangesDuringAnUpload": ofAccounts, "TestFaultsOfTheStore": ofTime, "TestLongReadsAreWork": ofTime,
	// Cases.
	"a page that shows its results": ofResults, "a former tag, by one who may not": ofResults, "a malformed tag, by one who may not": ofResults,
	"a former tag and no JSON, by one who may not": ofResults, "merge another's": ofResults,
}

// runs reports whether a case of a test can be had on these pages.
func (e *env) runs(name string) bool { return e.wiki == nil || onFilesAlone[name] == "" }

// theWiki is that of all tests that run on MediaWiki, nil while tests run on files.
var theWiki *wikiSite

func TestOnMediaWiki(t *testing.T) {
	theWiki = newWikiSite(t)
	defer func() { theWiki = nil }()
	for _, test := range onMediaWiki {
		t.Run(strings.TrimPrefix(nameOf(test), "Test"), test)
	}
}

func nameOf(test func(*testing.T)) string {
	name := runtime.FuncForPC(reflect.ValueOf(test).Pointer()).Name()
	return name[strings.LastIndex(name, ".")+1:]
}

// Every test runs on MediaWiki, or there is a reason why not.
func TestEveryTestRunsOnMediaWikiOrSaysWhyNot(t *testing.T) {
	listed := map[string]bool{"TestOnMediaWiki": true, "TestEveryTestRunsOnMediaWikiOrSaysWhyNot": true}
	for _, test := range onMediaWiki {
		listed[nameOf(test)] = true
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			if name := f.Name.Name; listed[name] == (onFilesAlone[name] != "") {
				t.Errorf("%s must be either in onMediaWiki or in onFilesAlone", name)
			}
		}
	}
}

// wikiSite is a MediaWiki with the pages and people of the tests.
type wikiSite struct {
	*mediawikitest.Server
	pages   *pages.Wiki
	people  *auth.Wiki
	written map[string]*writtenPage // by file name
}

// writtenPage is a page of the wiki, with the Markdown that it was written from. That
// is empty after the page was deleted.
type writtenPage struct {
	id   int64
	text string
}

// numbers are how tests call pages. No page of the wiki has such an id.
const numbers = 10

func newWikiSite(t *testing.T) *wikiSite {
	t.Helper()
	w := &wikiSite{Server: mediawikitest.Start(t), written: map[string]*writtenPage{}}
	client, err := wiki.Open(wiki.Options{Address: "mediawiki+" + w.API, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	// The clock does not advance: only Reload has the wiki asked again.
	w.pages = pages.NewWiki(pages.WikiOptions{
		Wiki: wikitest.Patient(client), Format: markup.Wikitext, Recheck: time.Hour, Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return testsite.Began },
	})
	w.people = auth.NewWiki(auth.WikiOptions{Wiki: client, Relogin: time.Hour, Recheck: time.Hour})
	for name := range testsite.Everybody {
		w.SetPassword(account(name), name+"-secret")
	}
	for id, i := int64(0), 0; id < numbers; i++ {
		id = w.Write(fmt.Sprint("Filler ", i), "-")
		w.Delete(id)
	}
	return w
}

// account is a name as MediaWiki writes it.
func account(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// write has a page as a Markdown file says.
func (w *wikiSite) write(t testing.TB, name, text string) {
	t.Helper()
	title := strings.TrimSuffix(name, ".md")
	page := w.written[name]
	switch {
	case page != nil && page.text == text:
		return
	case page == nil:
		page = &writtenPage{id: w.Write(title, wikitext(text))}
		w.written[name] = page
	case page.text == "":
		if id := w.Undelete(title); id != page.id {
			t.Fatalf("%s has the id %d, and had %d", title, id, page.id)
		}
		w.Edit(page.id, wikitext(text))
	default:
		w.Edit(page.id, wikitext(text))
	}
	page.text = text
	meta := markup.Parse(markup.Markdown, page.id, []byte(text), nil).Meta
	w.SetRights(page.id, principals(meta.View), principals(meta.Edit))
	w.pages.Reload(t.Context())
}

func (w *wikiSite) remove(t testing.TB, name string) {
	t.Helper()
	w.Delete(w.written[name].id)
	w.written[name].text = ""
	w.pages.Reload(t.Context())
}

func principals(p *markup.Principals) []string {
	if p == nil {
		return nil
	}
	list := []string{}
	for _, name := range p.Users {
		list = append(list, account(name))
	}
	for _, group := range p.Groups {
		list = append(list, "@"+group)
	}
	return list
}

var fenced = regexp.MustCompile("(?s)```(?:yaml )?form\n(.*?)```")

// wikitext has the forms of a Markdown page.
func wikitext(text string) string {
	var b strings.Builder
	b.WriteString("Some text.\n")
	for _, block := range fenced.FindAllStringSubmatch(text, -1) {
		b.WriteString("<pre class=\"form\">\n" + html.EscapeString(block[1]) + "</pre>\n")
	}
	return b.String()
}

var pageInPath = regexp.MustCompile(`/page/([1-9])(/|\?|$)`)

// path is a path in which tests call a page by the number of its file. In a wiki
// the page has another id.
func (e *env) path(path string) string {
	return pageInPath.ReplaceAllStringFunc(path, func(found string) string {
		id, _ := strconv.ParseInt(found[len("/page/"):len("/page/")+1], 10, 64)
		return fmt.Sprint("/page/", e.page(id), found[len("/page/")+1:])
	})
}

// page is the id of a page that tests call by the number of its file.
func (e *env) page(number int64) int64 {
	if id, ok := e.ids[number]; ok {
		return id
	}
	return number
}

// user is the name that an account has in submissions.
func (e *env) user(name string) string {
	if e.wiki == nil {
		return name
	}
	return account(name)
}

// Write has a page as a file says.
func (e *env) Write(t testing.TB, name, text string) {
	t.Helper()
	if e.wiki == nil {
		e.Site.Write(t, name, text)
		return
	}
	e.wiki.write(t, name, text)
	e.ids[int64(name[0]-'0')] = e.wiki.written[name].id
}

// Remove removes a page.
func (e *env) Remove(t testing.TB, name string) {
	t.Helper()
	if e.wiki == nil {
		e.Site.Remove(t, name)
		return
	}
	e.wiki.remove(t, name)
}

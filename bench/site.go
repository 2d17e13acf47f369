package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// The pages are in the folder pages. One user may do everything there.
const (
	user     = "ann"
	password = "correct horse battery"

	formPath       = "/rest/forms/1.0/page/1/form/survey"
	submissionPath = formPath + "/submission"
	paperPath      = "/rest/forms/1.0/page/2/form/paper/submission"
	limitedPath    = "/rest/forms/1.0/page/3/form/seats/submission"
	optionsPath    = "/rest/forms/1.0/page/4/form/centre"
	resultsPage    = "/page/1/form/survey/results?view=table"
)

// digits are in every comment. Each request overwrites them with a new number, because SQLite skips a write that
// changes nothing. It overwrites each # with a random digit.
const (
	digits  = "1000000000000000"
	comment = "Number " + digits + ": the talks were good, the rooms too small, and lunch came late."

	// fields are what every submission holds, as Formulary takes and returns them.
	fields = `{"comment":{"fieldId":"comment","value":"` + comment + `"},"rating":{"fieldId":"rating","value":"#"},` +
		`"mail":{"fieldId":"mail","value":"ann.example@formulary.example"},"day":{"fieldId":"day","value":"2026-01-31"},` +
		`"topics":{"fieldId":"topics","value":"food;rooms;talks"},"hours":{"fieldId":"hours","value":"1#.##"}}`

	// record is the same as PocketBase takes it, without its owner.
	record = `"comment":"` + comment + `","rating":"#","mail":"ann.example@formulary.example","day":"2026-01-31",` +
		`"topics":["food","rooms","talks"],"hours":1#.##`
)

// createOption stores one of the 1,000 options.
var createOption = postMessage(optionsPath+"/submission", basicAuth(),
	`{"fields":{"comment":{"fieldId":"comment","value":"`+comment+`"},"centre":{"fieldId":"centre","value":"1###"}}}`)

// questions look at all submissions, with the exception of the page.
var questions = map[string]string{
	"list":       submissionPath,
	"filter":     submissionPath + "?limit=50&filter[hours]=99.99",
	"sort":       submissionPath + "?limit=50&sort=hours",
	"search":     submissionPath + "?limit=50&q=breakfast",
	"count":      submissionPath + "?limit=1&filter[rating]=4&count=true",
	"page":       submissionPath + "?limit=50&filter[rating]=4",
	"summary":    formPath + "/summary",
	"summary by": formPath + "/summary?by=rating",
	"options":    optionsPath + "/summary",
	"options by": optionsPath + "/summary?by=centre",
}

// makeUser writes a file of users, with the program's own command.
func makeUser(ctx context.Context, file, binary string) error {
	passwd := exec.CommandContext(ctx, binary, "passwd", file, user) //nolint:gosec // the binary just built
	passwd.Stdin = strings.NewReader(password + "\n")
	if out, err := passwd.CombinedOutput(); err != nil {
		return fmt.Errorf("make user: %w\n%s", err, out)
	}
	hash, err := os.ReadFile(file)
	if err == nil && !strings.Contains(string(hash), "$10$") {
		err = fmt.Errorf("the user's bcrypt hash is not of cost 10: %s", hash)
	}
	return err
}

func basicAuth() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// What is served: the folder pages, which has a form of six fields, one that takes a file and one with 1,000 options, to one user.
const (
	user     = "ann"
	password = "correct horse battery"

	formPath       = "/rest/forms/1.0/page/1/form/survey"
	submissionPath = formPath + "/submission"
	paperPath      = "/rest/forms/1.0/page/2/form/paper/submission"
	limitedPath    = "/rest/forms/1.0/page/3/form/seats/submission"
	centrePath     = "/rest/forms/1.0/page/4/form/centre"
	resultsPage    = "/page/1/form/survey/results?view=table"
)

// digits are in every comment. Each request overwrites them with a number that was not sent
// before, because SQLite skips a write that changes nothing.
const (
	digits  = "1000000000000000"
	comment = "Number " + digits + ": the talks were good, the rooms too small, and lunch came late."

	// fields are what every submission holds, as Formulary takes and returns them.
	fields = `{"comment":{"fieldId":"comment","value":"` + comment + `"},"rating":{"fieldId":"rating","value":"4"},` +
		`"mail":{"fieldId":"mail","value":"ann.example@formulary.example"},"day":{"fieldId":"day","value":"2026-01-31"},` +
		`"topics":{"fieldId":"topics","value":"food;rooms;talks"},"hours":{"fieldId":"hours","value":"37.5"}}`

	// record is the same as PocketBase takes it, without its owner.
	record = `"comment":"` + comment + `","rating":"4","mail":"ann.example@formulary.example","day":"2026-01-31",` +
		`"topics":["food","rooms","talks"],"hours":37.5`
)

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

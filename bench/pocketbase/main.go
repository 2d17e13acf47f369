// Command pocketbase is what Formulary is compared with: PocketBase as its documentation builds it, with
// a collection that holds what a submission holds. The benchmark builds and runs it.
//
//	pocketbase make --data DIR --rows N --comment TEXT
//	pocketbase serve --data DIR --listen ADDRESS [--durable]
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pocketbase:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("say make or serve")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	data := flags.String("data", "", "data directory")
	listen := flags.String("listen", "127.0.0.1:0", "address")
	durable := flags.Bool("durable", false, "sync every commit before it is answered")
	rows := flags.Int("rows", 0, "submissions to store")
	comment := flags.String("comment", "", "their comment")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	config := pocketbase.Config{DefaultDataDir: *data, HideStartBanner: true}
	if *durable {
		config.DBConnect = connectDurably
	}
	app := pocketbase.NewWithConfig(config)
	if args[0] == "make" {
		return makeData(app, *rows, *comment)
	}
	return serve(app, *listen)
}

// connectDurably is core.DefaultDBConnect but for the one setting.
func connectDurably(path string) (*dbx.DB, error) {
	return dbx.Open("sqlite", path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=journal_size_limit(200000000)"+
		"&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)&_pragma=temp_store(MEMORY)&_pragma=cache_size(-32000)")
}

// serve runs PocketBase's own command, which ends on SIGTERM. The benchmark waits for the one route that is added.
func serve(app *pocketbase.PocketBase, listen string) error {
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.Router.GET("/healthz", func(e *core.RequestEvent) error { return e.String(http.StatusOK, "ok\n") })
		return e.Next()
	})
	app.RootCmd.SetArgs([]string{"serve", "--http", listen})
	return app.Start()
}

// makeData makes a data directory with a collection of so many rows and one user, and prints who
// that is.
func makeData(app core.App, rows int, comment string) error {
	if err := app.Bootstrap(); err != nil {
		return err
	}
	if err := app.RunAllMigrations(); err != nil {
		return err
	}
	app.Settings().Logs.MaxDays = 0 // no log of requests
	// Without a superuser the server would open a browser for the first one.
	_, err := makeAccount(app, core.CollectionNameSuperusers, "admin@formulary.example")
	if err := errors.Join(err, app.Save(app.Settings()), app.Save(submissions())); err != nil {
		return err
	}
	user, err := makeAccount(app, "users", "ann@formulary.example")
	if err != nil {
		return err
	}
	if _, err := app.DB().NewQuery(fillRows).Bind(dbx.Params{"rows": rows, "comment": comment, "owner": user.Id}).Execute(); err != nil {
		return err
	}
	token, err := user.NewAuthToken()
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"id": user.Id, "token": token}); err != nil {
		return err
	}
	return app.ResetBootstrapState()
}

// fillRows stores rows with ascending ids of 15 digits.
const fillRows = `WITH RECURSIVE n(i) AS (SELECT 1 WHERE {:rows} > 0 UNION ALL SELECT i + 1 FROM n WHERE i < {:rows})
	INSERT INTO submissions (id, comment, rating, mail, day, topics, hours, owner, created)
	SELECT CAST(100000000000000 + i AS TEXT), {:comment}, CAST(i % 10 AS TEXT), 'ann.example@formulary.example', '2026-01-31 00:00:00.000Z',
		'["food","rooms","talks"]', 10 + (i * 7919 % 1000) / 100.0, {:owner}, '2026-01-31 12:00:00.000Z' FROM n`

func makeAccount(app core.App, collection, mail string) (*core.Record, error) {
	in, err := app.FindCollectionByNameOrId(collection)
	if err != nil {
		return nil, err
	}
	account := core.NewRecord(in)
	account.SetEmail(mail)
	account.SetPassword("correct horse battery")
	return account, app.Save(account)
}

// submissions has the fields of the benchmark's form, with types that check the same, and who has sent
// it when. The owner is a text and no relation, which would be looked up on every write. The only index is that of the id.
func submissions() *core.Collection {
	c := core.NewBaseCollection("submissions")
	c.Fields.Add(
		&core.TextField{Name: "comment", Required: true},
		&core.SelectField{Name: "rating", Values: []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}, MaxSelect: 1},
		&core.EmailField{Name: "mail"},
		&core.DateField{Name: "day"},
		&core.SelectField{Name: "topics", Values: []string{"food", "rooms", "talks", "travel"}, MaxSelect: 4},
		&core.NumberField{Name: "hours"},
		&core.TextField{Name: "owner", Required: true},
		&core.AutodateField{Name: "created", OnCreate: true},
	)
	// Users create in their own name only, and may read all submissions, as on the benchmark's page.
	c.CreateRule = types.Pointer(`@request.auth.id != "" && @request.body.owner = @request.auth.id`)
	c.ListRule = types.Pointer(`@request.auth.id != ""`)
	c.ViewRule = types.Pointer(`@request.auth.id != ""`)
	return c
}

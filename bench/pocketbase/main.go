// Command pocketbase is the peer that Formulary is held against: PocketBase as
// its documentation builds it, with a collection that holds what a submission
// holds. The benchmark builds and runs it.
//
//	pocketbase make --data DIR
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
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	config := pocketbase.Config{DefaultDataDir: *data, HideStartBanner: true}
	if *durable {
		config.DBConnect = connectDurably
	}
	app := pocketbase.NewWithConfig(config)
	switch args[0] {
	case "make":
		return makeData(app)
	case "serve":
		return serve(app, *listen)
	}
	return fmt.Errorf("no command %q", args[0])
}

// connectDurably is core.DefaultDBConnect but for the one setting.
func connectDurably(path string) (*dbx.DB, error) {
	return dbx.Open("sqlite", path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=journal_size_limit(200000000)"+
		"&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)&_pragma=temp_store(MEMORY)&_pragma=cache_size(-32000)")
}

// serve runs PocketBase's own command, which ends on SIGTERM. The one route
// that is added is where the benchmark waits for the first answer.
func serve(app *pocketbase.PocketBase, listen string) error {
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.Router.GET("/healthz", func(e *core.RequestEvent) error { return e.String(http.StatusOK, "ok\n") })
		return e.Next()
	})
	app.RootCmd.SetArgs([]string{"serve", "--http", listen})
	return app.Start()
}

// makeData makes a data directory with an empty collection and one user, and
// prints who that is.
func makeData(app core.App) error {
	if err := app.Bootstrap(); err != nil {
		return err
	}
	if err := app.RunAllMigrations(); err != nil {
		return err
	}
	app.Settings().Logs.MaxDays = 0 // no log of requests
	if err := errors.Join(app.Save(app.Settings()), makeSuperuser(app), app.Save(submissions())); err != nil {
		return err
	}
	user, err := makeAccount(app, "users", "ann@formulary.example")
	if err != nil {
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

// makeSuperuser keeps the server from opening a browser for the first one.
func makeSuperuser(app core.App) error {
	_, err := makeAccount(app, core.CollectionNameSuperusers, "admin@formulary.example")
	return err
}

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

// submissions has the fields of the benchmark's form, of the types that check
// the same, and who has sent it when. Two things make it cheaper than it might
// be: the owner is a text and no relation, which would be looked up on every
// write, and there is no index but that of the id.
func submissions() *core.Collection {
	c := core.NewBaseCollection("submissions")
	c.Fields.Add(
		&core.TextField{Name: "comment", Required: true},
		&core.SelectField{Name: "rating", Values: []string{"1", "2", "3", "4", "5"}, MaxSelect: 1},
		&core.EmailField{Name: "mail"},
		&core.DateField{Name: "day"},
		&core.SelectField{Name: "topics", Values: []string{"food", "rooms", "talks", "travel"}, MaxSelect: 4},
		&core.NumberField{Name: "hours"},
		&core.TextField{Name: "owner", Required: true},
		&core.AutodateField{Name: "created", OnCreate: true},
	)
	// Nobody creates in another's name; whoever has logged in may read all, as
	// on the benchmark's page.
	c.CreateRule = types.Pointer(`@request.auth.id != "" && @request.body.owner = @request.auth.id`)
	c.ListRule = types.Pointer(`@request.auth.id != ""`)
	c.ViewRule = types.Pointer(`@request.auth.id != ""`)
	return c
}

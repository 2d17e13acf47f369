package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os/exec"
	"strconv"
)

const (
	pocketPath = "/api/collections/submissions/records"
	pocketPage = 1000 // rows of a page: it gives no more

	// PocketBase's ids are texts of 15 characters. Those of stored rows are numbers after this one.
	beforePocketIDs = 100_000_000_000_000
)

// pocket is a data directory of PocketBase: the user in it, and the token of that user.
type pocket struct{ ID, Token string }

// pocketProgram is PocketBase.
type pocketProgram struct {
	name    string
	flags   []string
	pockets map[string]pocket // by store
}

var (
	pocketBase        = &pocketProgram{name: "PocketBase", pockets: map[string]pocket{}}
	durablePocketBase = &pocketProgram{name: "durable PocketBase", flags: []string{"--durable"}, pockets: map[string]pocket{}}
)

func (p *pocketProgram) String() string { return p.name }

func (p *pocketProgram) make(ctx context.Context, b *bench, s store) (err error) {
	if b.pocketBinary == "" {
		if b.pocketBinary, err = b.build(ctx, "pocketbase", ".", "./pocketbase"); err != nil {
			return err
		}
	}
	args := []string{"make", "--data", b.path(s.name + "-" + p.name), "--rows", strconv.FormatInt(s.rows, 10), "--comment", comment}
	out, err := exec.CommandContext(ctx, b.pocketBinary, args...).Output() //nolint:gosec // the binary just built
	if err != nil {
		return fmt.Errorf("make PocketBase's data: %w", err)
	}
	var made pocket
	err = json.Unmarshal(out, &made)
	p.pockets[s.name] = made
	return err
}

func (p *pocketProgram) start(ctx context.Context, b *bench, store string) (*process, error) {
	data := b.path(store + "-" + p.name)
	return start(ctx, p.pockets[store].protocol(), data+".log", b.pocketBinary, append([]string{"serve", "--data", data}, p.flags...)...)
}

func (p pocket) protocol() protocol {
	how := protocol{
		hello: getMessage("/healthz", p.Token), authorization: p.Token,
		create: postMessage(pocketPath, p.Token, `{"owner":"`+p.ID+`",`+record+`}`),
		read:   getMessage(pocketPath+"/", p.Token), lists: pocketPages, questions: pocketQuestions,
	}
	how.read.ids, how.read.before = readRows, beforePocketIDs
	return how
}

var pocketQuestions = map[string]string{
	"filter": pocketPath + "?perPage=50&skipTotal=true&filter=" + url.QueryEscape("hours=99.99"),
	"sort":   pocketPath + "?perPage=50&skipTotal=true&sort=hours",
	"search": pocketPath + "?perPage=50&skipTotal=true&filter=" + url.QueryEscape("comment~'breakfast'"),
}

// pocketPages ask for all of that many rows, by key: an offset costs more the further it is.
func pocketPages(rows int64) (paths []string) {
	for after := int64(0); after < rows; after += pocketPage {
		filter := url.QueryEscape(fmt.Sprintf("id>'%d'", beforePocketIDs+after))
		paths = append(paths, fmt.Sprintf("%s?perPage=%d&skipTotal=true&sort=id&filter=%s", pocketPath, pocketPage, filter))
	}
	return paths
}

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

// pocketBase is PocketBase with its default settings, or with a sync of each commit (--durable).
func (b *bench) pocketBase(name string, flags ...string) side {
	pockets := map[string]pocket{}
	return side{
		name: name,
		make: func(ctx context.Context, store string, rows int64) error {
			if b.pocketBinary == "" {
				binary, err := b.build(ctx, "pocketbase", ".", "./pocketbase")
				if err != nil {
					return err
				}
				b.pocketBinary = binary
			}
			args := []string{"make", "--data", b.path(store + "-" + name), "--rows", strconv.FormatInt(rows, 10), "--comment", comment}
			out, err := exec.CommandContext(ctx, b.pocketBinary, args...).Output() //nolint:gosec // the binary just built
			if err != nil {
				return fmt.Errorf("make PocketBase's data: %w", err)
			}
			var p pocket
			if err := json.Unmarshal(out, &p); err != nil {
				return fmt.Errorf("make PocketBase's data: %w\n%s", err, out)
			}
			pockets[store] = p
			return nil
		},
		start: func(ctx context.Context, store string) (*process, error) {
			data := b.path(store + "-" + name)
			return start(ctx, pockets[store].protocol(), data+".log", b.pocketBinary, append([]string{"serve", "--data", data}, flags...)...)
		},
	}
}

func (p pocket) protocol() protocol {
	how := protocol{
		hello: getMessage("/healthz", p.Token), authorization: p.Token,
		create: postMessage(pocketPath, p.Token, `{"owner":"`+p.ID+`",`+record+`}`, 200),
		read:   getMessage(pocketPath+"/", p.Token), lists: pocketPages,
	}
	how.read.ids, how.read.before = readRows, beforePocketIDs
	return how
}

// pocketPages ask for all of that many rows, by key: an offset costs more the further it is.
func pocketPages(rows int64) (paths []string) {
	for after := int64(0); after < rows; after += pocketPage {
		filter := url.QueryEscape(fmt.Sprintf("id>'%d'", beforePocketIDs+after))
		paths = append(paths, fmt.Sprintf("%s?perPage=%d&skipTotal=true&sort=id&filter=%s", pocketPath, pocketPage, filter))
	}
	return paths
}

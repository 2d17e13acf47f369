package wiki

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/formulary/formulary/internal/testkit"
)

// Strangers wait for half of the slots. When they go away, their calls are not made, and
// those that the wiki has got go on. Who was known before does not wait for them.
func TestStrangersWait(t *testing.T) {
	f := newFake(t, Options{})
	release := make(chan struct{})
	cut := atomic.Int64{}
	f.answer("userinfo", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
			cut.Add(1)
		}
		says(info(""))(w, r)
	})
	resume := func(ctx context.Context, known bool) error {
		return second(f.Resume(ctx, []*http.Cookie{{Name: "w_session", Value: "1"}}, "", known))
	}
	ctx, leave := context.WithCancel(t.Context())
	var strangers, gone sync.WaitGroup
	for range maxStrangers {
		strangers.Go(func() {
			testkit.ErrorIs(t, "one that the wiki", resume(ctx, false), nil)
		})
	}
	asked := func(n int) func() bool { return func() bool { return f.count("userinfo") == n } }
	testkit.Eventually(t, "the slots of strangers are taken", asked(maxStrangers))
	for range 20 {
		gone.Go(func() {
			testkit.ErrorIs(t, "one that waited", resume(ctx, false), context.Canceled)
		})
	}
	var known sync.WaitGroup
	known.Go(func() {
		testkit.ErrorIs(t, "one who is known", resume(t.Context(), true), nil)
	})
	testkit.Eventually(t, "the call of one who is known", asked(maxStrangers+1))
	known.Go(func() {
		testkit.ErrorIs(t, "a password that is known",
			testkit.ErrorOf(f.Login(t.Context(), Credential{User: "Ann", Password: "p", Known: true}, "")),
			nil,
		)
	})
	testkit.Eventually(t, "their sign-in", func() bool { return f.count("clientlogin") == 1 })
	leave()
	gone.Wait()
	close(release)
	strangers.Wait()
	known.Wait()
	if n := f.count("userinfo"); n != maxStrangers+1 || cut.Load() != 0 {
		t.Errorf("%d calls, %d of them cut off", n, cut.Load())
	}
}

// A known user's call that waits for a slot is dropped when its caller goes away.
func TestCallsOfThoseWhoAreKnownWait(t *testing.T) {
	f := newFake(t, Options{})
	ann := f.login(t)
	release := make(chan struct{})
	f.answer("info", func(w http.ResponseWriter, r *http.Request) {
		<-release
		says(info(fakePage))(w, r)
	})
	ask := func(ctx context.Context) error { return second(f.Pages(ctx, ann, 7)) }
	var all sync.WaitGroup
	for range maxCalls {
		all.Go(func() {
			testkit.ErrorIs(t, "one that the wiki", ask(t.Context()), nil)
		})
	}
	testkit.Eventually(t, "all slots are taken", func() bool { return f.count("info") == maxCalls })
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() { gone <- ask(ctx) }()
	leave()
	testkit.ErrorIs(t, "one that waited", <-gone, context.Canceled)
	close(release)
	all.Wait()
	testkit.Same(t, "calls", f.count("info"), maxCalls)
}

// Concurrent callers share one run. If the caller that started it goes away, the run ends, and
// one of the callers that still wait starts another.
func TestCoalesce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var flights singleflight.Group
		runs := atomic.Int64{}
		work := func(ctx context.Context) (int64, error) {
			n := runs.Add(1)
			select {
			case <-ctx.Done():
				return 0, errors.New("any error of somebody who has gone away")
			case <-time.After(time.Second):
				return n, nil
			}
		}
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			testkit.ErrorIs(t, "who went away", second(Coalesce(ctx, &flights, "", work)), context.Canceled)
		})
		synctest.Wait()
		for range 3 {
			all.Go(func() {
				if n, err := Coalesce(t.Context(), &flights, "", work); n != 2 || err != nil {
					t.Errorf("who stayed: run %d, %v", n, err)
				}
			})
		}
		synctest.Wait()
		leave()
		all.Wait()
		testkit.Same(t, "runs", runs.Load(), 2)
	})
}

// The title is that of the wiki, as long as it tells and is one.
func TestMediaWikiTitle(t *testing.T) {
	f := newFake(t, Options{})
	site := func(name string) http.HandlerFunc {
		return says(`{"batchcomplete":true,"query":{"general":{"sitename":"` + name + `"}}}`)
	}
	f.answer("siteinfo", says("<html>"))
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { f.Run(ctx) })
	testkit.Eventually(t, "it asks", func() bool { return f.count("siteinfo") > 0 })
	testkit.Same(t, "title before it is known", f.Title(), "")
	stop()
	running.Wait()
	f.answer("siteinfo", site("The Wiki"))
	f.Run(t.Context())
	testkit.Same(t, "f.Title()", f.Title(), "The Wiki")
	f.answer("siteinfo", site(strings.Repeat("x", 300)))
	if err := f.Ready(t.Context()); err != nil || f.Title() != "The Wiki" {
		t.Errorf("a text that is no title: %q, %v", f.Title(), err)
	}
	f.answer("siteinfo", says(`{"errors":[{"code":"readapidenied"}]}`))
	if err := f.Ready(t.Context()); err != nil || f.Title() != "" {
		t.Errorf("a private wiki: %q, %v", f.Title(), err)
	}
}

// A panic in a goroutine of a wiki's client is an error of the call, and does not end the process.
func TestPanicIsAnError(t *testing.T) {
	var flights singleflight.Group
	confluence := &confluence{client: &client{}}
	for name, call := range map[string]func() error{
		"shared work": func() error {
			return second(Coalesce(t.Context(), &flights, "", func(context.Context) (int, error) { panic("at the disco") }))
		},
		"texts of a MediaWiki": func() error {
			return new(mediaWiki).visit(t.Context(), Caller{}, []Page{{ID: 1}}, func(Page, Text) error { return nil })
		},
		"pages of a Confluence": func() error { return second(confluence.Pages(t.Context(), Caller{}, 1)) },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "panic: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

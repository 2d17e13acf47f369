package rest

import (
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

const hexDigits = "0123456789abcdef"

// fill stores n submissions, every third of them by bob, the rest by alice,
// and returns their ids.
func (e *env) fill(t testing.TB, n, valueBytes int) []int64 {
	t.Helper()
	ids := make([]int64, n)
	noise := rand.New(rand.NewPCG(1, 2)) // compresses to about a half, not to nothing
	for i := range ids {
		value := make([]byte, valueBytes)
		for j := range value {
			value[j] = hexDigits[noise.IntN(len(hexDigits))]
		}
		who := "alice"
		if i%3 == 0 {
			who = "bob"
		}
		_, ids[i] = e.create(t, who, allPath, nestedBody("name", fmt.Sprint(i), "note", string(value)))
	}
	return ids
}

// A query is bounded, whatever it is for.
func TestQueryThatIsTooLong(t *testing.T) {
	e := newHouse(t)
	const limit = 8 << 10
	query := "?username=" + strings.Repeat("a", limit-len("username="))
	for _, list := range []string{"/submission", "/result", "/summary"} {
		for _, method := range []string{"GET", "HEAD"} {
			e.expect(t, 200, ask("alice "+method, allPath+list+query))
			e.expect(t, 414, ask("alice "+method, allPath+list+query+"a"))
		}
	}
	e.expect(t, 414, ask("alice POST", allPath+"/submission"+query+"a", "{}"))
}

func TestCompressionOfWhatCanBeLong(t *testing.T) {
	e := newHouse(t)
	e.fill(t, 100, 2000) // more than one flush
	for _, path := range []string{Prefix + "/page/1/form", allPath, allPath + "/submission", allPath + "/result"} {
		plain := e.expect(t, 200, ask("alice GET", path))
		if plain.header.Get("Content-Encoding") != "" || plain.header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s unasked: %v", path, plain.header)
		}
		packed := e.expect(t, 200, ask("alice GET", path).with(headerOf("Accept-Encoding", "zstd, gzip")))
		if packed.header.Get("Content-Encoding") != "gzip" || packed.header.Get("Vary") != "Accept-Encoding" || len(packed.body) >= len(plain.body) {
			t.Errorf("%s when asked for gzip: %v, %d bytes instead of %d", path, packed.header, len(packed.body), len(plain.body))
			continue
		}
		head := e.expect(t, 200, ask("alice HEAD", path).with(headerOf("Accept-Encoding", "GZip")))
		if head.header.Get("Content-Length") != "" || head.header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("HEAD %s tells another length than GET: %v", path, head.header)
		}
		r, err := gzip.NewReader(strings.NewReader(packed.body))
		testkit.Must(t, err)
		if got, err := io.ReadAll(r); err != nil || string(got) != plain.body {
			t.Errorf("%s: gzip holds other content (%v)", path, err)
		}
	}
	for _, path := range []string{allPath + "/submission/1", allPath + "/result/1", form(1, "zeta"), Prefix + "/page/2/form"} {
		a := e.expect(t, 200, ask("alice GET", path).with(headerOf("Accept-Encoding", "gzip, zstd, br")))
		if a.header.Get("Content-Encoding") != "" {
			t.Errorf("%s is compressed, for %d bytes", path, len(a.body))
		}
	}
}

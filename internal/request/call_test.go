package request

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/testkit"
)

// taken is how many slots of lists, large bodies and uploads are taken.
func taken(b *Backend) [3]int {
	return [3]int{b.Limiters.Lists.Taken(), b.Limiters.Bodies.Taken(), b.Limiters.Uploads.Taken()}
}

// An answer counts as what it is: a list that becomes a large answer holds no slot
// of lists any more.
func TestSlotOfAnAnswer(t *testing.T) {
	limits := DefaultLimits
	limits.LargeBodiesPerUser = 1
	b := NewBackend(Options{Limits: limits})
	newCall := func() *Call {
		return b.NewCall(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), auth.Identity{Name: "alice"})
	}
	list, next, upload := newCall(), newCall(), newCall()
	upload.ContentLength = -1
	for _, err := range []error{list.HoldList(), next.HoldList(), upload.HoldUpload(), list.HoldBody(), list.HoldList(), upload.HoldBody()} {
		testkit.Must(t, err)
	}
	testkit.Same(t, "are held", taken(b), [3]int{1, 1, 1})
	if err := next.HoldBody(); err == nil {
		t.Error("a second large answer of one user")
	}
	testkit.Same(t, "are held after the refusal", taken(b), [3]int{1, 1, 1})
	for _, c := range []*Call{list, next, upload} {
		c.End()
	}
	testkit.Same(t, "are held at the end", taken(b), [3]int{})
}

// A body of a known length is read into a buffer that never grows.
func TestBodyIsReadIntoABufferOfItsSize(t *testing.T) {
	b := NewBackend(Options{})
	for _, size := range []int{1, 1000, LargeBody, LargeBody + 1, 1 << 20} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", size)))
		c := b.NewCall(httptest.NewRecorder(), r, auth.Identity{Name: "alice"})
		var buf bytes.Buffer
		if err := c.ReadBody(httptest.NewRecorder(), &buf); err != nil || buf.Len() != size {
			t.Fatalf("%d bytes instead of %d: %v", buf.Len(), size, err)
		}
		c.End()
		if most := size + size/8 + 2*bytes.MinRead; buf.Cap() > most {
			t.Errorf("a body of %d bytes takes %d, want at most %d", size, buf.Cap(), most)
		}
	}
	// Without a length, what is too large is refused all the same.
	r := httptest.NewRequest(http.MethodPost, "/", io.LimitReader(zeros{}, 2<<20))
	r.ContentLength = -1
	if err := b.NewCall(httptest.NewRecorder(), r, auth.Identity{}).ReadBody(httptest.NewRecorder(), new(bytes.Buffer)); err == nil {
		t.Error("a body over the limit was read")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

package wiki

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"github.com/formulary/formulary/internal/panics"
	"github.com/formulary/formulary/internal/reload"
)

// Bounds of what one wiki may take of this server.
const (
	callTimeout  = 10 * time.Second // the wait for a slot included
	maxAnswer    = 16 << 20         // bytes
	maxCalls     = 16               // at a time
	maxStrangers = 8                // of them: sign-ins, and cookies of unknown browsers
	maxCAFile    = 1 << 20
)

// client sends requests to one wiki, within the bounds.
type client struct {
	*reload.Watcher // of the authorities; nil for the system's
	base            *url.URL
	agent           string
	caFile          string
	transport       atomic.Pointer[http.Transport]
	slots           *semaphore.Weighted
	strangers       *semaphore.Weighted // of the slots
}

func newClient(base *url.URL, opts Options) (*client, error) {
	c := &client{
		base: base, agent: opts.Agent, caFile: opts.CAFile,
		slots: semaphore.NewWeighted(maxCalls), strangers: semaphore.NewWeighted(maxStrangers),
	}
	if c.caFile != "" {
		look := func() reload.State { return reload.Stats(c.caFile) }
		c.Watcher = reload.New("authorities of the wiki's certificate", opts.Logger, look, c.loadCA)
	}
	return c, c.loadCA(nil, true)
}

// loadCA reads the authorities, and has connections made with them from now on.
func (c *client) loadCA(reload.State, bool) error {
	var roots *x509.CertPool // nil for the system's
	if c.caFile != "" {
		pem, err := reload.ReadFile(c.caFile, maxCAFile)
		if err != nil {
			return fmt.Errorf("read the authorities of the wiki's certificate: %w", err)
		}
		if roots = x509.NewCertPool(); !roots.AppendCertsFromPEM(pem) {
			return fmt.Errorf("%s has no certificate in PEM", c.caFile)
		}
	}
	old := c.transport.Swap(&http.Transport{
		Proxy:               http.ProxyFromEnvironment, // without HTTP/2: all calls would share a connection that may be dead
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		MaxIdleConnsPerHost: maxCalls, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10,
	})
	if old != nil {
		old.CloseIdleConnections()
	}
	return nil
}

// call is one request to the wiki.
type call struct {
	path     string      // below the address of the wiki, "" for that itself
	query    url.Values  // nil for none
	form     url.Values  // a body to POST; nil for a GET
	header   http.Header // what authenticates the caller; nil for none
	from     string      // address of the client, "" if there is none
	stranger bool        // everybody can cause this call, without a password or a cookie that was right before
}

// answer is what the wiki has answered.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do sends a request and reads the whole answer. It follows no redirect, and takes
// no notice of cookies.
//
// A call that waits for others ends with ctx. One that has begun goes on without its
// caller until its time is up, and holds its slot: the wiki is at work on it.
func (c *client) do(ctx context.Context, call call) (a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if call.stranger { // leaves half of the slots to others
		if err := c.strangers.Acquire(ctx, 1); err != nil {
			return a, failed(ctx, "wait for other calls", err)
		}
		defer c.strangers.Release(1)
	}
	if err := c.slots.Acquire(ctx, 1); err != nil {
		return a, failed(ctx, "wait for other calls", err)
	}
	defer c.slots.Release(1)
	deadline, _ := ctx.Deadline()
	ctx, cancel = context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()
	req, err := c.request(ctx, call)
	if err != nil {
		return a, err
	}
	transport := c.transport.Load()
	res, err := transport.RoundTrip(req)
	if err != nil {
		transport.CloseIdleConnections() // they may be as dead as this one
		return a, failed(ctx, "connect", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return a, failed(ctx, "read the answer", err)
	case len(body) > maxAnswer:
		return a, unavailablef("the answer has more than %d bytes", maxAnswer)
	}
	return answer{res.StatusCode, res.Header, body}, nil
}

func (c *client) request(ctx context.Context, call call) (*http.Request, error) {
	to := *c.base
	to.Path += call.path
	to.RawQuery = call.query.Encode()
	method, body := http.MethodGet, io.Reader(nil)
	if call.form != nil {
		method, body = http.MethodPost, strings.NewReader(call.form.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, method, to.String(), body)
	if err != nil {
		return nil, errors.New("make a request to the wiki") // the error has the address
	}
	maps.Copy(req.Header, call.header)
	req.Header.Set("User-Agent", c.agent)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Cache-Control", "no-cache") // a proxy may have the answer for another user
	if call.form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if host, _, err := net.SplitHostPort(call.from); err == nil {
		req.Header.Set("X-Forwarded-For", host)
	} else if call.from != "" {
		req.Header.Set("X-Forwarded-For", call.from)
	}
	return req, nil
}

// failed is the error of a call that came to nothing. A caller that has gone away
// gets the error of its context.
func failed(ctx context.Context, doing string, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return unavailablef("%s: no answer within %s", doing, callTimeout)
	}
	return unavailablef("%s: %w", doing, withoutAddress(err))
}

// withoutAddress returns what is wrong with a connection, without what errors tell
// beside it: addresses, names in certificates, the beginning of an odd answer.
func withoutAddress(err error) error {
	var unknown *net.DNSError
	var certificate *tls.CertificateVerificationError
	var system *os.SyscallError
	switch {
	case errors.As(err, &unknown):
		return errors.New("the name of its host can't be resolved")
	case errors.As(err, &certificate):
		return errors.New("its certificate is not trusted")
	case errors.As(err, &system):
		return system
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	}
	return errors.New("the connection failed")
}

// decode reads the JSON of an answer. Members that are not known are ignored, since
// later versions have more.
func (a answer) decode(into any) error {
	if err := json.Unmarshal(a.body, into); err != nil {
		return a.odd() // the error may quote the answer
	}
	return nil
}

// odd is the error for an answer that is not the one that was asked for.
func (a answer) odd() *UnavailableError {
	return &UnavailableError{RetryAfter: a.retryAfter(), Err: fmt.Errorf("unexpected answer with status %d", a.status)}
}

// retryAfter is when the wiki wants to be asked again; 0 if it does not say so in seconds.
func (a answer) retryAfter() time.Duration {
	seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return pause(seconds)
}

// pause is a time that the wiki names, as far as it is sensible.
func pause(seconds int) time.Duration { return time.Duration(min(max(seconds, 1), 300)) * time.Second }

// Coalesce has concurrent callers with one key share one run of work. It ends with the
// first of them: if that one goes away, the others begin again.
func Coalesce[T any](
	ctx context.Context, flights *singleflight.Group, key string, work func(context.Context) (T, error),
) (T, error) {
	var none T
	for ctx.Err() == nil {
		done := flights.DoChan(key, panics.Guarded(func() (any, error) {
			value, err := work(ctx)
			if err != nil && ctx.Err() != nil {
				err = errGone
			}
			return value, err
		}))
		select {
		case <-ctx.Done():
		case result := <-done:
			if result.Err == nil {
				return result.Val.(T), nil //nolint:forcetypeassert // it is from work
			}
			if !errors.Is(result.Err, errGone) {
				return none, result.Err
			}
		}
	}
	return none, ctx.Err()
}

// errGone is the result of work whose caller has gone away.
var errGone = errors.New("the caller has gone away")

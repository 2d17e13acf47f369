package events

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

const (
	attemptTimeout = 10 * time.Second
	maxAnswer      = 64 << 10 // bytes
)

var (
	publicClient = newClient(&net.Dialer{Timeout: attemptTimeout, Control: ssrf.New(ssrf.WithAnyPort()).Safe})
	anyClient    = newClient(&net.Dialer{Timeout: attemptTimeout}) // for hooks with allowPrivate
)

// newClient returns a client that follows no redirects, and uses no proxy: that would
// connect to any address. The end of a request does not end the dial or the TLS handshake
// that it began, so these have time limits of their own.
func newClient(dialer *net.Dialer) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: dialer.Timeout, DisableCompression: true,
			MaxResponseHeaderBytes: maxAnswer, MaxIdleConnsPerHost: slotsPerHook, IdleConnTimeout: time.Minute,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// payload is the body of a webhook.
type payload struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      any       `json:"data"`
}

// change is the data of a payload.
type change struct {
	PageID     int64           `json:"pageId"`
	FormID     string          `json:"formId"`
	ID         int64           `json:"id"`
	Submission json.RawMessage `json:"submission,omitempty"`
}

// Test posts an event of type test, and returns the status of the answer.
func (h *Hook) Test(ctx context.Context) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	return h.post(ctx, rand.Text(), payload{"test", time.Now().UTC().Truncate(time.Millisecond), struct{}{}})
}

// answered is an error: a status that is not 2xx.
type answered int

func (a answered) Error() string { return "answered " + strconv.Itoa(int(a)) }

// post makes one attempt, signed as Standard Webhooks says. Its errors show neither the
// url nor the secret, nor anything of the answer but its status.
func (h *Hook) post(ctx context.Context, id string, p payload) (status int, err error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err = encoder.Encode(p)
	body := bytes.TrimSpace(line.Bytes())
	request, requestErr := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil || requestErr != nil {
		return 0, errors.New("the request can't be made")
	}
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, h.secret)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	request.Header = http.Header{
		"Content-Type": {"application/json"}, "User-Agent": {"Formulary"},
		"Webhook-Id": {id}, "Webhook-Timestamp": {timestamp},
		"Webhook-Signature": {"v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))},
		// It has no value and is not sent. With it, the transport sends the request again over a
		// new connection if the receiver has closed an idle one.
		"Idempotency-Key": {},
	}
	client := publicClient
	if h.allowPrivate {
		client = anyClient
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, describe(err)
	}
	defer response.Body.Close()       // with the connection, unless all was read
	if response.StatusCode/100 != 2 { // after 101, ctx would not end a read
		return response.StatusCode, answered(response.StatusCode)
	}
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer)
	return response.StatusCode, nil
}

// describe returns what an error of a client is, without the address in it.
func describe(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("no answer within 10 seconds")
	case errors.Is(err, ssrf.ErrProhibitedIP):
		return errors.New("the address is private: set allowPrivate: true")
	default:
		return errors.New(connectionFault(err, "the connection failed, or ended without an HTTP answer"))
	}
}

// connectionFault says why there is no connection, for receivers and mail servers.
func connectionFault(err error, otherwise string) string {
	_, isDNS := errors.AsType[*net.DNSError](err)
	_, isCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case isDNS:
		return "host not found"
	case isCertificate:
		return "its certificate is not trusted"
	case strings.Contains(err.Error(), "tls: ") || errors.Is(err, http.ErrSchemeMismatch): // most have no type
		return "the TLS handshake failed: check scheme, port and TLS version"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	}
	return otherwise
}

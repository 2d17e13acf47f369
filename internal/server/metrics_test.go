package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/formulary/formulary/internal/testkit"
)

func scrape(t *testing.T, c testChain) string {
	t.Helper()
	w := c.get("/metrics")
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func wantSeries(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		testkit.Contains(t, line, text, "\n"+line+"\n")
	}
	if t.Failed() {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "formulary_") && !strings.Contains(line, "_bucket") {
				t.Log(strings.TrimSpace(line))
			}
		}
	}
}

func TestMetrics(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /pages/{id}", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "12345") })
	mux.HandleFunc("/any", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(302) })
	mux.HandleFunc("POST /panic", func(http.ResponseWriter, *http.Request) { panic("oh") })
	metrics := NewMetrics()
	c := newTestChain(Options{Handler: mux, Metrics: metrics})

	own := prometheus.NewCounter(prometheus.CounterOpts{Name: "formulary_test_total", Help: "Of somebody else."})
	metrics.Registry().MustRegister(own)
	own.Inc()

	for _, request := range []string{"GET /pages/1", "GET /pages/2", "MADE-UP /any", "POST /panic", "GET /no/such", "GET /healthz"} {
		method, path, _ := strings.Cut(request, " ")
		c.serve(httptest.NewRequest(method, path, nil))
	}
	text := scrape(t, c)
	wantSeries(t, text,
		`formulary_http_requests_total{method="GET",route="/pages/{id}",status="2xx"} 2`,
		`formulary_http_request_duration_seconds_count{method="GET",route="/pages/{id}",status="2xx"} 2`,
		`formulary_http_response_bytes_total{method="GET",route="/pages/{id}",status="2xx"} 10`,
		`formulary_http_requests_total{method="other",route="/any",status="3xx"} 1`,
		`formulary_http_requests_total{method="POST",route="/panic",status="5xx"} 1`,
		`formulary_http_requests_total{method="GET",route="other",status="4xx"} 1`,
		`formulary_http_requests_total{method="GET",route="/healthz",status="2xx"} 1`,
		`formulary_http_requests_in_flight 1`, // the scrape itself
		`formulary_test_total 1`,
	)
	for _, name := range []string{"go_goroutines", "process_open_fds"} {
		testkit.Contains(t, name, text, "\n"+name+" ")
	}
	wantSeries(t, scrape(t, c), `formulary_http_requests_in_flight 1`)
}

// The error of a broken collector is logged, and not sent to clients.
func TestMetricsDoNotShowErrors(t *testing.T) {
	metrics := NewMetrics()
	metrics.Registry().MustRegister(broken{})
	c := newTestChain(Options{Metrics: metrics})
	text := scrape(t, c)
	if strings.Contains(text, "secret") || !strings.Contains(text, "go_goroutines") {
		t.Errorf("scraped %.200s", text)
	}
	testkit.Contains(t, c.log, c.log.String(), "secret")
}

type broken struct{}

var brokenDesc = prometheus.NewDesc("formulary_broken", "Breaks.", nil, nil)

func (broken) Describe(c chan<- *prometheus.Desc) { c <- brokenDesc }

func (broken) Collect(c chan<- prometheus.Metric) {
	c <- prometheus.NewInvalidMetric(brokenDesc, errSecret{})
}

type errSecret struct{}

func (errSecret) Error() string { return "secret reason" }

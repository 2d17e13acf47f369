package server

import (
	"cmp"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics counts requests. It has its own registry, so that what a dependency
// registers globally is not published by accident.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	bytes    *prometheus.CounterVec
}

// NewMetrics returns metrics of the process, the Go runtime and HTTP requests.
func NewMetrics() *Metrics {
	labels := []string{"method", "route", "status"}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "formulary_http_requests_total",
			Help: "Requests answered, by method, route and class of status.",
		}, labels),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "formulary_http_request_duration_seconds",
			Help: "Time from the request's header to the end of its handler.",
			// Answers from memory take less than a millisecond, the slowest
			// downloads as long as their clients.
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, labels),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "formulary_http_response_bytes_total",
			Help: "Bytes of response bodies, as sent.",
		}, labels),
	}
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.requests, m.duration, m.bytes,
	)
	return m
}

// Registry is where others register their collectors.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

func (m *Metrics) handler(logger *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		// A broken collector must neither hide the others nor show its error to
		// clients.
		ErrorHandling: promhttp.ContinueOnError,
	})
}

func (m *Metrics) observe(r *http.Request, rec *recorder, now time.Time) {
	labels := []string{knownMethod(r.Method), routeLabel(r.Pattern), strconv.Itoa(rec.finalStatus()/100) + "xx"}
	m.requests.WithLabelValues(labels...).Inc()
	m.duration.WithLabelValues(labels...).Observe(now.Sub(rec.start).Seconds())
	m.bytes.WithLabelValues(labels...).Add(float64(rec.bytes))
}

// knownMethod maps unknown methods to one label value, so that clients cannot
// create new series.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// routeLabel is the pattern without its method, which is a label already.
func routeLabel(pattern string) string {
	if _, path, hasMethod := strings.Cut(pattern, " "); hasMethod {
		return path
	}
	return cmp.Or(pattern, "other")
}

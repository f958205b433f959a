package web

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metricsOf returns the handler of GET /metrics, Prometheus's text format: the
// process, the Go runtime, and the audit log.
func metricsOf(cfg Config) http.Handler {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "datamind", Name: name, Help: help}, value)
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "datamind", Name: "build_info", Help: "The version, as a label of the number 1.",
		ConstLabels: prometheus.Labels{"version": cfg.Version},
	})
	build.Set(1)
	r := prometheus.NewRegistry()
	r.MustRegister(
		build,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		gauge("audit_records", "Records of the audit log.", func() float64 { return float64(cfg.Audit.Len()) }),
		gauge("audit_log_up", "1 while the audit log takes records; 0 means that no tool runs.", func() float64 {
			if cfg.Audit.Err() != nil {
				return 0
			}
			return 1
		}),
	)
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}

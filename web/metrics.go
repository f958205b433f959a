package web

import (
	"math"
	"net/http"
	"time"

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
	if cfg.Witness != nil {
		r.MustRegister(
			gauge("audit_witness_records", "Records that the witness has cosigned.", func() float64 { return float64(cfg.Witness().Size) }),
			gauge("audit_witness_age_seconds", "Since the witness last cosigned; NaN: never.", func() float64 {
				at := cfg.Witness().At
				if at.IsZero() {
					return math.NaN()
				}
				return time.Since(at).Seconds()
			}),
			gauge("audit_witness_up", "1 if the witness cosigned what it was last sent.", func() float64 {
				if cfg.Witness().Err != nil {
					return 0
				}
				return 1
			}),
		)
	}
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}

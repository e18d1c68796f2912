// Package web serves an engine's telemetry over HTTP.
//
//	GET /              a page: pipeline, queues, consumers, verdict, last errors, pictures
//	GET /status.json   what the page shows: the last seconds and the time since the start
//	GET /metrics       for Prometheus
//	GET /healthz       for probes: 200, or 503 with the rings that have failed
//	GET /sheet.png     a contact sheet of the newest batch; ?ring=NAME
//	GET /trace         ?seconds=5: a recording for chrome://tracing and ui.perfetto.dev
//	GET /debug/pprof/  profiles of the engine's Go code
//
// It only reads: nothing about the engine can be changed through it. It has no login. On a loopback address it answers
// only requests for a loopback host, so that a page of the web that a browser on this machine shows cannot read along;
// on any other address whoever reaches the port sees the pictures. Between two requests it does nothing.
package web

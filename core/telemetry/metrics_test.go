package telemetry

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
)

var metricLine = regexp.MustCompile(`^([a-z_]+)(\{[a-z]+="(?:[^"\\\n]|\\["\\n])*"(?:,[a-z]+="(?:[^"\\\n]|\\["\\n])*")*\})? (-?[0-9.e+-]+)$`)

// Metrics are what Prometheus reads: every family has help and type before its samples, no sample comes twice, odd names
// are escaped, and counters say so in their names.
func TestMetricsAreInTheTextFormat(t *testing.T) {
	s := shot(10)
	odd := &s.Rings[0]
	odd.BadCauses = map[string]uint64{"decode": 3, `a"b\c` + "\n": 1}
	odd.Groups = []Group{{Name: "g", Completed: 5}, {Name: "h"}}
	odd.Consumers = append(odd.Consumers, Consumer{Owner: 2, Group: "g", Client: "trainer \"1\"\n"})
	odd.Cache, odd.CacheRows, odd.Store = map[string]uint64{"hit": 7, "bypassed": 2}, map[string]uint64{"failed": 3}, map[string]uint64{"retry": 4}
	s.Rings = append(s.Rings, Ring{Name: "train/val", State: "failed"})
	var out bytes.Buffer
	if err := WriteMetrics(&out, &s); err != nil {
		t.Fatal(err)
	}
	types, seen, family := map[string]string{}, map[string]bool{}, ""
	for _, line := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
		if f := strings.Fields(line); strings.HasPrefix(line, "# TYPE ") {
			family = f[2]
			if types[family] != "" {
				t.Errorf("family %s comes twice", family)
			}
			if types[family] = f[3]; (f[3] == "counter") != strings.HasSuffix(family, "_total") {
				t.Errorf("%s is a %s", family, f[3])
			}
			continue
		}
		if strings.HasPrefix(line, "# HELP ") {
			continue
		}
		m := metricLine.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("no sample: %q", line)
			continue
		}
		if name := strings.TrimSuffix(strings.TrimSuffix(m[1], "_sum"), "_count"); name != family && m[1] != family {
			t.Errorf("%s stands among the samples of %s", m[1], family)
		}
		if seen[m[1]+m[2]] {
			t.Errorf("%s%s comes twice", m[1], m[2])
		}
		seen[m[1]+m[2]] = true
	}
	for _, want := range []string{
		`spdl_batches_total{ring="train"} 1000`, `spdl_ring_running{ring="train"} 1`, `spdl_ring_running{ring="train/val"} 0`,
		`spdl_bad_samples_total{ring="train",cause="a\"b\\c\n"} 1`, `spdl_stage_busy_seconds_total{ring="train",stage="decode"} 15`,
		`spdl_queue_ready_seconds_total{ring="train",after="plan"} 5`, `spdl_group_completed_total{ring="train",group="g"} 5`,
		`spdl_cache_samples_total{ring="train",outcome="bypassed"} 2`, `spdl_cache_rows_total{ring="train",outcome="failed"} 3`, `spdl_store_requests_total{ring="train",outcome="retry"} 4`,
		`spdl_stage_retries_total{ring="train",stage="decode"} 20`, `client="trainer \"1\"\n"`, "spdl_storage_read_bytes_total 2500", "spdl_store_read_bytes_total 500", `spdl_stage_op_seconds_count{ring="train",stage="decode"} 1000`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
}

// full is a writer without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no room") }

// What cannot be written is an error.
func TestWritersTellOfFailure(t *testing.T) {
	s := shot(10)
	if err := WriteMetrics(full{}, &s); err == nil {
		t.Error("metrics: no error from a writer without room")
	}
	if err := WriteTrace(full{}, &Trace{}); err == nil {
		t.Error("trace: no error from a writer without room")
	}
}

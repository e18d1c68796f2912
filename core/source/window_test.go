package source

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/core/source/store"
)

// large is a sample of a large picture and a small label, n times.
func large(n, size int) (parts []part) {
	for i := range n {
		parts = append(parts, part{fmt.Sprintf("%03d.jpg", i), strings.Repeat("x", size)}, part{fmt.Sprintf("%03d.cls", i), fmt.Sprint(i % 7)})
	}
	return parts
}

func zipOf(t testing.TB, parts []part) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, p := range parts {
		m, err := w.CreateHeader(&zip.FileHeader{Name: p.name, Method: zip.Store})
		must(t, err)
		_, err = m.Write([]byte(p.content))
		must(t, err)
	}
	must(t, w.Close())
	return b.String()
}

// steadyPace is that of a store whose reads take no time by its clock, whatever the machine does meanwhile.
func steadyPace() *pace {
	p := newPace()
	p.now = func() time.Time { return time.Time{} }
	return p
}

// The index of a remote archive of large members is made from their headers, a request a sample; the data between are not read.
func TestRemoteIndexReadsHeadersAlone(t *testing.T) {
	const n, size = 24, 1 << 20
	for ending, content := range map[string]string{".tar": string(tarOf(t, tar.FormatPAX, large(n, size)...)), ".zip": zipOf(t, large(n, size))} {
		o := serveObjects(t, map[string]string{"/s" + ending: content})
		client := storeClient(t, store.Options{})
		s := openS(t, ShardsConfig{Shards: []string{o.URL + "/s" + ending}, Store: client, pace: steadyPace()})
		got := client.Stats()
		if s.Len() != n || s.Label(9) != 2 {
			t.Fatalf("%s: %d samples, label %d", ending, s.Len(), s.Label(9))
		}
		if got.Bytes > n*4*headerBytes || got.Requests > 2*n+8 {
			t.Errorf("%s: %d requests for %d bytes of %d", ending, got.Requests, got.Bytes, len(content))
		}
	}
}

// Where members are small, headers and data come in few large reads.
func TestRemoteIndexOfSmallMembersTakesFewReads(t *testing.T) {
	content := string(tarOf(t, tar.FormatPAX, pairs(0, 2000)...))
	o := serveObjects(t, map[string]string{"/s.tar": content})
	client := storeClient(t, store.Options{})
	s := openS(t, ShardsConfig{Shards: []string{o.URL + "/s.tar"}, Store: client, pace: steadyPace()})
	if got := client.Stats(); s.Len() != 2000 || got.Requests > 6 {
		t.Errorf("%d samples, %d requests for %d bytes", s.Len(), got.Requests, got.Bytes)
	}
}

// What is worth a request is what arrives meanwhile: it follows what reads take.
func TestPaceFollowsWhatReadsTake(t *testing.T) {
	p := newPace()
	if got := p.worth(); got != 1e6 {
		t.Errorf("at first %d", got)
	}
	for range 100 {
		p.note(headerBytes, 40*time.Millisecond)
		p.note(4<<20, 40*time.Millisecond+100*time.Millisecond) // 42 MB/s
	}
	if got := p.worth(); got < 1.6e6 || got > 1.8e6 {
		t.Errorf("after slow reads %d", got)
	}
	for range 100 {
		p.note(headerBytes, 0)
	}
	if got := p.worth(); got != leastWorth {
		t.Errorf("without latency %d", got)
	}
}

// Opening tells how many shards are open and of how many the index was made, and ends as soon as its context does.
func TestOpeningTellsAndEnds(t *testing.T) {
	data := map[string]string{}
	for k := range 8 {
		data[fmt.Sprintf("/s-%d.tar", k)] = string(tarOf(t, tar.FormatPAX, pairs(10*k, 10*k+10)...))
	}
	o := serveObjects(t, data)
	dir, told := t.TempDir(), ""
	c := ShardsConfig{Shards: []string{o.URL + "/s-{0..7}.tar"}, IndexDir: dir, Store: storeClient(t, store.Options{}),
		Opened: func(opened, of, built int) { told = fmt.Sprint(opened, of, built) }}
	openS(t, c)
	if told != "8 8 8" {
		t.Errorf("told %q", told)
	}
	openS(t, c)
	if told != "8 8 0" {
		t.Errorf("told %q with the indexes kept", told)
	}
	ctx, cancel := context.WithCancel(background)
	hang := make(chan struct{})
	defer close(hang)
	o.change(func() {
		o.fault = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodGet {
				cancel()
				<-hang
			}
			return false
		}
	})
	c.IndexDir = t.TempDir()
	if _, err := OpenShards(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A shard that is refused ends the opening of the others, and is the one that the error names.
func TestRefusedShardIsTheOneNamed(t *testing.T) {
	data := map[string]string{"/s-3.tar": strings.Repeat("x", 2048)}
	for k := range 3 {
		data[fmt.Sprintf("/s-%d.tar", k)] = string(tarOf(t, tar.FormatPAX, pairs(10*k, 10*k+10)...))
	}
	o := serveObjects(t, data)
	hang := make(chan struct{})
	defer close(hang)
	o.fault = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && r.URL.Path != "/s-3.tar" {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		}
		return false
	}
	_, err := OpenShards(background, ShardsConfig{Shards: []string{o.URL + "/s-{0..3}.tar"}, IndexDir: t.TempDir(), Store: storeClient(t, store.Options{})})
	if err == nil || !strings.Contains(err.Error(), "/s-3.tar") || !strings.Contains(err.Error(), "not a tar header") {
		t.Errorf("got %v", err)
	}
}

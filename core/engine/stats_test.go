package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/telemetry"
	"github.com/spdl/spdl/shm"
)

// Stats tell a consumer, as JSON, what every part of the engine is doing.
func TestStatsShowEveryPart(t *testing.T) {
	r := start(t, describe(t, folder(t, 20, nil), "batch: 4\norder: {epochs: 1}\nring: {groups: [{name: g}]}\n"), nil)
	reader := r.attach(shm.AttachOptions{MaxLeases: 2, Client: "test"})
	epoch(t, reader)
	data, err := reader.Stats(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	var s Stats
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	ring := s.Rings[0]
	if s.PID == 0 || s.Memory.RSS == 0 || s.Memory.Anon == 0 || s.CPUTimeS <= 0 || ring.Ring.Published != 5 {
		t.Fatalf("%s", data)
	}
	if g := ring.Groups[0]; g.Name != "g" || g.Completed != 5 || len(g.Members) != 1 || g.Members[0].Client != "test" {
		t.Fatalf("group %+v", g)
	}
	var stages []string
	for _, stage := range ring.Pipeline.Stages {
		stages = append(stages, stage.Name)
	}
	if got := strings.Join(stages, " "); got != "plan fetch decode collect order publish" {
		t.Fatalf("stages %q", got)
	}
}

// The parts of the time to the first batch add up to the whole, none of them negative, whatever is in that batch.
func TestTimeToFirstBatchAddsUp(t *testing.T) {
	allBad := map[int]func(string){0: empty, 1: empty}
	for name, dir := range map[string]string{"good": folder(t, 8, nil), "bad": folder(t, 2, allBad)} {
		began := time.Now().Add(-time.Second)
		r := start(t, describe(t, dir, "batch: 4\nbad_sample: {max_rate: 1}\n"), &Options{Started: began})
		eventually(t, "the first batch", func() bool { return r.Stats().Rings[0].First.TotalMS > 0 })
		f := r.Stats().Rings[0].First
		sum := 0.0
		for part, ms := range map[string]float64{"load": f.LoadMS, "scan": f.ScanMS, "reserve": f.ReserveMS, "fetch": f.FetchMS, "decode": f.DecodeMS, "publish": f.PublishMS} {
			if ms < 0 {
				t.Errorf("%s: %s took %v ms", name, part, ms)
			}
			sum += ms
		}
		if f.LoadMS < 1000 || sum < f.TotalMS-0.1 || sum > f.TotalMS+0.1 {
			t.Errorf("%s: parts of %+v sum up to %v", name, f, sum)
		}
		_ = r.end()
	}
}

// The log says who came and left, with ring and level, and nothing finer than its level.
func TestLogTellsOfMembers(t *testing.T) {
	out := &lockedBuffer{}
	s := describe(t, folder(t, 8, nil), "batch: 4\n")
	r := start(t, s, &Options{Log: NewLog(out, Info)})
	reader := r.attach(shm.AttachOptions{Group: "g", MaxLeases: 1, Client: "tester"})
	take(t, reader)
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"info  " + s.Name + ": first batch after ", `group "g": attach of consumer 1, pid `, ": tester\n", `group "g": detach of consumer 1`} {
		eventually(t, want, func() bool { return strings.Contains(out.String(), want) })
	}
	quiet := &lockedBuffer{}
	log := NewLog(quiet, Error)
	log.Warnf("x", "unheard")
	log.Errorf("", "heard")
	if got := quiet.String(); strings.Contains(got, "unheard") || !strings.HasSuffix(got, " error engine: heard\n") {
		t.Fatalf("log of level error: %q", got)
	}
}

// Names and texts of clients neither end a line of the log nor tell a terminal anything.
func TestLogHasALineEachWhateverTheTextIs(t *testing.T) {
	out := &lockedBuffer{}
	s := describe(t, folder(t, 8, nil), "batch: 4\n")
	r := start(t, s, &Options{Log: NewLog(out, Info)})
	reader := r.attach(shm.AttachOptions{MaxLeases: 1, Client: "a\nerror x: forged\x1b[31m"})
	_ = reader.Close()
	eventually(t, "the client's name", func() bool { return strings.Contains(out.String(), `: a\nerror x: forged\x1b[31m`+"\n") })
	for _, c := range []struct{ text, line, json string }{
		{"stage: no\r\nsuch\tcrop", `stage: no\r\nsuch\tcrop`, `stage: no\r\nsuch\tcrop`},
		{"é 数 😀 \"x\\n\"", "é 数 😀 \"x\\n\"", `é 数 😀 \"x\\n\"`},
		{"\u009b31m\u202e\x7f\xff", `\u009b31m\u202e\x7f\xff`, `\\u009b31m\\u202e\\x7f\\xff`},
	} {
		text, object := &lockedBuffer{}, &lockedBuffer{}
		NewLog(text, Warn).Warnf("x", "%s", c.text)
		NewJSONLog(object, Warn).Warnf("x", "%s", c.text)
		if got := text.String(); !strings.HasSuffix(got, " warn  x: "+c.line+"\n") {
			t.Errorf("%q: got %q, want %q", c.text, got, c.line)
		}
		if got := object.String(); !strings.HasSuffix(got, `"text":"`+c.json+"\"}\n") {
			t.Errorf("%q as JSON: got %q, want %q", c.text, got, c.json)
		}
	}
}

// A log in JSON has an object a line, whatever is in the text, and nothing finer than its level.
func TestLogInJSONHasAnObjectALine(t *testing.T) {
	out := &lockedBuffer{}
	log := NewJSONLog(out, Warn)
	log.Infof("x", "unheard")
	log.Warnf("train/val", "odd %q\nand more", "text")
	log.bad("train", &batch.Bad{Cause: "decode", Err: errors.New("broken")})
	log.Errorf("", "of the engine")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := [][3]string{{"warn", "train/val", "odd \"text\"\nand more"}, {"warn", "train", "bad sample, decode: broken"}, {"error", "", "of the engine"}}
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), out.String())
	}
	for i, line := range lines {
		var got struct{ Time, Level, Ring, Text string }
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if _, err := time.Parse(time.RFC3339Nano, got.Time); err != nil || [3]string{got.Level, got.Ring, got.Text} != want[i] {
			t.Errorf("line %d: %+v, error %v, want %q", i, got, err, want[i])
		}
	}
}

// Levels have the names of SPDL_LOG; others are refused.
func TestLevelsHaveTheirNames(t *testing.T) {
	for name, want := range map[string]Level{"off": Off, "error": Error, "warn": Warn, "info": Info, "debug": Debug} {
		if got, err := ParseLevel(name); got != want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := ParseLevel("loud"); err == nil || !strings.Contains(err.Error(), "want off, error, warn, info or debug") {
		t.Errorf("loud: %v", err)
	}
}

// Samples that come over the network are not counted as read from files.
func TestSamplesOfAStoreAreNotReadFromFiles(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 4, nil)
	picture, err := os.ReadFile(filepath.Join(dir, "a/00000.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	picture = append(picture, make([]byte, 1<<20)...) // from memory: who reads the file would be this process
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(picture))
	}))
	defer server.Close()
	list := filepath.Join(t.TempDir(), "list.csv")
	if err := os.WriteFile(list, []byte("path\n"+strings.Repeat(server.URL+"/a.jpg\n", 16)), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := spec.Parse([]byte(fmt.Sprintf("name: %s\nsource: {list: %q, remote: {hedge_after: never}}\nbatch: 4\norder: {epochs: 1}\nimage: {transform: [{resize: [8, 8]}]}\n", testName(), list)), "")
	if err != nil {
		t.Fatal(err)
	}
	before := telemetry.ReadProcess()
	r := startAgain(t, s, nil)
	reader := r.attach(shm.AttachOptions{})
	for range 4 {
		take(t, reader)
	}
	now := r.Stats()
	files, store := int64(now.ReadBytes)-int64(before.ReadBytes), now.StoreBytes
	if store < 16<<20 || files > 4<<20 {
		t.Errorf("%d bytes read from files and %d from the store, want at least 16 MiB from the store and hardly any from files", files, store)
	}
}

// A log whose reader has stopped holds nobody up, and says how many lines were left out once it is read again.
func TestLogThatNobodyTakesHoldsNobodyUp(t *testing.T) {
	leavesNothing(t)
	for _, made := range []func(io.Writer, Level) *Log{NewLog, NewJSONLog} {
		read, write, err := os.Pipe()
		must(err)
		log := made(write, Info)
		for range 2000 { // 65,536 bytes fit
			log.Infof("x", "%s", strings.Repeat(".", 100))
		}
		taken := make(chan []byte)
		go func() { all, _ := io.ReadAll(read); taken <- all }()
		eventually(t, "a line to be taken again", func() bool {
			log.Infof("x", "again")
			log.mu.Lock()
			defer log.mu.Unlock()
			return log.lost == 0
		})
		must(write.Close())
		lines := strings.Split(strings.TrimSuffix(string(<-taken), "\n"), "\n")
		must(read.Close())
		whole, notices, lost := 0, 0, 0
		for _, line := range lines {
			if at := strings.Index(line, " lines were left out here"); at > 0 {
				n, err := strconv.Atoi(line[strings.LastIndexAny(line[:at], ` "`)+1 : at])
				must(err)
				notices, lost = notices+1, lost+n
			}
			if strings.Contains(line, strings.Repeat(".", 100)) {
				whole++
			}
		}
		if notices != 1 || whole == 0 || whole+lost < 2000 || !strings.Contains(lines[len(lines)-1], "again") {
			t.Errorf("%d lines came whole, %d notices count %d, want 2000 or more; the last one is %q", whole, notices, lost, lines[len(lines)-1])
		}
	}
}

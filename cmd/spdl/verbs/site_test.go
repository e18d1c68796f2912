package verbs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/core/telemetry/web"
	"github.com/spdl/spdl/shm"
)

// browse asks a page of the service for something.
func browse(t *testing.T, url string) (int, []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), watchdog)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true // a connection kept open would keep its goroutines beyond the test
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, body
}

// servePage starts an engine with a page and returns the page's address.
func servePage(t *testing.T, name string, args ...string) (*service, string) {
	t.Helper()
	s := launch(t, name, args...)
	_, url, found := strings.Cut(s.await("page at ", "spdl: "), "page at ")
	if !found || !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Fatalf("no page: %s", s.seen.String())
	}
	s.await("ready:")
	return s, url
}

// With --http the engine shows what it does: status with a verdict, metrics, the pictures of the newest batch, a trace with
// its stages. A batch that was shown is still there for whoever attaches.
func TestPageShowsTheEngineAndTakesNothing(t *testing.T) {
	name := home(t)
	s, url := servePage(t, name, pictures(t, 40), "--size", "16", "--batch", "4", "--http", "0", "--group", "g")
	var picture []byte
	for end := time.Now().Add(watchdog); ; time.Sleep(5 * time.Millisecond) {
		code, body := browse(t, url+"sheet.png?ring="+name)
		if picture = body; code == http.StatusOK {
			break
		}
		if code != http.StatusNotFound || time.Now().After(end) {
			t.Fatalf("sheet: %d %s", code, body)
		}
	}
	if _, err := png.Decode(bytes.NewReader(picture)); err != nil {
		t.Errorf("sheet: %v", err)
	}
	reader := s.attach(shm.AttachOptions{Group: "g", MaxLeases: 1})
	l, err := reader.Acquire(testContext(t))
	if err != nil || l.Ticket != 0 {
		t.Fatalf("the first batch after a look at the pictures: %v, error %v, want ticket 0", l, err)
	}
	_ = l.Release()
	_ = reader.Close()
	consume(t, s, "g")
	var status web.Status
	_, body := browse(t, url+"status.json")
	if err := json.Unmarshal(body, &status); err != nil || status.Name != name || len(status.Now.Rings) != 1 || status.Now.Rings[0].Verdict.Text == "" {
		t.Errorf("status: %v in %s", err, body)
	}
	if _, body = browse(t, url+"metrics"); !strings.Contains(string(body), fmt.Sprintf(`spdl_stage_workers{ring="%s",stage="decode"}`, name)) {
		t.Errorf("metrics:\n%s", body)
	}
	_, body = browse(t, url+"trace?seconds=0.3")
	for _, want := range []string{`"clock":"CLOCK_MONOTONIC"`, name + " decode 0", name + " fetch ", name + " group g", `"wait for a batch"`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("trace without %q: %.500s", want, body)
		}
	}
	if !json.Valid(body) {
		t.Errorf("the trace is no JSON: %.500s", body)
	}
	if code := s.stop(); code != exitOK {
		t.Errorf("serve: exit code %d", code)
	}
}

// The description's key http does what the flag does, and the flag wins: given empty it turns the page off.
func TestPageByDescription(t *testing.T) {
	name := home(t)
	spec := describe(t, pictures(t, 8), name, "http: 127.0.0.1:0\n")
	s, url := servePage(t, name, spec)
	if code, _ := browse(t, url); code != http.StatusOK {
		t.Errorf("page: %d", code)
	}
	if code := s.stop(); code != exitOK {
		t.Errorf("serve: exit code %d", code)
	}
	off := launch(t, name, spec, "--http", "")
	if line := off.await("page at", "ready:"); !strings.Contains(line, "ready:") {
		t.Errorf("with --http '': %s", line)
	}
	off.stop()
}

// A port in use and an address that makes no sense end serve at once with their own exit codes, and leave nothing.
func TestServeRefusesAddressesOfThePage(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	t.Setenv("SPDL_LOG", "error")
	args := []string{"serve", dir, "--name", name, "--batch", "2", "--http"}
	refused(t, exitBusy, "address already in use; choose another address or port", append(args, taken.Addr().String())...)
	refused(t, exitUsage, `address "localhost", want HOST:PORT such as 127.0.0.1:8080`, append(args, "localhost")...)
	refused(t, exitUsage, `address "127.0.0.1:http"`, append(args, "127.0.0.1:http")...)
	refused(t, exitNotFound, "listen 192.0.2.1:80", append(args, "192.0.2.1:80")...)
}

// batchesSince is what the page says at one moment.
var batchesSince = regexp.MustCompile(`<b>([\d,]+)</b> batches since the start`)

// In a real browser the page shows every stage and the queues between, the ring's slots, the consumer, the verdict, a bad sample's name as
// text and the pictures, and goes on with the engine. SPDL_TEST_SCREENSHOT names a file for a picture of it.
func TestPageInARealBrowser(t *testing.T) {
	browser := ""
	for _, known := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(known); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Skip("no Chromium on this machine: `make page` installs it")
	}
	name, dir := home(t), pictures(t, 40)
	writeFile(t, filepath.Join(dir, "red", "039<b>odd</b>.jpg"), "no picture")
	s, url := servePage(t, name, dir, "--size", "96", "--batch", "8", "--http", "0")
	consume(t, s, "g")
	profile, err := os.MkdirTemp("", "spdl-browser")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(profile)
	args := []string{"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--no-first-run",
		"--user-data-dir=" + profile, "--window-size=1360,1100", "--virtual-time-budget=6000"}
	look := func(more ...string) string {
		ctx, cancel := context.WithTimeout(context.Background(), watchdog)
		defer cancel()
		c := exec.CommandContext(ctx, browser, append(append(args, more...), url)...)
		c.Env = append(os.Environ(), "HOME="+profile)
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v", browser, err)
		}
		return string(out)
	}
	drawn := func() string {
		page := look("--dump-dom")
		for range 4 { // a busy machine may not have drawn the pictures by the end of the browser's virtual time
			if strings.Contains(page, "display: block") {
				break
			}
			page = look("--dump-dom")
		}
		return page
	}
	page := drawn()
	for _, want := range []string{
		"<h1>" + name + "</h1>", `data-stage="plan"`, `data-stage="fetch"`, `data-stage="decode"`, `data-stage="collect"`, `data-stage="order"`, `data-stage="publish"`,
		`id="verdict"`, "the consumer ", `class="queue"`, `class="stage slots`, " held of 8", "no slot free ", "tester · pid ", "samples/s", `src="sheet.png?ring=` + name, "display: block", "039&lt;b&gt;odd&lt;/b&gt;.jpg", "bad samples, the latest first",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q on the page", want)
		}
	}
	batches := func(page string) int {
		said := batchesSince.FindStringSubmatch(page)
		if said == nil {
			t.Fatal("the page does not say how many batches there were")
		}
		n, err := strconv.Atoi(strings.ReplaceAll(said[1], ",", ""))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if before, after := batches(page), batches(drawn()); before < 1 || after <= before {
		t.Errorf("%d batches, and %d at the next look: the page stands still", before, after)
	}
	for _, bad := range []string{"<b>odd</b>", "the engine does not answer", "NaN", "undefined", "Infinity"} {
		if strings.Contains(page[:strings.Index(page, "<script>")], bad) {
			t.Errorf("%q is on the page", bad)
		}
	}
	if file := os.Getenv("SPDL_TEST_SCREENSHOT"); file != "" {
		look("--screenshot=" + file)
	}
	if code := s.stop(); code != exitOK {
		t.Errorf("serve: exit code %d", code)
	}
}

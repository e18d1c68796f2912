package verbs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
	"golang.org/x/image/font"
	"golang.org/x/sys/unix"
)

// sheetOf decodes a sheet and counts the pixels near each colour.
func sheetOf(t *testing.T, data []byte) (m image.Image, near func(color.RGBA) int) {
	t.Helper()
	m, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return m, func(c color.RGBA) (n int) {
		for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
			for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
				r, g, b, _ := m.At(x, y).RGBA()
				d := func(a uint32, b uint8) bool { return math.Abs(float64(a>>8)-float64(b)) <= 6 }
				if d(r, c.R) && d(g, c.G) && d(b, c.B) {
					n++
				}
			}
		}
		return n
	}
}

// Whatever the type and layout of a ring, the sheet shows the colours of the files, normalisation undone.
func TestViewShowsTheColoursOfEveryTypeAndLayout(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	for _, image := range []string{
		"{transform: [{resize: [176, 176]}]}",
		"{transform: [{resize: [176, 176]}], layout: NCHW}",
		"{transform: [{resize: [176, 176]}], dtype: f32}",
		"{transform: [{resize: [176, 176]}, {normalize: imagenet}], dtype: f32, layout: NCHW}",
		"{transform: [{resize: [176, 176]}, {normalize: imagenet}], dtype: f16}",
		"{transform: [{resize: [176, 176]}, {normalize: {mean: [0.1, 0.2, 0.3], std: [2, 3, 4]}}], dtype: bf16}",
	} {
		file := writeFile(t, filepath.Join(t.TempDir(), name+".yaml"), "source: {folder: "+dir+"}\nbatch: 4\nimage: "+image+"\n")
		_, near := sheetOf(t, []byte(good(t, "view", file, "--out", "-")))
		for _, shade := range []color.RGBA{red, blue} {
			if n := near(shade); n < 2*170*170 {
				t.Errorf("%s: %d pixels of %v, want two pictures", image, n, shade)
			}
		}
	}
	gray := writeFile(t, filepath.Join(t.TempDir(), name+".yaml"), "source: {folder: "+dir+"}\nbatch: 4\nimage: {mode: gray, transform: [{resize: [176, 176]}]}\n")
	_, near := sheetOf(t, []byte(good(t, "view", gray, "--out", "-")))
	level := func(c color.RGBA) uint8 { return uint8((299*int(c.R) + 587*int(c.G) + 114*int(c.B)) / 1000) }
	for _, shade := range []color.RGBA{red, blue} {
		if l := level(shade); near(color.RGBA{l, l, l, 255}) < 2*170*170 {
			t.Errorf("gray: %d pixels of level %d, want two pictures", near(color.RGBA{l, l, l, 255}), l)
		}
	}
}

// keepReading attaches a consumer that gives each batch back at once, until the test ends or stop is called.
func (s *service) keepReading() (stop func()) {
	s.t.Helper()
	r := s.attach(shm.AttachOptions{Group: "reading"})
	ctx, cancel := context.WithCancel(testContext(s.t))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if l, err := r.Acquire(ctx); err == nil {
				_ = l.Release()
			} else if !errors.Is(err, shm.EndEpoch) {
				return
			}
		}
	}()
	stop = func() {
		cancel()
		<-done
		_ = r.Close()
	}
	s.t.Cleanup(stop)
	return stop
}

// A look at a ring that nobody reads yet leaves every batch to the consumer that comes first.
func TestViewTakesNothingFromTheNextConsumer(t *testing.T) {
	name, dir := home(t), pictures(t, 26)
	s := serve(t, name, dir, "--size", "16", "--batch", "2", "--epochs", "1")
	t.Setenv("SPDL_LOG", "off")
	refused(t, exitNotFound, `view: nobody reads from "`+name+`" yet, and its batches are kept for whoever attaches first; attach a consumer, or view the description`,
		"view", name, "-o", filepath.Join(t.TempDir(), "a.png"))
	if got := keys(t, s.attach(shm.AttachOptions{})); len(got) != 26 {
		t.Errorf("the consumer that came next got %d of 26 samples", len(got))
	}
	s.stop()
}

// Of a running ring whose data have ended there is nothing to see; the remedies are others than for a description.
func TestViewOfARingThatHasEnded(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	s := serve(t, name, dir, "--size", "16", "--batch", "2", "--epochs", "1")
	r := s.attach(shm.AttachOptions{})
	keys(t, r)
	if _, err := r.Acquire(testContext(t)); !errors.Is(err, shm.EndData) {
		t.Fatalf("got %v, want the end", err)
	}
	t.Setenv("SPDL_LOG", "off")
	refused(t, exitNotFound, "view: the ring has come to the end of its epochs; view the description, or start the engine again", "view", name)
	s.stop()
}

// A running ring is viewed by a consumer that comes and goes; the file is named after the ring.
func TestViewReadsARunningRing(t *testing.T) {
	name, dir := home(t), pictures(t, 8)
	s := serve(t, name, dir, "--size", "96", "--batch", "8")
	s.keepReading()
	c := command(t, "view", name, "--skip", "2")
	c.Dir = t.TempDir()
	printed, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	out := string(printed)
	batch, epoch, step := 0, 0, 0
	if _, err := fmt.Sscanf(out, name+".png: 8 samples of batch %d (epoch %d, step %d) of "+name+"\n", &batch, &epoch, &step); err != nil || batch < 2 || epoch != batch || step != 0 {
		t.Errorf("printed %q (%v), want a batch from 2 on", out, err)
	}
	data, err := os.ReadFile(filepath.Join(c.Dir, name+".png"))
	if err != nil {
		t.Fatal(err)
	}
	if _, near := sheetOf(t, data); near(red) < 4*90*70 || near(blue) < 4*90*70 {
		t.Errorf("%d red and %d blue pixels", near(red), near(blue))
	}
	s.await("detach of consumer")
	bySocket := good(t, "view", filepath.Join(os.Getenv("SPDL_RUNTIME_DIR"), name+".sock"), "--out", "-")
	if _, near := sheetOf(t, []byte(bySocket)); near(red) < 4*90*70 {
		t.Errorf("by its socket's path: %d red pixels", near(red))
	}
	if left, _ := filepath.Glob(filepath.Join(c.Dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	s.stop()
}

// A sheet is a JPEG where the file's name says so; nothing else is written under such a name.
func TestViewWritesTheFormatOfTheFilesName(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	for file, want := range map[string]string{"a.jpg": "jpeg", "b.JPEG": "jpeg", "c.PNG": "png", "d": "png"} {
		path := filepath.Join(t.TempDir(), file)
		good(t, "view", describe(t, dir, name, ""), "-o", path)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, format, err := image.Decode(bytes.NewReader(data)); err != nil || format != want {
			t.Errorf("%s: %q, %v, want %s", file, format, err, want)
		}
	}
}

// What is there already and no file, such as /dev/null, takes the bytes and stays what it is.
func TestSpecialFilesAreWrittenToAndNotReplaced(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	spec, fifo := describe(t, dir, name, ""), filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		args  []string
		whole func(data []byte) bool
	}{
		{[]string{"view", spec, "-o", fifo}, func(data []byte) bool { _, err := png.Decode(bytes.NewReader(data)); return err == nil }},
		{[]string{"replay", spec, "0", "--raw", fifo}, func(data []byte) bool { return len(data) == 4*16*16*3 }},
	} {
		read := make(chan []byte, 1)
		go func() {
			data, _ := os.ReadFile(fifo)
			read <- data
		}()
		good(t, c.args...)
		if info, err := os.Lstat(fifo); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
			t.Fatalf("%s: the FIFO is %v now (%v)", c.args[0], info, err) // whoever reads it reads on
		}
		if data := <-read; !c.whole(data) {
			t.Errorf("%s: %d bytes came out: %.20q", c.args[0], len(data), data)
		}
	}
}

// What is unusual about a row is framed and named.
func TestViewFramesBadRows(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	writeFile(t, filepath.Join(dir, "blue", "text.jpg"), "no picture")
	file := describe(t, dir, name, "bad_sample: {policy: mask}\norder: {last: pad}\n")
	_, near := sheetOf(t, []byte(good(t, "view", file, "--batch", "5", "--out", "-")))
	if n := near(warned); n < 4*3*170 {
		t.Errorf("%d pixels of the frame's colour", n)
	}
	_, near = sheetOf(t, []byte(good(t, "view", describe(t, pictures(t, 4), name, ""), "--out", "-")))
	if n := near(warned); n > 0 {
		t.Errorf("%d pixels of the frame's colour without a bad row", n)
	}
}

// Rows and columns shape the page, and names of any length fit into it.
func TestSheetIsLaidOut(t *testing.T) {
	cells := func(n int) (all []cell) {
		for range n {
			all = append(all, cell{picture: image.NewRGBA(image.Rect(0, 0, 224, 112)), title: strings.Repeat("wide ", 40), text: strings.Repeat("ü/", 200)})
		}
		return all
	}
	page, err := drawSheet("ring", "about", cells(7), 3)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := page.Bounds().Size(), image.Pt(3*(cellSide+cellGap)+cellGap, headHeight+3*(cellSide/2+2*lineHeight+cellGap+4)+cellGap); got != want {
		t.Errorf("page of %v, want %v", got, want)
	}
	if page, err = drawSheet("ring", "about", nil, 0); err != nil || page.Bounds().Empty() {
		t.Errorf("an empty batch: %v, %v", page, err)
	}
	many := cells(3000)
	if _, err := drawSheet("ring", "about", many, 3000); exitCode(err) != exitUsage {
		t.Errorf("3000 side by side: %v, want a refusal", err)
	}
	if got := many[0].picture.Bounds().Dx(); got != 224 {
		t.Errorf("what is refused was scaled first: a picture is %d pixels wide, want 224", got)
	}
	if m := fit(image.NewRGBA(image.Rect(0, 0, 1, 1))); m.Bounds().Dx() != cellSide {
		t.Errorf("one pixel becomes %v", m.Bounds())
	}
	if m := fit(image.NewRGBA(image.Rect(0, 0, 5000, 1))); m.Bounds().Dx() != cellSide || m.Bounds().Dy() != 1 {
		t.Errorf("5000 x 1 becomes %v", m.Bounds())
	}
}

// A text that fits is left alone; of one that does not, the beginning or the end is kept, within the width.
func TestTextIsCutToItsCell(t *testing.T) {
	s := &sheet{}
	if err := s.fonts(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "short", strings.Repeat("ü", 500), "a/" + strings.Repeat("long/", 60) + "end.jpg"} {
		for _, width := range []int{0, 10, 120, 176} {
			for what, cut := range map[string]string{"head": head(s.text, text, width), "tail": tail(s.text, text, width)} {
				measured := font.MeasureString(s.text, cut).Ceil()
				if text == cut && measured <= width {
					continue
				}
				kept := strings.Trim(cut, "…")
				ok := strings.HasPrefix(text, kept) && what == "head" || strings.HasSuffix(text, kept) && what == "tail"
				if !ok || measured > width+1 && kept != "" || font.MeasureString(s.text, text).Ceil() <= width-1 {
					t.Errorf("%s of %.20q in %d: %q, %d wide", what, text, width, cut, measured)
				}
			}
		}
	}
}

// patternRing serves a ring of another producer than the engine, under name.
func patternRing(t *testing.T, cfg shm.Config) *shm.Ring {
	t.Helper()
	r, err := shm.Create(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server, err := shm.Listen(shm.ServerConfig{Name: cfg.Name}, shm.Service{Ring: r})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = server.Close(), r.Close() })
	return r
}

// Shards by a pattern below the working directory are shown as check reads them, and are no ring's name.
func TestViewTakesPatternsOfShards(t *testing.T) {
	home(t)
	dir := t.TempDir()
	tarOf(t, pictures(t, 4), filepath.Join(dir, "train-0.tar"))
	inDir(t, dir)
	for _, pattern := range []string{"train-*.tar", "train-{0..0}.tar"} {
		wants(t, good(t, "view", pattern, "--size", "8", "--out", "sheet.png"), "4 samples of batch 0")
	}
	refused(t, exitNotFound, `pattern "val-*.tar": no file is named so`, "view", "val-*.tar")
}

func TestViewRefusesWhatItCannotShow(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	t.Setenv("SPDL_LOG", "off")
	refused(t, exitNotFound, `view: "`+name+`" is no file or folder, and shm: attach "`+name+`": no engine of this name`, "view", name)
	refused(t, exitNotFound, `view: "/no/such": no such file or folder`, "view", "/no/such")
	refused(t, exitUsage, "view: nothing to read", "view")
	refused(t, exitUsage, "view: --rows 0, want 1 or more", "view", dir, "--rows", "0")
	refused(t, exitUsage, "view: --columns -1, want 1 or more, or 0 to have them chosen", "view", dir, "--columns", "-1")
	refused(t, exitUsage, "view: --skip -2, want 0 or more", "view", dir, "--skip", "-2")
	refused(t, exitUsage, "view: --timeout 0s, want more than 0s", "view", dir, "--timeout", "0s")
	refused(t, exitNotFound, "no such file or directory", "view", describe(t, dir, name, ""), "--out", "/no/such/a.png")
	refused(t, exitUsage, `view: --out "a.webp", want a name that ends in .png or .jpg`, "view", dir, "--out", "a.webp")
	refused(t, exitNotFound, "view: --skip 9, and the data end after 1 batch; skip fewer, or raise --epochs", "view", describe(t, dir, name, "order: {epochs: 1}\n"), "--skip", "9")

	patternRing(t, shm.Config{
		Name: name, Access: shm.Shared, Slots: 4, BatchRows: 2,
		Tensors: []shm.Tensor{{Name: "x", Kind: shm.Dense, Role: shm.RoleField, DType: shm.DType{Code: 1, Bits: 8, Lanes: 1}, Shape: []int64{2, 64}}},
	})
	consumer, err := shm.Attach(testContext(t), name, shm.AttachOptions{MaxLeases: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	refused(t, exitFailed, "has no field of pictures", "view", name)
}

// A ring that rests because a group holds every batch is named as what view waits for, within the time given.
func TestViewGivesUpWaiting(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	s := serve(t, name, dir, "--size", "16", "--group", "idle")
	t.Setenv("SPDL_LOG", "off")
	for published := uint64(0); published < 8; time.Sleep(5 * time.Millisecond) { // until it rests
		snapshot, err := shm.Observe(testContext(t), name)
		if err != nil {
			t.Fatal(err)
		}
		report, err := snapshot.Report()
		if err != nil {
			t.Fatal(err)
		}
		published = report.Published
	}
	err := ""
	for _, timeout := range []string{"200ms", "2s", "20s"} { // longer where the engine had no CPU to answer in time
		r := spdl(t, "view", name, "--timeout", timeout)
		if err = r.err; r.code != exitFailed {
			t.Fatalf("exit code %d, %s", r.code, err)
		}
		if !strings.Contains(err, "has not answered within") {
			wants(t, err, "view: no batch within "+timeout+"; a ring rests while a group holds every batch, see spdl inspect "+name)
			break
		}
	}
	wants(t, err, "no batch within")
	s.stop()
}

// An engine that is there and does not answer is named as such by every verb, with a remedy; a running top does not call it gone.
func TestAnEngineThatDoesNotAnswerIsNamed(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	s := serve(t, name, dir, "--size", "16")
	t.Setenv("SPDL_LOG", "off")
	watching := command(t, "top", name, "--interval", "50ms")
	watching.Env = append(watching.Env, "SPDL_TEST_INSPECT_TIME=5s")
	shown, err := watching.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaint strings.Builder
	watching.Stderr = &complaint
	if err := watching.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(shown)
	lines.Scan()
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := unix.Waitid(unix.P_PID, s.cmd.Process.Pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil); err != nil { // its threads stop one after the other
		t.Fatal(err)
	}
	t.Setenv("SPDL_TEST_INSPECT_TIME", "200ms")
	want := `: the engine of "` + name + `" has not answered within 200ms; it is stopped (kill -CONT lets it go on) or has no CPU (try again)`
	for _, args := range [][]string{
		{"view", name, "--timeout", "200ms"}, {"view", name}, {"top", name, "--once"}, {"inspect", name}, {"inspect", name, "--check"}, {"trace", name, "-o", "-"},
	} {
		refused(t, exitFailed, args[0]+want, args...)
	}
	for lines.Scan() { // to its end
	}
	_ = watching.Wait()
	if code := watching.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(complaint.String(), "top: the engine of \""+name+"\" has not answered within 5s") {
		t.Errorf("a running top: exit code %d, %s", code, complaint.String())
	}
	if err := s.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s.stop()
}

func TestPicturesOfOddShapesAreRefused(t *testing.T) {
	record := func(bits, code uint8, channels int64) *shm.TensorRecord {
		t := &shm.TensorRecord{Axes: shm.AxesNHWC, DtypeBits: bits, DtypeCode: code, DtypeLanes: 1, Ndim: 4}
		copy(t.Shape[:], []int64{2, 4, 4, channels})
		copy(t.Name[:], "image")
		return t
	}
	if _, err := pixelsOf(record(8, 1, 5), []int{4, 4, 5}, false, pictureFacts{}); err == nil || !strings.Contains(err.Error(), `field "image" has 5 channels, want 1 or 3`) {
		t.Errorf("5 channels: %v", err)
	}
	if _, err := pixelsOf(record(64, 0, 3), []int{4, 4, 3}, false, pictureFacts{}); err == nil || !strings.Contains(err.Error(), `field "image" is i64, want u8, f16, bf16 or f32`) {
		t.Errorf("i64: %v", err)
	}
	files := record(8, 1, 3)
	files.Kind = shm.Ragged
	files.Role = shm.RoleField
	if _, err := painterOf([]shm.TensorRecord{*files}, &mediumFacts{Name: "image", Image: &pictureFacts{}, own: true}, nil); err == nil || !strings.Contains(err.Error(), `field "image": the ring has files, and does not tell`) {
		t.Errorf("files: %v", err)
	}
}

// Masks are drawn in PASCAL VOC's colours, whose first are black, dark red, dark green and dark yellow, and whose last is called void.
func TestMasksAreDrawnInColours(t *testing.T) {
	record := &shm.TensorRecord{Axes: shm.AxesNHWC, DtypeBits: 8, DtypeCode: 1, DtypeLanes: 1, Ndim: 4}
	p, err := pixelsOf(record, []int{1, 5, 1}, false, pictureFacts{Mode: spec.Index})
	if err != nil {
		t.Fatal(err)
	}
	m := p.picture([]byte{0, 1, 2, 3, 255}, 0)
	for x, want := range []color.RGBA{{0, 0, 0, 255}, {128, 0, 0, 255}, {0, 128, 0, 255}, {128, 128, 0, 255}, {224, 224, 192, 255}} {
		if got := m.RGBAAt(x, 0); got != want {
			t.Errorf("class %d of 0, 1, 2, 3, 255: got %v, want %v", x, got, want)
		}
	}
}

func TestSheetSaysHowManyRowsItShows(t *testing.T) {
	b := &shm.Batch{Ticket: 92, Epoch: 1, EpochStep: 29, Rows: 32}
	if got, want := aboutBatch(b, 32, "8 x 8 u8"), "batch 92 · epoch 1, step 29 · 32 rows · 8 x 8 u8"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	b.NBad = 2
	if got, want := aboutBatch(b, 24, "8 x 8 u8"), "batch 92 · epoch 1, step 29 · 24 of 32 rows · 8 x 8 u8 · 2 bad"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Masks of objects tint what they cover in a row, of rows of one size and of pictures of their own, below the outlines of their boxes.
func TestViewTintsMasks(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	table := writeFile(t, filepath.Join(dir, "t.jsonl"), strings.Repeat(`{"path": "blue/000.jpg", "b": [[8, 6, 24, 18], [0, 0, 8, 8]], "s": [[[8, 6, 24, 6, 24, 18, 8, 18]], [[0, 0, 4, 0, 4, 4, 0, 4]]]}`+"\n", 2))
	for _, image := range []string{"transform: [center_crop: [24, 32]]", "shape: ragged, room: [24, 32]"} {
		text := fmt.Sprintf("source: {list: %q, columns: [{name: b, type: list, dtype: i32, shape: [-1, 4], max_length: 3}, {name: s, max_bytes: 4KiB}]}\n"+
			"batch: 1\nimage: {%s, boxes: {column: b, masks: s}}\n", table, image)
		file := writeFile(t, filepath.Join(t.TempDir(), name+".yaml"), text)
		m, _ := sheetOf(t, []byte(good(t, "view", file, "--out", "-")))
		at := func(x, y int) color.RGBA { // of the row, several times as large
			return color.RGBAModel.Convert(m.At(cellGap+5*x+2, headHeight+cellGap/2+5*y+2)).(color.RGBA)
		}
		plain := at(28, 21)
		for _, c := range []struct {
			x, y int
			want [3]uint8
		}{{16, 12, classColour(1)}, {2, 2, classColour(2)}} {
			if got, want := at(c.x, c.y), half(plain, c.want); max(abs(got.R, want.R), abs(got.G, want.G), abs(got.B, want.B)) > 8 {
				t.Errorf("%s: %v at (%d, %d), want %v, half of it %v", image, got, c.x, c.y, want, c.want)
			}
		}
		if got := at(6, 6); max(abs(got.R, plain.R), abs(got.G, plain.G), abs(got.B, plain.B)) > 8 {
			t.Errorf("%s: %v beside the masks, want %v", image, got, plain)
		}
	}
}

func abs(a, b uint8) int { return max(int(a), int(b)) - min(int(a), int(b)) }

// Boxes and points that follow their pictures are drawn on them, where they lie in the row, whatever the format, ragged or padded.
func TestViewMarksBoxesAndPoints(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	table := writeFile(t, filepath.Join(dir, "t.jsonl"), strings.Repeat(`{"path": "blue/000.jpg", "b": [[8, 6, 16, 12]], "c": [[0.5, 0.5, 0.5, 0.5]], "p": [[8, 6, 1], [24, 18, 0]]}`+"\n", 2))
	for what, want := range map[string]int{"": 0, "boxes: {column: b, format: xywh}": 324, "boxes: {column: c, format: cxcywh, normalized: true}": 324, "points: p": 4} {
		for _, padded := range []string{"", ", padded: true"} {
			text := fmt.Sprintf("source: {list: %q, columns: [{name: b, type: list, dtype: i32, shape: [-1, 4], max_length: 3%s}, {name: c, type: list, dtype: f64, shape: [-1, 4], max_length: 3%s}, {name: p, type: list, dtype: f32, shape: [2, 3]}]}\n"+
				"batch: 1\nimage: {transform: [center_crop: [20, 28], {horizontal_flip: 1}], %s}\n", table, padded, padded, what)
			file := writeFile(t, filepath.Join(t.TempDir(), name+".yaml"), text)
			m, near := sheetOf(t, []byte(good(t, "view", file, "--out", "-")))
			if got := near(marked); got != want {
				t.Errorf("%s%s: %d pixels are marked, want %d", what, padded, got, want)
			}
			if corner := m.At(cellGap+6*6+1, headHeight+cellGap/2+6*4+1); want == 324 && color.RGBAModel.Convert(corner) != marked { // of [6, 4, 22, 16], six times as large
				t.Errorf("%s%s: %v at the corner", what, padded, corner)
			}
		}
	}
}

package verbs

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/shm"
)

var regexpIndex = regexp.MustCompile(`"index": \[[0-9]+,`)

const replaySpec = "order: {seed: 5, epochs: 3}\nring: {hash: xxh3}\n"

// again replays one batch.
func again(t *testing.T, args ...string) (b replayed) {
	t.Helper()
	out := good(t, append([]string{"replay", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &b); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return b
}

// Any batch of a served run is made again with its samples, its bytes and its hash.
func TestReplayMakesADeliveredBatchAgain(t *testing.T) {
	name, dir := home(t), pictures(t, 10)
	file := describe(t, dir, name, replaySpec)
	s := serve(t, name, file)
	reader := s.attach(shm.AttachOptions{})
	for step := 0; ; step++ {
		l, err := reader.Acquire(testContext(t))
		if err == shm.EndEpoch {
			step--
			continue
		}
		if err == shm.EndData {
			if step != 9 {
				t.Fatalf("%d steps, want 9", step)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		raw := filepath.Join(t.TempDir(), "raw")
		b := again(t, file, fmt.Sprint(step), "--raw", raw)
		bytes, err := os.ReadFile(raw)
		if err != nil {
			t.Fatal(err)
		}
		var index []int64
		for _, r := range rowsOf(l, l.Rows, columnsOf(reader.Schema())) {
			index = append(index, r.index)
		}
		if b.Hash != fmt.Sprintf("%016x", l.Hash) || l.Hash == 0 || !slices.Equal(b.Index, index) || string(bytes) != string(l.Tensor(0)) || b.Epoch != l.Epoch {
			t.Fatalf("step %d: replayed %+v, delivered epoch %d, samples %v, hash %016x", step, b, l.Epoch, index, l.Hash)
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if code := s.stop(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
}

// The batch is that of the step, though delivery: ready would give the next one first, which is ready long before.
func TestReplayWaitsForItsBatch(t *testing.T) {
	name := home(t)
	file := describe(t, slowOne(t, 4), name, "order: {shuffle: false}\nring: {delivery: ready}\nlimits: {cpus: 2}\n")
	if b := again(t, file, "1"); b.Step != 1 {
		t.Errorf("got %+v, want step 1", b)
	}
}

// slowOne is a folder of 12 pictures, one of which takes longer to decode than all others.
func slowOne(t *testing.T, slow int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for i := range 12 {
		side := 8
		if i == slow {
			side = 2500
		}
		m := image.NewRGBA(image.Rect(0, 0, side, side))
		for k := range m.Pix {
			m.Pix[k] = byte(k * k >> 7)
		}
		var b bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, m); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, fmt.Sprintf("%02d.png", i)), b.String())
	}
	return dir
}

func TestReplayShowsAndDraws(t *testing.T) {
	name, dir := home(t), pictures(t, 10)
	file := describe(t, dir, name, "order: {shuffle: false}\nworld: {size: 2}\n")
	png := filepath.Join(t.TempDir(), "x.png")
	out := good(t, "replay", file, "1", "--rank", "1", "--out", png)
	wants(t, out, name+": step 1 (epoch 0), rank 1: 1 row, 0 bad, hash ", "0 9 1 red red/009.jpg")
	if data, err := os.ReadFile(png); err != nil || !strings.HasPrefix(string(data), "\x89PNG") {
		t.Fatalf("no PNG: %v", err)
	}
}

// Every field is in the .npz under its name, without the room that a padded ring keeps between its rows.
func TestReplayWritesEveryFieldAsAnArray(t *testing.T) {
	name, dir := home(t), tones(t, 2) // 1000 and 1100 samples
	for shape, want := range map[string]struct {
		shape  []int64
		tone   func(row, channel, at int64) int64 // place in the array
		others map[string][]int64                 // shapes
	}{
		"padded, layout: NCL": {[]int64{2, 2, 1100}, func(r, c, i int64) int64 { return (r*2+c)*1100 + i }, nil},
		"padded, layout: NLC": {[]int64{2, 1100, 2}, func(r, c, i int64) int64 { return (r*1100+i)*2 + c }, nil},
		"fixed":               {[]int64{2, 2, 2000}, func(r, c, i int64) int64 { return (r*2+c)*2000 + i }, nil},
		"ragged, layout: NLC": {[]int64{4200}, func(r, c, i int64) int64 { return (r*1000+i)*2 + c }, map[string][]int64{"audio.offsets": {3}}},
	} {
		file := writeFile(t, filepath.Join(t.TempDir(), name+".yaml"), "source: {folder: "+dir+
			"}\nbatch: 2\norder: {shuffle: false}\naudio: {rate: 8000, channels: 2, dtype: i16, length: 2000, shape: "+shape+"}\n")
		raw := filepath.Join(t.TempDir(), "step.npz")
		good(t, "replay", file, "0", "--raw", raw)
		data, err := os.ReadFile(raw)
		if err != nil {
			t.Fatal(err)
		}
		z, err := array.OpenNPZ(data)
		if err != nil {
			t.Fatal(err)
		}
		audio, err := z.Array("audio")
		if err != nil || audio.DType != tensor.I16 || !slices.Equal(audio.Shape, want.shape) {
			t.Fatalf("%s: %v %v, %v, want i16 %v", shape, audio.DType, audio.Shape, err, want.shape)
		}
		for row, n := range []int64{1000, 1100} {
			for channel := range int64(2) {
				for i := range n {
					at := 2 * want.tone(int64(row), channel, i)
					if got := int16(binary.LittleEndian.Uint16(audio.Data[at:])); got != int16(32767*(1-2*(i%2))) {
						t.Fatalf("%s: row %d, channel %d, sample %d: %d", shape, row, channel, i, got)
					}
				}
			}
		}
		others := map[string][]int64{"index": {2}, "length": {2}, "status": {2}, "label": {2}, "key": {10}, "key.offsets": {3}}
		maps.Copy(others, want.others)
		for name, shape := range others {
			if a, err := z.Array(name); err != nil || !slices.Equal(a.Shape, shape) {
				t.Errorf("%s: %v, %v, want %v", name, a.Shape, err, shape)
			}
		}
		if n := len(others) + 1; len(z.Names()) != n {
			t.Errorf("%s: fields %v, want %d", shape, z.Names(), n)
		}
	}
}

func TestReplayRefusesWhatIsNotThere(t *testing.T) {
	name, dir := home(t), pictures(t, 10)
	file := describe(t, dir, name, replaySpec)
	refused(t, exitUsage, "replay: nothing to read", "replay")
	refused(t, exitUsage, `replay: step "soon", want a whole number from 0`, "replay", file, "soon")
	refused(t, exitUsage, "replay: step 9, want 0 to 8: 3 epochs of 3 steps", "replay", file, "9")
	endless := describe(t, dir, name, "")
	for _, step := range []string{"2305843009213693952", "9223372036854775807"} {
		refused(t, exitUsage, "replay: step "+step+", want 0 to 2305843009213693951: steps are counted so far, also of endless epochs of 3 steps", "replay", endless, step)
	}
	good(t, "replay", endless, "2305843009213693951")
	refused(t, exitUsage, "world.size: got 1, want at least rank + lanes = 1 + 1 = 2", "replay", file, "0", "--rank", "1")
	refused(t, exitNotFound, "replay: --state: ", "replay", file, "0", "--state", "/no/such")
	refused(t, exitUsage, "got null, want a value", "replay", file, "0", "--state", `{"version": null}`)
	refused(t, exitUsage, "got null, want a value", "replay", file, "0", "--state", ` {"version": null}`)
	refused(t, exitUsage, "replay: --state is empty", "replay", file, "0", "--state", "")
	refused(t, exitUsage, "replay: --journal is empty", "replay", file, "0", "--journal", "")
	refused(t, exitUsage, `empty.json": the file is empty`, "replay", file, "0", "--state", writeFile(t, filepath.Join(t.TempDir(), "empty.json"), ""))
	refused(t, exitUsage, `replay: --state "`+dir+`": want a file of JSON`, "replay", file, "0", "--state", dir)
	refused(t, exitUsage, `replay: --out "a.gif", want a name that ends in .png or .jpg`, "replay", file, "0", "--out", "a.gif")
	refused(t, exitUsage, "replay: --out and --raw want a file; standard output has the report", "replay", file, "0", "--out", "-")
	refused(t, exitUsage, "replay: --out and --raw want a file; standard output has the report", "replay", file, "0", "--raw", "-")
	refused(t, exitNotFound, `replay: --raw "/no/such/raw": no such file or directory`, "replay", file, "0", "--raw", "/no/such/raw")
}

// logOf is what the consumers of steps [0, n) would have written, a line a batch.
func logOf(t *testing.T, file string, steps, world int) (lines []string) {
	t.Helper()
	for step := range steps {
		for rank := range world {
			b := again(t, file, fmt.Sprint(step), "--rank", fmt.Sprint(rank))
			lines = append(lines, fmt.Sprintf(`{"step": %d, "rank": %d, "world": %d, "n_bad": %d, "index": %s}`,
				step, rank, world, b.Bad, strings.ReplaceAll(fmt.Sprint(b.Index), " ", ",")))
		}
	}
	return lines
}

func writeLog(t *testing.T, lines []string) string {
	t.Helper()
	return writeFile(t, filepath.Join(t.TempDir(), "log.jsonl"), strings.Join(lines, "\n")+"\n")
}

func TestVerifyProvesARunAndNamesItsFaults(t *testing.T) {
	name, dir := home(t), pictures(t, 10)
	file := describe(t, dir, name, "world: {size: 2}\norder: {seed: 5, epochs: 2}\n") // global batch 8: 2 steps an epoch
	lines := logOf(t, file, 4, 2)
	out := good(t, "verify", file, writeLog(t, lines[:5]), writeLog(t, lines[5:]))
	wants(t, out, "8 batches, 20 rows, steps 0 to 3 (epochs 0 to 1 of 2 steps)", "every sample came as often as planned")

	for want, spoil := range map[string]func([]string) []string{
		"step 2: rows 0 to 3: missing":         func(l []string) []string { return slices.Delete(l, 4, 5) },
		"steps 1 to 1: missing":                func(l []string) []string { return slices.Delete(l, 2, 4) },
		"step 2: rows 4 to 7 came before, in ": func(l []string) []string { return append(l, l[5]) },
		"holds other samples than planned: got [": func(l []string) []string {
			l[1] = strings.Replace(l[1], `"index": [`, `"index": [3,`, 1)
			return l
		},
		"1 bad, and samples that were not planned": func(l []string) []string {
			l[0] = `{"step": 0, "rank": 0, "world": 2, "n_bad": 1, "index": [99]}`
			return l
		},
	} {
		r := spdl(t, "verify", file, writeLog(t, spoil(slices.Clone(lines))))
		if r.code != exitFailed || !strings.Contains(r.out, want) || !strings.Contains(r.err, "the run did not see what was planned") {
			t.Errorf("want %q, got exit code %d\n%s%s", want, r.code, r.out, r.err)
		}
	}
	// A skipped sample is accounted for by n_bad.
	skipped := slices.Clone(lines)
	skipped[0] = regexpIndex.ReplaceAllString(strings.Replace(skipped[0], `"n_bad": 0`, `"n_bad": 1`, 1), `"index": [`)
	good(t, "verify", file, writeLog(t, skipped))
}

// A description may be given as JSON; all arguments are logs then.
func TestVerifyReadsADescriptionOfTheCommandLine(t *testing.T) {
	name, dir := home(t), pictures(t, 8)
	file := describe(t, dir, name, "order: {seed: 5, epochs: 1}\n")
	text := fmt.Sprintf(`{"name": %q, "source": {"folder": %q}, "batch": 4, "image": {"transform": [{"resize": [16, 16]}]}, "order": {"seed": 5, "epochs": 1}}`, name, dir)
	lines := logOf(t, file, 2, 1)
	out := good(t, "verify", "--spec-json", text, writeLog(t, lines[:1]), writeLog(t, lines[1:]))
	wants(t, out, "2 batches, 8 rows, steps 0 to 1", "every sample came as often as planned")
}

// A journal that is named and not there, or is a directory, is not passed over in silence: verify would prove less, and replay make other bytes.
func TestAJournalThatIsNotThereIsRefused(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	file, absent := describe(t, dir, name, "journal: "+filepath.Join(t.TempDir(), "later")+"\n"), filepath.Join(dir, "absent")
	log := writeLog(t, logOf(t, file, 1, 1))
	for verb, argument := range map[string]string{"verify": log, "replay": "0"} {
		refused(t, exitNotFound, verb+`: --journal "`+absent+`": no such file or directory; name the file that spdl serve --journal keeps`, verb, file, argument, "--journal", absent)
		refused(t, exitUsage, verb+`: journal "`+dir+`" is a directory, want the file`, verb, file, argument, "--journal", dir)
		refused(t, exitNotFound, verb+`: journal "`+log+`": "`+log+`.faults", where its engine keeps which samples could not be read, is not beside it: no such file or directory; `,
			verb, file, argument, "--journal", log) // any other file
		good(t, verb, file, argument) // the description's is not there before its engine was
	}
	writeFile(t, absent+".faults", "")
	good(t, "verify", file, log, "--journal", absent)
}

// The world size may change on the way: the same rows, cut otherwise.
func TestVerifyFollowsAChangeOfTheWorldSize(t *testing.T) {
	name, dir := home(t), pictures(t, 16)
	two := describe(t, dir, name, "world: {size: 2}\norder: {seed: 5, epochs: 2}\n")
	one := describe(t, dir, name, "order: {seed: 5, epochs: 2}\n")
	text, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, one, strings.Replace(string(text), "batch: 4", "batch: 8", 1))
	first, second := logOf(t, two, 2, 2), logOf(t, one, 4, 1)[2:]
	wants(t, good(t, "verify", two, writeLog(t, append(first, second...))), "6 batches, 32 rows, steps 0 to 3")
}

// Batches of different sizes are made again and proven as all are, also where the world size changes on the way.
func TestVerifyProvesBatchesOfABoundedLength(t *testing.T) {
	home(t)
	dir := t.TempDir()
	text := "n\n"
	for i := range 23 {
		text += fmt.Sprintln(i)
	}
	writeFile(t, filepath.Join(dir, "x.csv"), text)
	of := func(world, multiple int) string {
		return writeFile(t, filepath.Join(dir, fmt.Sprintf("%d.yaml", world)), fmt.Sprintf("source: {list: x.csv, columns: [{name: n, type: i64}]}\nbatch: %d\nworld: {size: %d}\n"+
			"order: {seed: 5, epochs: 2, buckets: {by: n, count: 4, max_total: %d, multiple_of: %d}}\n", 8/world, world, 60/world, multiple))
	}
	one, two := of(1, 2), of(2, 1)
	out := good(t, "check", two)
	steps, err := strconv.Atoi(regexp.MustCompile(`([0-9]+) steps an epoch`).FindStringSubmatch(out)[1])
	if err != nil || steps < 5 {
		t.Fatalf("%v\n%s", err, out)
	}
	first, second := logOf(t, two, steps+1, 2), logOf(t, one, 2*steps, 1)[steps+1:]
	lines := append(first, second...)
	for _, file := range []string{one, two} {
		wants(t, good(t, "verify", file, writeLog(t, lines)), fmt.Sprintf("%d batches, 46 rows, steps 0 to %d", len(lines), 2*steps-1), "every sample came as often as planned")
	}
	for want, spoilt := range map[string][]string{
		"step 1: rows 0 to ":                     slices.Delete(slices.Clone(lines), 2, 3),
		"came before, in ":                       append(slices.Clone(lines), lines[len(lines)-2]),
		"holds other samples than planned: got ": append([]string{strings.Replace(lines[0], `"index": [`, `"index": [3,`, 1)}, lines[1:]...),
	} {
		if r := spdl(t, "verify", one, writeLog(t, spoilt)); r.code != exitFailed || !strings.Contains(r.out, want) {
			t.Errorf("want %q, got exit code %d\n%s%s", want, r.code, r.out, r.err)
		}
	}
	refused(t, exitUsage, "log.jsonl:1: sampler: world size: got 4, want one that divides 2, of which the rows of each step are a multiple", "verify", one,
		writeLog(t, []string{`{"step": 0, "rank": 0, "world": 4, "index": []}`}))
}

func TestVerifyRefusesWhatIsNoLog(t *testing.T) {
	name, dir := home(t), pictures(t, 10)
	file := describe(t, dir, name, "")
	refused(t, exitUsage, "verify: got 1 argument, want a description and the logs", "verify", file)
	refused(t, exitUsage, "verify: got 0 arguments, want a description and the logs", "verify", "--spec-json", "{}")
	refused(t, exitNotFound, "verify: open ", "verify", "--spec-json", `{"source": {"folder": "`+dir+`"}, "batch": 4, "image": {"transform": [{"resize": 8}, {"center_crop": 8}]}}`, "/no/such/log")
	refused(t, exitNotFound, "verify: open ", "verify", file, "/no/such/log")
	refused(t, exitUsage, "verify: the logs are empty", "verify", file, writeLog(t, nil))
	refused(t, exitUsage, `log.jsonl:2: got "not JSON", want an object with step, rank and index`, "verify", file,
		writeLog(t, []string{"", "not JSON"}))
	refused(t, exitUsage, `log.jsonl:1: got "{\"rank\": 0, \"index\": []}", want`, "verify", file, writeLog(t, []string{`{"rank": 0, "index": []}`}))
	refused(t, exitUsage, "log.jsonl:1: rank 3 in a world of 1", "verify", file, writeLog(t, []string{`{"step": 0, "rank": 3, "index": []}`}))
	refused(t, exitUsage, "log.jsonl:1: engine: world size 3: does not divide the global batch of 4", "verify", file,
		writeLog(t, []string{`{"step": 0, "rank": 0, "world": 3, "index": []}`}))
}

// A row that the journal says was made without some of its documents is there, in its place.
func TestVerifyKnowsRowsThatStandWithoutDocuments(t *testing.T) {
	name, dir := home(t), t.TempDir()
	writeFile(t, filepath.Join(dir, "d.jsonl"), strings.Repeat("{\"ids\": [1, 2, 3]}\n", 8))
	file := writeFile(t, filepath.Join(dir, "packed.yaml"), "name: "+name+"\nsource: {list: d.jsonl, packing: {length: 3}, columns: [{name: ids, type: list, dtype: i32}]}\nbatch: 4\norder: {seed: 5, epochs: 1}\n")
	planned := again(t, file, "0").Index
	journal := writeFile(t, filepath.Join(t.TempDir(), "journal"), "")
	log := writeLog(t, []string{fmt.Sprintf(`{"step": 0, "rank": 0, "n_bad": 2, "index": %s}`, strings.ReplaceAll(fmt.Sprint(slices.Delete(slices.Clone(planned), 2, 3)), " ", ","))})
	faults := `{"ring":"","epoch":0,"from":0,"rows":4,"bad":[{"at":1,"sample":%d,"cause":"io"%s},{"at":2,"sample":%d,"cause":"io"}]}` + "\n"
	writeFile(t, journal+".faults", fmt.Sprintf(faults, planned[1], `,"documents":[7]`, planned[2]))
	good(t, "verify", file, log, "--journal", journal)
	writeFile(t, journal+".faults", fmt.Sprintf(faults, planned[1], "", planned[2]))
	if r := spdl(t, "verify", file, log, "--journal", journal); r.code != exitFailed || !strings.Contains(r.out, "than the plan without those that the journal names") {
		t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	refused(t, exitUsage, "pack: source.packing makes rows of documents when they are read", "pack", file, "--out", filepath.Join(dir, "%d.tar"))
}

// What the engine's journal says could not be read in time is held against the log exactly: those samples are missing, and no others.
func TestVerifyHoldsTheJournalAgainstTheLog(t *testing.T) {
	name, dir := home(t), pictures(t, 10)
	for policy, left := range map[string]func(p []int64, bad int) []int64{
		"skip":       func(p []int64, bad int) []int64 { return slices.Delete(slices.Clone(p), bad, bad+1) },
		"mask":       func(p []int64, _ int) []int64 { return p },
		"substitute": func(p []int64, bad int) []int64 { q := slices.Clone(p); q[bad] = q[bad-1]; return q },
	} {
		file := describe(t, dir, name, "order: {seed: 5, epochs: 1}\nbad_sample: {policy: "+policy+"}\n")
		lines := logOf(t, file, 3, 1)
		planned := again(t, file, "0").Index
		journal := writeFile(t, filepath.Join(t.TempDir(), "journal"), "")
		writeFile(t, journal+".faults", fmt.Sprintf(`{"ring":"","epoch":0,"from":0,"rows":4,"bad":[{"at":1,"sample":%d,"cause":"io"}]}`+"\n", planned[1]))
		lacks := func(bad int) string {
			lines[0] = fmt.Sprintf(`{"step": 0, "rank": 0, "n_bad": 1, "index": %s}`, strings.ReplaceAll(fmt.Sprint(left(planned, bad)), " ", ","))
			return writeLog(t, lines)
		}
		good(t, "verify", file, lacks(1), "--journal", journal)
		r := spdl(t, "verify", file, lacks(2), "--journal", journal)
		if policy != "mask" && (r.code != exitFailed || !strings.Contains(r.out, "than the plan without those that the journal names")) {
			t.Errorf("%s: exit code %d\n%s%s", policy, r.code, r.out, r.err)
		}
		lines[0] = fmt.Sprintf(`{"step": 0, "rank": 0, "n_bad": 0, "index": %s}`, strings.ReplaceAll(fmt.Sprint(planned), " ", ","))
		if r := spdl(t, "verify", file, writeLog(t, lines), "--journal", journal); r.code != exitFailed || !strings.Contains(r.out, "0 bad, but the journal names 1") {
			t.Errorf("%s: exit code %d\n%s%s", policy, r.code, r.out, r.err)
		}
	}
}

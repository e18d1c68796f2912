package verbs

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/shm"
)

// What serve refuses to open, check refuses with the same words and exit code, and what serve opens check takes.
func TestCheckRefusesWhatServeRefuses(t *testing.T) {
	name, dir := home(t), pictures(t, 8)
	at := func(file string) string { return filepath.Join(dir, file) }
	numbers, err := array.AppendNPY(nil, &array.Named{DType: tensor.U8, Shape: tensor.Shape{8}, Data: []byte("abcdefgh")})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, at("x.npy"), string(numbers))
	writeFile(t, at("t.csv"), "path,label,v\nblue/000.jpg,0,1\nred/004.jpg,1,2\n")
	writeFile(t, at("tokens.jsonl"), `{"ids": [1, 2]}`+"\n"+`{"ids": [3]}`+"\n")
	writeFile(t, at("garbage"), "garbage")
	const media = "batch: 4\nimage: {transform: [{resize: [8, 8]}]}\n"
	folder := "source: {folder: " + dir + "}\n" + media
	list := "source: {list: " + at("t.csv") + "}\n" + media
	arrays := "source: {arrays: [{name: x, file: " + at("x.npy") + "}]}\nbatch: 4\n"
	tokens := "source: {list: " + at("tokens.jsonl") + ", columns: [{name: ids, type: list, dtype: i64, max_length: 2}]}\nbatch: 2\n"
	journal := at("of-another.journal")
	s := serve(t, name, describe(t, dir, name, ""), "--journal", journal, "--seed", "5")
	keys(t, s.attach(shm.AttachOptions{}))
	s.stop()
	for _, c := range []struct {
		description, want string // part of the refusal; "": it is served
	}{
		{folder, ""},
		{list, ""},
		{arrays, ""},
		{tokens, ""},
		{tokens + "device: {cuda: 0}\n", ""},
		{folder + "http: \"127.0.0.1:0\"\n", ""},
		{folder + "journal: " + at("new.journal") + "\n", ""},
		{folder + "world: {size: 2}\nring: {slots: 3, access: private, groups: [{name: a, mode: lanes, lanes: 2}, {name: s, kind: stage}]}\n", ""},
		{folder + "device: {decode: nvjpeg, jpeg_bytes: 1048576}\n", ""},
		{folder + "order: {epochs: 3}\ncache: {rows_bytes: 1MiB, head_space: 2}\n", ""},
		{folder + "limits: {memory: 1MiB}\nrings: {a: {}, b: {}}\n", ""},

		{arrays + "cache: {dir: " + at("c") + "}\n", "cache.dir: keeps on a disk what source.arrays reads from one already"},
		{arrays + "cache: {rows_bytes: 1MiB, rows_dir: " + at("r") + "}\n", "cache.rows_dir: keeps on a disk what source.arrays reads from one already"},
		{folder + "cache: {dir: " + at("t.csv") + "}\n", "not a directory"},
		{folder + "cache: {rows_bytes: 1KiB}\n", "cache.rows_bytes: 8 rows of"},
		{folder + "journal: " + at("nowhere/j") + "\n", "its directory: "},
		{folder + "journal: " + dir + "\n", "it is no file"},
		{folder + "journal: " + at("garbage") + "\n", "no journal: got a file that begins with"},
		{folder + "journal: " + journal + "\n", "it has seed 5, now 0"},
		{folder + "journal: " + journal + "\nrings: {a: {}, b: {}}\n", `it has nothing on ring "` + name + `/a"`},
		{folder + "http: \"192.0.2.1:8080\"\n", "listen 192.0.2.1:8080: bind: "},
		{folder + "limits: {memory: 100KiB}\nring: {slots: 16}\nrings: {a: {}, b: {}}\n", name + `/b": 16 slots of`},
		{folder + "limits: {memory: 1MiB}\ndevice: {decode: nvjpeg, jpeg_bytes: 1048576}\n", "but limits.memory leaves 1.0 MiB"},
		{folder + "order: {filter: label > 9}\n", "is true for none of 8 samples"},
		{folder + "order: {last: drop}\nworld: {size: 4}\n", "last: drop leaves nothing"},
		{list + "order: {balance: nothing}\n", "nothing"},
		{strings.Replace(tokens, "max_length: 2", "max_length: 1", 1), "max_length"},
		{strings.Replace(folder, dir, at("blue/000.jpg"), 1), "is not a directory"},
		{strings.Replace(folder, dir, at("nowhere"), 1), "nowhere"},
		{strings.Replace(folder, "folder: "+dir, "host: {samples: 8}", 1), "no program around this engine brings samples"},
	} {
		file := writeFile(t, filepath.Join(t.TempDir(), name+".yaml"), "name: "+name+"\n"+c.description)
		checked, served := spdl(t, "check", file), begun(t, name, file)
		for verb, r := range map[string]*result{"check": &checked, "serve": &served} {
			r.err = strings.ReplaceAll(lastLine(r.err), "spdl: "+verb+": ", "spdl: ")
			if (r.code == exitOK) != (c.want == "") || r.code != exitOK && !strings.Contains(r.err, c.want) {
				t.Errorf("%s\n%s: exit code %d, want %q\n%s", c.description, verb, r.code, c.want, r.err)
			}
		}
		if checked.code != served.code || served.code != exitOK && checked.err != served.err {
			t.Errorf("%s\ncheck: %d %s\nserve: %d %s", c.description, checked.code, checked.err, served.code, served.err)
		}
	}
}

// begun is what came of serve's opening of a description. It is stopped when it is ready: what it fails of later, such as a device that is not there, is
// no refusal.
func begun(t *testing.T, name, file string) result {
	t.Helper()
	s := launch(t, name, file)
	if line := s.await("ready:", "spdl: "); strings.Contains(line, "ready:") {
		s.stop()
		return result{code: exitOK}
	}
	code := s.wait()
	return result{code: code, err: s.seen.String()}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

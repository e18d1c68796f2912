package golden

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/shm"
)

const root = "../.."

func TestGoldenFilesAreWhatTheCodeMakes(t *testing.T) {
	files, err := Generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Errorf("%v; run go run ./tests/golden/gen", err)
			continue
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs from what the code makes at byte %d; if the layout was meant to change, run go run ./tests/golden/gen", name, firstDifference(got, want))
		}
	}
	entries, err := os.ReadDir("segments")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := files["tests/golden/segments/"+e.Name()]; !ok {
			t.Errorf("segments/%s is made by nobody", e.Name())
		}
	}
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func TestOffsetsInTheCommentsOfLayoutHAreRight(t *testing.T) {
	header, err := os.ReadFile(filepath.Join(root, "shm", "layout.h"))
	if err != nil {
		t.Fatal(err)
	}
	structs := parseStructs(string(header))
	for _, r := range records {
		fields := structs[r.c]
		if len(fields) != r.twin.NumField() {
			t.Errorf("%s: %d fields in layout.h, %d in Go", r.c, len(fields), r.twin.NumField())
			continue
		}
		for i, f := range fields {
			g := r.twin.Field(i)
			if snake(g.Name) != f.name || f.offset >= 0 && uintptr(f.offset) != g.Offset {
				t.Errorf("%s.%s at %d in layout.h, %s at %d in Go", r.c, f.name, f.offset, g.Name, g.Offset)
			}
		}
	}
}

func TestEveryRecordIsInTheManual(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "layout.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if !strings.Contains(string(page), "<!-- table "+r.c+" -->") {
			t.Errorf("docs/layout.md has no table of %s", r.c)
		}
	}
	header, err := os.ReadFile(filepath.Join(root, "shm", "layout.h"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(constantsTable(string(header)))), "\n") {
		if name, _, _ := strings.Cut(line, "\t"); !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/layout.md does not say what %s is", name)
		}
	}
	for _, status := range []string{"`SPDL_OK` | 0", "`SPDL_E_ARGUMENT` | -1", "`SPDL_E_POOL_LOST` | -141"} {
		if !strings.Contains(string(page), status) {
			t.Errorf("docs/layout.md has no %s", status)
		}
	}
}

// The page, its table of changes and layout.h name the version that this build makes.
func TestTheVersionIsToldAlikeEverywhere(t *testing.T) {
	version := fmt.Sprintf("%d.%d", shm.LayoutMajor, shm.LayoutMinor)
	for file, lines := range map[string][]string{
		"docs/layout.md": {"\nVersion " + version + ". ", "\n| " + version + " | "},
		"shm/layout.h":   {"/* spdl shared-memory layout, version " + version + ", as C."},
	} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if !strings.Contains(string(text), line) {
				t.Errorf("%s does not say %q", file, strings.TrimSpace(line))
			}
		}
	}
}

func TestCSeesTheSameLayout(t *testing.T) {
	binary := compile(t)
	out, err := exec.Command(binary).Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for _, name := range []string{"layout.tsv", "constants.tsv"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, b...)
	}
	got, wanted := strings.Split(string(out), "\n"), strings.Split(string(want), "\n")
	if len(got) != len(wanted) {
		t.Fatalf("C prints %d lines, the tables have %d", len(got), len(wanted))
	}
	for i := range got {
		if got[i] != wanted[i] {
			t.Errorf("C says %q, the table %q", got[i], wanted[i])
		}
	}
}

func TestCReadsTheGoldenHeaderAndRefusesTheBrokenOnes(t *testing.T) {
	binary := compile(t)
	names, err := filepath.Glob("segments/*.bin")
	if err != nil || len(names) == 0 {
		t.Fatal("no segments", err)
	}
	for _, name := range names {
		base := filepath.Base(name)
		if strings.HasPrefix(base, "group") {
			continue
		}
		out, err := exec.Command(binary, name).Output()
		if err != nil {
			t.Fatal(err)
		}
		if refused := strings.HasPrefix(string(out), "refused"); refused != strings.HasPrefix(base, "broken") {
			t.Errorf("%s: C says %q", base, out)
		}
		if base == "header.bin" && !strings.Contains(string(out), "name\tgolden\nn_slots\t6\nn_lanes\t2\nseed\t17\nslot\t0\t0\t2\t0\nslot\t1\t1\t2\t1\n") {
			t.Errorf("C reads %q", out)
		}
	}
}

func compile(t *testing.T) string {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	binary := filepath.Join(t.TempDir(), "check")
	out, err := exec.Command(cc, "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", filepath.Join(root, "shm"), "-I", ".", "-o", binary, filepath.Join("c", "check.c")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

func TestGoReadsTheGoldenSegmentsAndRefusesTheBrokenOnes(t *testing.T) {
	names, err := filepath.Glob("segments/*.bin")
	if err != nil || len(names) == 0 {
		t.Fatal("no segments", err)
	}
	read := func(name string) []byte {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return append(make([]byte, 0, len(b)+8), b...)
	}
	groups := map[int][]byte{0: read("segments/group-train.bin"), 1: read("segments/group-ranks.bin")}
	for _, name := range names {
		base := filepath.Base(name)
		if strings.HasPrefix(base, "group") {
			continue
		}
		problems := shm.Check(&shm.Snapshot{Header: read(name), Groups: groups})
		if broken := len(problems) > 0; broken != strings.HasPrefix(base, "broken") {
			t.Errorf("%s: problems %v", base, problems)
		}
	}
}

func TestPythonReadsTheGoldenSegments(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	out, err := exec.Command(python, "check_layout.py").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "agree") {
		t.Fatalf("%v\n%s", err, out)
	}
}

package spelling

import (
	"os"
	"path/filepath"
	"testing"
)

// What is not there is looked for by its absolute path, and a slip in one name of it is told with the path that was meant.
func TestWhatIsNotThereSaysWhereItWasLookedFor(t *testing.T) {
	dir := tree(t, "data/train/a.jpg", "data/val/b.jpg", "shards/0.tar", "shards/.hidden", "list.tsv")
	for path, want := range map[string]string{
		dir + "/data/trian":    `; did you mean "` + dir + `/data/train"?`,
		dir + "/dtaa/train":    `; did you mean "` + dir + `/data/train"?`,
		dir + "/dtaa/test":     "", // there is no such path either
		dir + "/data/train2":   `; did you mean "` + dir + `/data/train"?`,
		dir + "/lists.tsv":     `; did you mean "` + dir + `/list.tsv"?`,
		dir + "/shards/hidden": "",
		dir + "/elsewhere":     "",
		"/nonexistent/x":       "",
		"$HOME/train":          "; it is taken as it is written: ~ and $NAME are a shell's",
	} {
		if got := NotThere(path); got != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
	}
	here, err := os.Getwd()
	if err == nil {
		err = os.Chdir(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chdir(here) }()
	for path, want := range map[string]string{
		"data/tset":  `; looked for as "` + dir + `/data/tset"`,
		"dat/train":  `; looked for as "` + dir + `/dat/train"; did you mean "data/train"?`,
		"../x/train": `; looked for as "` + filepath.Dir(dir) + `/x/train"`,
	} {
		if got := NotThere(path); got != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
	}
}

// A pattern that fits no file is answered with what lies where it was looked for.
func TestPatternThatFitsNothingSaysWhatIsThere(t *testing.T) {
	dir := tree(t, "shards/3.tar", "shards/0.tar", "shards/1.tar", "shards/2.tar", "few/a.zip", "empty/.hidden")
	for pattern, want := range map[string]string{
		dir + "/shards/*.tra": `; in "` + dir + `/shards" are 0.tar, 1.tar, 2.tar, more`,
		dir + "/few/*.tar":    `; in "` + dir + `/few" are a.zip`,
		dir + "/empty/*.tar":  `; nothing is in "` + dir + `/empty"`,
		dir + "/shrads/*.tar": `; there is no directory "` + dir + `/shrads"; did you mean "` + dir + `/shards"?`,
		dir + "/q*/x-*.tar":   `; in "` + dir + `" are empty, few, shards`,
	} {
		if got := NoneFits(pattern); got != want {
			t.Errorf("%q: got %q, want %q", pattern, got, want)
		}
	}
}

// tree makes files below a directory.
func tree(t *testing.T, paths ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	for _, p := range paths {
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(dir, p)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, p), nil, 0o644)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

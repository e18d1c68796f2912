package verbs

import (
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/spec"
	"github.com/spf13/cobra"
)

// served is what serve makes of a command line.
func served(t *testing.T, args []string) *spec.Spec {
	t.Helper()
	d, c := &description{}, &cobra.Command{}
	d.addFlags(c)
	if err := c.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	s, err := d.read(testContext(t), "serve", c.Flags().Args())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What init prints is the description that serve makes of the same arguments.
func TestInitWritesWhatServeMakesOfAFolderOrShards(t *testing.T) {
	odd, lines := filepath.Join(t.TempDir(), `a "b": c`), filepath.Join(t.TempDir(), "a\nb: #")
	for _, dir := range []string{odd, lines} {
		if err := os.CopyFS(dir, os.DirFS(pictures(t, 4))); err != nil {
			t.Fatal(err)
		}
	}
	shards := filepath.Join(t.TempDir(), "train\n000000.tar")
	good(t, "pack", pictures(t, 4), "--out", filepath.Join(filepath.Dir(shards), "train\n%06d.tar"))
	for name, args := range map[string][]string{
		"pictures": {pictures(t, 4)}, "an odd name": {odd, "--size", "64", "--batch", "8", "--seed", "7", "--no-shuffle", "--name", "mine"}, "a name of two lines": {lines}, "shards": {shards},
		"a pattern": {filepath.Join(filepath.Dir(shards), "train*.tar")}, "videos": {clips(t, 2)}, "sounds": {tones(t, 2), "--batch", "2"},
	} {
		text := good(t, append([]string{"init"}, args...)...)
		got, err := spec.Parse([]byte(text), filepath.Join(t.TempDir(), "x.yaml"))
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		want := served(t, args)
		if !reflect.DeepEqual(got.Image, want.Image) || !reflect.DeepEqual(got.Video, want.Video) || !reflect.DeepEqual(got.Audio, want.Audio) ||
			got.Batch != want.Batch || got.Order.Seed != want.Order.Seed || got.Order.Shuffle != want.Order.Shuffle || got.Name != want.Name ||
			got.Source.Folder != want.Source.Folder || !reflect.DeepEqual(got.Source.Shards, want.Source.Shards) {
			t.Errorf("%s: got %+v, want %+v\n%s", name, got, want, text)
		}
	}
}

func TestInitRefusesWhatItHasNothingToSayOf(t *testing.T) {
	name, dir := home(t), pictures(t, 4)
	refused(t, exitUsage, "init: nothing to look at; want a folder of media or shards", "init")
	refused(t, exitUsage, "is a file, and a description if anything", "init", describe(t, dir, name, ""))
	refused(t, exitUsage, "init: no flag --spec-json (spdl init --help lists them)", "init", "--spec-json", "{}")
	refused(t, exitNotFound, "no such file or folder", "init", filepath.Join(dir, "nowhere"))
	refused(t, exitUsage, "compressed by its name", "init", writeFile(t, filepath.Join(t.TempDir(), "a.tar.gz"), "x"))
	if text := good(t, "init", dir); strings.Contains(text, "\t") {
		t.Errorf("YAML has no tabs:\n%s", text)
	}
}

// A relative path is written in full, in whatever it looks like an address.
func TestInitWritesPathsInFull(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ftp:")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	good(t, "pack", pictures(t, 4), "--out", filepath.Join(dir, "train-%06d.tar"))
	inDir(t, filepath.Dir(dir))
	if text, want := good(t, "init", "./ftp://train-000000.tar"), filepath.Join(dir, "train-000000.tar"); !strings.Contains(text, "- "+want+"\n") {
		t.Errorf("got\n%s\nwant the path %s", text, want)
	}
}

// A file's address is its path, wherever a folder or shards are named.
func TestAFilesAddressIsItsPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b")
	if err := os.CopyFS(dir, os.DirFS(pictures(t, 4))); err != nil {
		t.Fatal(err)
	}
	at := "file://" + strings.ReplaceAll(dir, " ", "%20")
	if text := good(t, "init", at); !strings.Contains(text, "folder: "+strconv.Quote(dir)+"\n") && !strings.Contains(text, "folder: "+dir+"\n") {
		t.Errorf("got\n%s\nwant the folder %s", text, dir)
	}
	good(t, "check", "FILE://localhost"+strings.TrimPrefix(at, "file://"))
	refused(t, exitUsage, `init: got "file://elsewhere/a", want file:///PATH, or the path itself`, "init", "file://elsewhere/a")
}

// A path that no description can name is refused: the description would be another's.
func TestInitRefusesAPathThatIsNoUTF8(t *testing.T) {
	odd := filepath.Join(t.TempDir(), "a\xff")
	if err := os.CopyFS(odd, os.DirFS(pictures(t, 4))); err != nil {
		t.Fatal(err)
	}
	refused(t, exitUsage, "init: "+strconv.Quote(odd)+": got a path that is no UTF-8, as all of a description is; rename it, or serve it without a description", "init", odd)
}

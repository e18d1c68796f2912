package load

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/spec"
)

// folderOf is a folder of files with these names, each of which holds text.
func folderOf(t *testing.T, text string, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A second data set is a folder's sounds in the order of their names, whatever else lies there, or a list's.
func TestASecondDataSetIsAFolderOrAList(t *testing.T) {
	dir := folderOf(t, "", "b/z.flac", "a.WAV", "README", "b/LICENSE.txt", ".hidden.wav", ".git/x.wav", "b/c/d.mp3")
	got, err := soundsIn(dir, "k")
	want := []string{dir + "/a.WAV", dir + "/b/c/d.mp3", dir + "/b/z.flac"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	list := filepath.Join(dir, "noises.txt")
	if err := os.WriteFile(list, []byte("b/z.flac\n\n  /other/x.raw \r\nb/z.flac"), 0o666); err != nil {
		t.Fatal(err)
	}
	want = []string{dir + "/b/z.flac", "/other/x.raw", dir + "/b/z.flac"}
	if got, err := soundsIn(list, "k"); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// A folder may be a link, and a sound; a folder in it that is one would be left out without a word, and is refused.
func TestLinksOfASecondDataSet(t *testing.T) {
	dir, other := folderOf(t, "", "a.wav"), t.TempDir()
	link := func(to, name string) string {
		name = filepath.Join(other, name)
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
		return name
	}
	whole := link(dir, "whole")
	if got, err := soundsIn(whole, "k"); err != nil || !reflect.DeepEqual(got, []string{whole + "/a.wav"}) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := soundsIn(other, "k"); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("k: %q is a link to a directory, which is not followed; put the directory itself there", whole)) {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(whole); err != nil {
		t.Fatal(err)
	}
	file := link(dir+"/a.wav", "b.wav")
	if got, err := soundsIn(other, "k"); err != nil || !reflect.DeepEqual(got, []string{file}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// Where there are no sounds, that is said with the key that asked for them, before anything is decoded.
func TestASecondDataSetThatIsNoneIsRefused(t *testing.T) {
	empty, other := folderOf(t, "", "README"), folderOf(t, "RIFF\x00\x00", "a.wav", "blank.txt")
	if err := os.WriteFile(filepath.Join(other, "blank.txt"), []byte("\n \n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(empty, "none"):      "no such file or directory; want a folder of sounds, or a list of them",
		empty:                             "in which there is no sound, want one or more (.wav, .flac, .mp3 and so on)",
		filepath.Join(other, "blank.txt"): "in which there is no sound",
		filepath.Join(other, "a.wav"):     "is no path; want a folder of sounds, or a list of them",
		"/dev/null":                       "",
	} {
		for key, asks := range map[string]string{"noise": `{"snr_db": [1, 2], "from": %q}`, "reverb": `{"from": %q}`} {
			s, err := spec.ParseSample([]byte(fmt.Sprintf(`{"audio": {"rate": 8000, %q: `+asks+`}}`, key, path)))
			if err != nil {
				t.Fatal(err)
			}
			_, err = AudioConfig(s.Audio, "audio")
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "audio."+key+".from: ") {
				t.Errorf("%s: got %v, want %q", path, err, want)
			}
		}
	}
}

// What finds the files leaves the rest as it is said.
func TestASecondDataSetReachesItsDecoder(t *testing.T) {
	dir := folderOf(t, "", "a.wav")
	s, err := spec.ParseSample([]byte(fmt.Sprintf(`{"audio": {"rate": 8000, "noise": {"snr_db": [1, 2], "from": %q, "memory_bytes": 5}, "reverb": {"from": %q, "p": 0.5}}}`, dir, dir)))
	if err != nil {
		t.Fatal(err)
	}
	c, err := AudioConfig(s.Audio, "audio")
	if err != nil {
		t.Fatal(err)
	}
	if n, r := c.Noise, c.Reverb; !reflect.DeepEqual(n.From, []string{dir + "/a.wav"}) || n.KeptBytes != 5 || n.Low != 1 || r.P != 0.5 || len(r.From) != 1 {
		t.Errorf("got %+v, %+v", n, r)
	}
}

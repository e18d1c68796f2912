package load

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spdl/spdl/core/media/audio"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/spec"
)

// maxSounds bounds a second data set.
const maxSounds = 10_000_000

// filesOf are the files of a second data set; none where there is none.
func filesOf(s *spec.SoundFiles, key string) (f audio.Files, err error) {
	f.KeptBytes = s.KeptBytes
	if s.From != "" {
		f.From, err = soundsIn(s.Path, key)
	}
	return f, err
}

// soundsIn are the paths of a second data set: the sounds in a folder and below it, in the order of their names, or those that a list names,
// one a line. key says where the description asks for them.
func soundsIn(path, key string) ([]string, error) {
	wrong := func(format string, args ...any) ([]string, error) {
		return nil, &spec.Error{Path: key, Text: fmt.Sprintf(format, args...)}
	}
	st, err := os.Stat(path)
	if err != nil {
		return wrong("%v; want a folder of sounds, or a list of them", err)
	}
	var all []string
	if st.IsDir() {
		all, err = soundsBelow(path)
	} else {
		all, err = soundsListed(path, st)
	}
	switch {
	case err != nil:
		return wrong("%v", err)
	case len(all) == 0:
		return wrong("got %q, in which there is no sound, want one or more (.wav, .flac, .mp3 and so on)", path)
	case len(all) > maxSounds:
		return wrong("got %q with %d sounds, want at most %d", path, len(all), maxSounds)
	}
	return all, nil
}

// soundsBelow follows no link to a directory but the folder itself, as a source does not: it says so.
func soundsBelow(folder string) (all []string, err error) {
	folder += string(filepath.Separator)
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(e.Name(), ".") && path != folder
		switch {
		case hidden && e.IsDir():
			return filepath.SkipDir
		case hidden || e.IsDir():
			return nil
		case e.Type()&fs.ModeSymlink != 0:
			if st, err := os.Stat(path); err == nil && st.IsDir() {
				return fmt.Errorf("%q is a link to a directory, which is not followed; put the directory itself there, or name the files in a list", path)
			}
		}
		if kind, is := spec.MediaOf(e.Name()); is && kind == spec.Sounds {
			all = append(all, path)
		}
		return nil
	})
	return all, err
}

// maxSoundList is the largest list, in bytes.
const maxSoundList = 1 << 30

func soundsListed(list string, st fs.FileInfo) (all []string, err error) {
	if err := av.CheckRegular(list, st); err != nil {
		return nil, err
	}
	if st.Size() > maxSoundList {
		return nil, fmt.Errorf("got %q of %d bytes, want a list of at most %d", list, st.Size(), maxSoundList)
	}
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(string(text), "\n") {
		path := strings.TrimSpace(line)
		if path == "" {
			continue
		}
		if strings.ContainsRune(path, 0) {
			return nil, fmt.Errorf("line %d of %q is no path; want a folder of sounds, or a list of them", i+1, list)
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(list), path)
		}
		all = append(all, path)
	}
	return all, nil
}

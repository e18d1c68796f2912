package spec

import (
	"path/filepath"
	"slices"
	"strings"
)

// IsTable reports whether the list has columns: CSV, JSON, Parquet or NumPy's, by its ending, or the heading of another.
func (s *Source) IsTable() bool {
	return s.Heading || s.Names != nil || s.isCSV() || s.namesColumns()
}

// isCSV reports whether the list ends as one whose first line names its columns, unless the description does.
func (s *Source) isCSV() bool { return listEnding(s.List) == ".csv" }

// namesColumns reports whether the list ends as one whose rows name their columns.
func (s *Source) namesColumns() bool {
	return slices.Contains([]string{".json", ".jsonl", ".ndjson", ".parquet", ".npz"}, listEnding(s.List))
}

// listEnding is ending, of text that is packed that before .gz.
func listEnding(name string) string {
	if end := ending(name); end != ".gz" {
		return end
	}
	if isURL(name) {
		name, _, _ = strings.Cut(name, "?")
	}
	if end := ending(name[:len(name)-len(".gz")]); end != ".parquet" && end != ".npz" {
		return end
	}
	return ".gz"
}

// IsParquet reports whether the shards are Parquet files and not archives.
func (s *Source) IsParquet() bool { return len(s.Shards) > 0 && ending(s.Shards[0]) == ".parquet" }

// areArchives reports whether the first shard's ending is one of those whose labels have no names, as those of Parquet and Arrow may.
func (s *Source) areArchives() bool {
	end := ending(s.Shards[0])
	return end == ".tar" || end == ".zip" || end == ".mds" || end == ".rec" || end == ".mdb" || end == ".lmdb" || Numbered(end) != ""
}

// numbered are endings that may have a number behind them, as x.tfrecord-00000-of-01024.
var numbered = []string{".tfrecord", ".array_record", ".arrayrecord"}

// Numbered is the kind of shards that an ending is of which numbers may follow: .tfrecord, .array_record or .arrayrecord; "" of others.
func Numbered(ending string) string {
	for _, kind := range numbered {
		if strings.HasPrefix(ending, kind) {
			return kind
		}
	}
	return ""
}

// ending is a name's last extension in lower case; a URL's query is no part of it.
func ending(name string) string {
	if isURL(name) {
		name, _, _ = strings.Cut(name, "?")
	}
	return strings.ToLower(filepath.Ext(name))
}

// Endings of files, and names of parts of samples, that are sound or video.
var (
	soundEndings = []string{"aac", "aif", "aifc", "aiff", "au", "bw64", "caf", "flac", "m4a", "mka", "mp2", "mp3", "oga", "ogg", "opus", "rf64", "snd", "w64", "wav", "wma"}
	videoEndings = []string{"3gp", "asf", "avi", "flv", "m2ts", "m4v", "mkv", "mov", "mp4", "mpeg", "mpg", "mts", "mxf", "ogv", "ts", "webm", "wmv", "y4m"}
)

// completeSource looks for files, and parts of samples, of the ring's first medium. Pictures are core/source's own default; a column of Parquet
// has a name.
func (s *Spec) completeSource() {
	media := s.parted()
	if len(media) == 0 {
		return // the columns say it
	}
	endings := media[0].endings()
	for _, src := range s.Source.places() {
		if src.Folder != "" && src.Extensions == nil {
			src.Extensions = endings
		}
		if src.Shards != nil && src.Image == nil && !src.IsParquet() && len(media) == 1 && media[0].From() == nil {
			src.Image = media[0].parts()
		}
	}
}

package source

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	byProgram = "have a program of yours bring its samples (source= in Python; docs/sources.md), or write them into tar shards once"
	byLoop    = byProgram + ", by the loop in docs/migrate.md"
	asArrays  = "write its arrays with numpy.save, and name them in source.arrays"
)

// foreignFormats are those of data sets that are not read here, by the endings of their files, with what makes something of them that is.
var foreignFormats = []struct {
	endings    []string
	is, remedy string
}{
	{[]string{".beton"}, "FFCV's format", "name the files that it was made of, or " + byLoop},
	{[]string{".sqlite", ".sqlite3"}, "SQLite", byProgram},
	{[]string{".mat"}, "MATLAB's format", asArrays + "; of version 7.3 it is an HDF5 file, as which source.arrays reads it where dataset names an array"},
	{[]string{".pkl", ".pickle"}, "pickle", asArrays + ", or " + byProgram},
	{[]string{".pt", ".pth", ".safetensors"}, "what torch.save or safetensors writes", asArrays + ", or " + byProgram},
}

// HDF5Endings are those that HDF5's files mostly have.
var HDF5Endings = []string{".h5", ".hdf5"}

// litDataFile is what litData calls its files: chunk-RANK-NUMBER, whatever compressed them.
var litDataFile = regexp.MustCompile(`^chunk-\d+-\d+(\.\w+)?\.bin$`)

// Foreign says of a file's name that is of a data set which is not read here what it is, and what to do; "" of others.
func Foreign(name string) string {
	name, _, _ = strings.Cut(name, "?")
	name = strings.ToLower(filepath.Base(name))
	if litDataFile.MatchString(name) {
		return "litData's chunks are read by their index.json; name the directory that has it, or it, in source.shards"
	}
	ending, _, _ := strings.Cut(filepath.Ext(name), "-")                                    // x.beton-00000-of-00016
	if ending == mdsEnding || filepath.Ext(strings.TrimSuffix(name, ending)) == mdsEnding { // shard.00000.mds.zstd
		return "MosaicML's MDS is read by its index.json; name the directory that has it, or it, in source.shards"
	}
	if lmdbNamed(name) {
		return "LMDB is read by its directory, or its file, in source.shards"
	}
	if slices.Contains(HDF5Endings, ending) {
		return "HDF5's arrays are read by source.arrays, with file and dataset, and encoded media in them where image, video or audio names the array with from"
	}
	for _, f := range foreignFormats {
		if slices.Contains(f.endings, ending) {
			return f.is + " is not read here; " + f.remedy
		}
	}
	return ""
}

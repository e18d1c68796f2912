package source

import (
	"path/filepath"
	"slices"
	"strings"
)

const (
	byProgram = "have a program of yours bring its samples (source= in Python; docs/sources.md), or write them into tar shards once"
	asArrays  = "write its arrays with numpy.save, and name them in source.arrays"
)

// foreignFormats are those of data sets that are not read here, by the endings of their files, with what makes something of them that is.
var foreignFormats = []struct {
	endings    []string
	is, remedy string
}{
	{[]string{".rec"}, "MXNet's RecordIO", byProgram},
	{[]string{".mds"}, "MosaicML's MDS", byProgram},
	{[]string{".beton"}, "FFCV's format", "name the files that it was made of, or " + byProgram},
	{[]string{".mdb", ".lmdb"}, "LMDB", byProgram},
	{[]string{".sqlite", ".sqlite3"}, "SQLite", byProgram},
	{[]string{".arrow"}, "Arrow's format", "write it as Parquet: load_from_disk(...).to_parquet(...) of Hugging Face's datasets, or pyarrow.parquet"},
	{[]string{".h5", ".hdf5"}, "HDF5", asArrays + "; media in it become files or tar shards"},
	{[]string{".mat"}, "MATLAB's format", asArrays},
	{[]string{".pkl", ".pickle"}, "pickle", asArrays + ", or " + byProgram},
	{[]string{".pt", ".pth", ".safetensors"}, "what torch.save or safetensors writes", asArrays + ", or " + byProgram},
}

// Foreign says of a file's name that is of a data set which is not read here what it is, and what to do; "" of others.
func Foreign(name string) string {
	name, _, _ = strings.Cut(name, "?")
	ending := strings.ToLower(filepath.Ext(name))
	for _, f := range foreignFormats {
		if slices.Contains(f.endings, ending) {
			return f.is + " is not read here; " + f.remedy
		}
	}
	return ""
}

// Package grid reads arrays that lie in files as grids of chunks: the datasets of HDF5, and Zarr.
//
//	f, err := grid.OpenHDF5(file, size)          // reads no elements
//	a, err := f.Dataset("/data/demo_0/actions")     // where its chunks lie
//	err = a.ReadRows(dst, first, grid.NewCache(256<<20))
//
// An [HDF5] is a file whose groups are looked up; an [Array] is what is known of one dataset, and needs the file alone, by pread. A [Cache]
// holds unpacked chunks of any number of arrays. Where elements are texts or lists of any length, a [TextType] cuts their padding off, and [Lists]
// look up what they refer to.
//
// Of HDF5 it reads superblocks 0 to 3, object headers of both versions, groups of both kinds, and datasets that are compact, contiguous or
// in chunks by any of the six indexes of these. Elements are whole numbers, floats, enumerations of either byte order, arrays and lists of them, texts and
// opaque bytes; filters are deflate, shuffle, fletcher32, LZF, zstd, LZ4, Blosc and bitshuffle. Of Zarr it reads arrays of versions 2 and 3 in directories and in
// zip archives, with their axes in any order, in chunks of a file each or in shards, packed with zlib, gzip, zstd, LZ4, bzip2, or Blosc's first version. All else
// is refused by its name.
//
// Nothing of a file is believed: every address and size is checked against the file, an index has each of its blocks once, a chunk unpacks to
// exactly as many bytes as it has elements for, a list lies in its heap and that in the file, and no structure of a file makes more memory than it has bytes.
//
// An HDF5 is used by one goroutine at a time, arrays and caches by any number, which share no lock while they read and unpack.
// docs/arrays.md, Whole arrays, has what users see.
package grid

// Package source says where samples are and reads their bytes.
//
// A [Source] numbers its samples from 0. [OpenFolder] makes one of a directory tree, [OpenList] of a text file with a path
// a line. Read fills a [Buffer], taken from a [Pool] and used again, and allocates nothing once buffers have grown.
//
//	src, err := source.OpenFolder(source.FolderConfig{Dir: "/data/train", Labels: true})
//	buf := pool.Get()
//	err = src.Read(ctx, 7, buf) // buf.Bytes() is valid until the next Read into buf, or Put
//
// # What is a sample
//
// Folder: every file whose name ends in a wanted extension, sorted by the bytes of its path below the folder; names that
// begin with a dot are passed over. The label is the place of the file's first-level directory among those that hold a
// sample, and -1 for a file directly in the folder. List: every line that is neither blank nor begins with '#', as
// PATH or PATH<TAB>LABEL with a whole number for label, -1 without; a final CR and a leading byte order mark are dropped.
//
// # What a path may reach
//
// Samples lie beneath the source's root, the folder itself or the list's root, and the kernel enforces it on every read
// (openat2 with RESOLVE_BENEATH): neither ".." nor a link leads out; a link is followed while it stays beneath, so an absolute
// link is not. A folder that holds a link to a directory is refused at open: following could come back to where
// it started, and passing over would lose samples in silence. A list that names no root may also hold absolute paths, which are opened as
// they are: whoever wrote that list could name any file. With a root, an absolute path is refused.
//
// # What can go wrong with one sample
//
// Read returns an [*Error] with one [Cause]. Only regular files are read; opening never waits for a fifo's writer. A file
// whose size or modification time differs before and after is [Changed], never half of one and half of the other.
//
// Files are read with pread, not mapped: a mapped file that is truncated kills the process inside a decoder. The list itself is held in
// memory with one offset for eight samples; the tree costs its file names and five bytes for each.
//
// Not covered: archives, object stores, other media than files. A Source may be used by any number of goroutines, each with
// its own Buffer; Close comes after the last Read.
package source

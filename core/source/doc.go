// Package source says where samples are and reads their bytes.
//
// A [Source] numbers its samples from 0. [OpenFolder] makes one of a directory tree or a prefix of s3://, gs:// or hf://, [OpenList] of a text file with a
// path a line or of a table (CSV, JSON lines, Parquet, .npz), [OpenShards] of tar and zip archives, TFRecords, ArrayRecords, RecordIO, LMDB, MDS, litData and Arrow, [OpenParquet] of Parquet files with pictures
// or other media in columns, [OpenHost] of samples that the program around the engine brings through a [Feed]. Read fills a [Buffer], taken from a [Pool] and used again, and allocates nothing for local files once buffers have
// grown; Parquet, ArrayRecords, http and s3 do allocate.
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
// PATH or PATH<TAB>LABEL with a whole number for label, -1 without; a final CR and a leading byte order mark are dropped. Table: every row,
// with its path in a column or made of columns (package template); its other columns may become columns of the sample. Shards: as WebDataset has them, the neighbouring members whose names are
// equal up to the first dot of the base name, which is the key; what follows the dot, in lower case, names the part. Members that begin with a
// dot, and facts about the archive (__NAME__), are passed over. One part is the picture, one may be the label, others columns. TFRecords, ArrayRecords and RecordIO: every record, whose features, or labels and file, are the parts, or that is one part. LMDB: what a key says by its template. MDS
// and litData: every sample of the shards that a catalogue lists, whose columns or leaves are the parts. Parquet and Arrow: every row.
//
// A sample may be of several media ([Medium]), each a part of an archive's sample, a column of Parquet, a file beside a folder's or one that another
// column of a table names. Read puts all of them into the buffer ([Buffer.Part]), each followed by [Padding] zero bytes; two media of one file
// share its bytes. A medium may be several pictures of a sample ([Medium].Many), or none: its part is a [Bundle] then.
//
// A column of type [Array] is an .npy file, or one of an .npz file: a part of shards, a file beside those of a folder, or a path in a table. It has
// one type and shape in all samples, given or told by the first that can be read; another is [Value].
//
// # Indexes
//
// What a tar or zip archive holds is found once and kept in an index: offsets, sizes, and the numbers in short members, so that
// labels are known without reading. It belongs to one version of the archive (size and modification time, or the ETag), is mapped, and
// opening it costs the same whatever it holds: a stale one is made again at once, a damaged part when it is first looked at. The kernel's limit of mappings
// bounds the number of shards. An archive that is cut off, joined to another by cat, holds a
// link or a name that climbs, or a key in two places, is refused by its name and the member's. Of Parquet files in a store what opening reads is kept,
// as it is. All that is kept has a bound, and is made once by engines that start together: see keeping.go.
//
// # What a path may reach
//
// Samples lie beneath the source's root, the folder itself or the list's root, and the kernel enforces it on every read
// (openat2 with RESOLVE_BENEATH): neither ".." nor a link leads out; a link is followed while it stays beneath, so an absolute
// link is not. A folder that holds a link to a directory is refused at open: following could come back to where
// it started, and passing over would lose samples in silence. A list that names no root may also hold absolute paths, which are
// opened as they are: whoever wrote that list could name any file. With a root they are refused. A URL is no file: a list may hold
// URLs unless its root is one, which confines everything that it names. Shards are named by whoever describes the
// data set, so any path is opened.
//
// # What can go wrong with one sample
//
// Read returns an [*Error] with one [Cause]. Only regular files are read; opening never waits for a fifo's writer. A file, archive or object
// that is not of the version that was opened, or changes while it is read, is [Changed], never half of one and half of the other. A part
// that was asked for and is not there is [Part]. Over the network every sample has a deadline; see package store.
//
// Files are read with pread, not mapped: a mapped file that is truncated kills the process inside a decoder. Shards are opened for each
// read, so their number is not bound by that of descriptors, but for compressed ones, which are unpacked on a disk and held open there; one that goes away costs its samples alone. The list itself is held in
// memory with one offset for eight samples; the tree costs its file names and five bytes for each; a table its texts and 8 bytes a
// value, of Parquet's lists 64 MiB, while the others lie on a disk; shards a mapping of 24 bytes a sample and 16 a member.
//
// # Reading ahead, and what is kept
//
// A source that is [Planned] is told what comes: of remote shards it reads neighbours together, of local ones it tells the kernel. [Cache] keeps the bytes of samples that have a version
// ([Versioned]: all but a [Host]'s) on a local disk. Without one, local files are left to the page cache and to many reads at a time.
//
// A Go program's own source is any type with the methods of [Source]; [Columnar], [Sharded], [Planned] and [Versioned] add what it
// can do beyond that, and [Fingerprinted] tells a saved state which samples it is of.
//
// # Storage that hangs
//
// [Guard] gives reads of a file system a deadline: whoever waits goes on with a bad sample, and the reader is left behind until the file
// system answers, up to a number of them.
//
// # Samples that a program brings
//
// A Read of a [Host] asks through its [Feed] and waits; threads of the program Take what is wanted and Give bytes, the path of a file, or why
// there are none. Nothing is ever called in the program. A want is answered once: by its Give, by the end of the thread that took it
// ([Program]), or by the source's deadline, after which a late Give is told so and dropped.
//
// Not covered: compressed archives, listing over http, arrays in Parquet, other media than files. A Source may be used by any number of
// goroutines, each with its own Buffer; Close comes after the last Read.
package source

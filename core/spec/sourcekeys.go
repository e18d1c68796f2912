package spec

// sourceKeys are the lines of where samples are, and which comes next.
var sourceKeys = []Key{
	{"version", "1", "1", "Version of this description."},
	{"name", "text", "(the spec file's or the folder's base name)", "Name of the ring: 1 to 63 of A-Z a-z 0-9 . _ - and no dot first."},

	{"source", "mapping", "(required)", "Where the samples are: exactly one of `folder`, `list`, `shards`, `arrays`, `mix` and `host`."},
	{"source.folder", "path, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or hf://datasets/USER/NAME/PATH", "(none)", "A directory tree, relative to the spec file; its files are sorted by path."},
	{"source.list", "path or URL", "(none)", "A text file, one `PATH` or `PATH<TAB>LABEL` a line; blank lines and lines that begin with `#` are passed over. " +
		"By its ending also a table: `.csv` with a heading line, `.json`, `.jsonl` (or `.ndjson`), `.parquet` or NumPy's `.npz`. Text may be packed, `.jsonl.gz`."},
	{"source.root", "path or URL", "(the list's directory)", "Directory of the list's paths. When it is given, absolute paths in the list are refused, and with a URL as root so are URLs; its query (a signature) goes behind each path."},
	{"source.shards", "path, URL or list of them", "(none)", "`.tar` or `.zip` archives of samples as WebDataset has them (neighbouring members with one key), " +
		"`.parquet` files with pictures in a column, TFRecords of tf.train.Example or SequenceExample, ArrayRecords, Arrow's `.arrow` or `.feather` files, MXNet's `.rec`, a database of LMDB by its directory or file, or a data set of MDS, litData or Hugging Face's save_to_disk, by its directory, the URL of that (but the last) with / at its end, or its `index.json` or `state.json`; with braces `{0000..1023}`, `{a,b}` and globs (not over http); a local file of that very name is meant itself."},
	{"source.path", "text", "(path)", "Column of a table that holds the paths, or what they are made of: in `train/{image_id}.jpg` a name in braces is that column's text, `{frame:06d}` a whole number with zeros ahead."},
	{"source.heading", "true, false or list of text", "(true of .csv, else false)", "Whether the first line of a list names its columns, so that it is a table, or else these names, of a list without such a line: `[path, label]`."},
	{"source.separator", "text", "(a comma of .csv, else a tab)", "The character between the fields of a list with columns. With a comma or a semicolon quotes are CSV's; elsewhere fields are as they are. A blank is any number of blanks and tabs, and the last field has the rest of its line."},
	{"source.image", "text or list of text", "(the part that ends in an image extension; of Parquet and Arrow audio or video where the samples are such, else of TFRecords, ArrayRecords, RecordIO and Arrow image, of ArrayRecords of other records record, of LMDB image-{n:09d} or {key}, and of MDS and litData what is encoded as a picture)", "Part, column or feature of shards, or template of LMDB's keys such as image-{n:09d}, that is the picture, video or sound; of several the first that a sample has. Where samples have several media, each says it in `from`."},
	{"source.label", "text", "(cls or label, where there is one)", "Part or feature of shards, column of a table, or one of arrays, that holds the label, a whole number (with labels: names a name); label[0] is the first of several in RecordIO; when it is given, a sample without it is bad. labels: none leaves labels out."},
	{"source.split", "text", "(train of Energon's)", "Which split of shards that list theirs: data sets of Megatron-Energon (.nv-meta/split.yaml), and those of several splits that Hugging Face's save_to_disk has written."},
	{"source.only", "path, FROM:TO or list of whole numbers", "(all)", "The samples that there are, in this order, by their numbers from 0 in the source's: an .npy file, an array of Zarr, FROM:TO as Python has it, of which either may be left out (\":45000\"), or the numbers themselves. A sample that comes several times is several. " +
		"`index`, weights.npy and the like count them; a part of a mixture has its own."},
	{"source.arrays", "list of mappings", "(none)", "Arrays in local files whose rows, or windows of rows, are the samples: an x.npy and a y.npy, a tokens.bin, the datasets of an HDF5 file, or arrays of Zarr. All have equally many samples. They are the fields of the batch, but for those that image, video, audio or fields name with from: their rows are encoded media."},
	{"source.arrays[].name", "text", "(required)", "Name of the field, spelt like a ring's."},
	{"source.arrays[].file", "path or list of paths", "(required)", "An .npy file, in C's order, an HDF5 file, or the directory of an array of Zarr, also within a zip (x.zarr.zip/data/action), whose first axis counts rows; several, also by braces and globs, are read one behind the other."},
	{"source.arrays[].dataset", "text or list of text", "(of HDF5 required, of others none)", "Path of the array in an HDF5 file, such as /data/demo_0/actions; several, also by braces `{0..199}` and globs, are read one behind the other, each as a file of its own would be."},
	{"source.arrays[].dtype", "u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64", "(.npy, HDF5 and Zarr say it)", "Type of the elements of files that are elements alone, little-endian, as numpy's tofile writes them."},
	{"source.arrays[].shape", "list of whole numbers", "(a number)", "Shape of a row in such files."},
	{"source.arrays[].window", "whole number from 1", "(none: a sample is one row)", "Rows of a sample, which then has them as its first axis; none lies across two files, datasets or episodes."},
	{"source.arrays[].step", "whole number from 1", "(window)", "Rows from the beginning of a sample to that of the next."},
	{"source.arrays[].within", "whole number from window", "(window)", "Rows that have to be there from a sample's first on, of which it has the first window: beside actions with a window of 16, an image with within: 16 and the same step has as many samples."},
	{"source.arrays[].pad_before", "whole number from 0", "0", "Rows by which the first sample of an episode begins before it, fewer than within, or else window, has; the episode's first row is repeated there. An episode is a file or dataset, or one of source.episodes."},
	{"source.arrays[].pad_after", "whole number from 0", "0", "Rows by which the last sample of an episode may end behind it, fewer than within, or else window, has; the episode's last row is repeated there. An episode of L rows has (L - W + pad_before + pad_after) / step + 1 samples, rounded down, and none where that is below 1; W is within, or window."},
	{"source.arrays[].is_pad", "true, false", "false", "Whether a field NAME_is_pad, u8, says of each row of a sample whether it is repeated (1) or of the array (0)."},
	{"source.episodes", "mapping", "(each file or dataset of an array is an episode)", "Where the episodes lie that each of the arrays has, one behind the other in one file or dataset: no window lies across two."},
	{"source.episodes.ends", "path or list of whole numbers", "(this or lengths required)", "How many rows there are up to each episode's end, ascending, the last one as many as the arrays have: an .npy file, an array of Zarr such as replay_buffer.zarr/meta/episode_ends, a dataset of an HDF5 file, or the numbers themselves."},
	{"source.episodes.lengths", "path or list of whole numbers", "(this or ends required)", "How many rows each episode has, in place of ends."},
	{"source.episodes.dataset", "text", "(of HDF5 required, of others none)", "Path of the numbers in an HDF5 file that ends or lengths names."},
	{"source.episodes.only", "path or list of whole numbers", "(all)", "Numbers of the episodes that samples are of, from 0, ascending: those of a training or a validation set. The path is that of an .npy file or of an array of Zarr."},
	{"source.arrays[].max_bytes", "size", "(of texts 1KiB)", "Room of one text, where the elements of an HDF5 dataset are texts; a longer one is a bad sample."},
	{"source.arrays[].max_length", "whole number from 1", "(required of lists)", "Room of one list, where the elements of an HDF5 dataset are lists of any length, each of them one of a ragged field; a longer one is a bad sample."},
	{"source.arrays[].padded", "true, false", "(false: it is ragged)", "Such a field is not ragged, but as long as the longest of its batch; see source.columns[].padded."},
	{"source.mix", "list of mappings", "(none)", "Several data sets, each with folder, list or shards and the keys that go with it. Without weights they stand one behind the other. Their class directories are united by name."},
	{"source.mix[].folder", "path, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or hf://datasets/USER/NAME/PATH", "(none)", "As source's."},
	{"source.mix[].list", "path or URL", "(none)", "As source's."},
	{"source.mix[].root", "path or URL", "(the list's directory)", "As source's."},
	{"source.mix[].shards", "path, URL or list of them", "(none)", "As source's."},
	{"source.mix[].path", "text", "(path)", "As source's."},
	{"source.mix[].heading", "true, false or list of text", "(as above)", "As source's."},
	{"source.mix[].separator", "text", "(as above)", "As source's."},
	{"source.mix[].image", "text or list of text", "(as above)", "As source's."},
	{"source.mix[].label", "text", "(as above)", "As source's."},
	{"source.mix[].split", "text", "(as above)", "As source's."},
	{"source.mix[].only", "path, FROM:TO or list of whole numbers", "(all)", "As source's."},
	{"source.mix[].extensions", "list of text", "(as above)", "As source's."},
	{"source.mix[].labels", "directory, names, none", "(as below)", "As below."},
	{"source.mix[].weight", "number, or mapping of epochs to numbers", "(none)", "Share of the rows, relative to the other data sets'; {0: 3, 10: 1} (in JSON with \"0\" and \"10\") is 3, and 1 from epoch 10 on. " +
		"A data set that is used up in an epoch begins anew; an epoch has as many rows as samples, or `order.rows`."},
	{"source.host", "mapping", "(none)", "Samples that the program around the engine brings, through spdl_source_take and spdl_source_give or as `source=` in Python. " +
		"In process only; one ring. Their labels and keys come with them, so an order cannot go by these. With columns beside media a sample is a path, of the medium, and bytes, which the columns are made of."},
	{"source.host.samples", "whole number from 1", "(required; 1099511627776 of a stream)", "How many there are; of a stream, the most."},
	{"source.host.stream", "true, false", "false", "They come one after the other in an order of their own, each epoch up to where the program says that they end (SPDL_SAMPLE_END, an iterable's end). " +
		"With shuffle: false and one rank."},
	{"source.host.timeout", "duration", "1m", "How long a sample may wait for a thread that takes it, and then for its answer; later it is a bad one, cause deadline. A stream has none."},
	{"source.columns", "list of text and mappings", "[]", "Parts of shards, columns of a table, files beside those of a folder, or members of what the program gives beside a file (source.host), that become fields of the batch. Without image, video, audio and fields they are all that a sample has, and the first is the batch's first field."},
	{"source.columns[].name", "text", "(required)", "Name of the field, spelt like a ring's."},
	{"source.columns[].from", "text", "(name)", "The part or column (of JSON lines and Parquet `a.b` is also `b` in `a`); of LMDB the template of its keys, such as label-{n:09d}; of a folder the ending of the file that has the sample's name up to its last dot. Of arrays also `npz[NAME]`, one of an .npz file, and in a table what their path is made of, as in source.path; of others, " +
		"of archives and folders, also `json[a.b]`, a value in a part that is a JSON object."},
	{"source.columns[].type", "text, i64, f64, npy, list", "text", "text: bytes as they are, ragged (of Parquet's dates, decimals and the like see [tables.md](tables.md)); npy: an array of one shape in every sample, [batch, shape...], or a ragged one where shape begins with -1; of a table the column holds its path; list: the same out of a list of numbers in JSON, `json[input_ids]` or a value of a table, or out of Parquet's lists; else one number a sample."},
	{"source.columns[].max_bytes", "size", "1KiB", "Room of one value of text; a longer one is a bad sample."},
	{"source.columns[].default", "text, number or []", "(such a sample is bad)", "What a sample of archives or a folder gets that has no such part, or no such value in its JSON (null is none). Of f64 also nan; of arrays only [], where shape begins with -1."},
	{"source.columns[].dtype", "u8, i8, u16, i16, u32, i32, u64, i64, f16, f32, f64", "(the first sample's)", "Type of an array's elements; booleans are u8. A sample with another is bad. Of type list it is required, and not f16: a number that it does not hold makes the sample bad."},
	{"source.columns[].shape", "list of whole numbers", "(the first sample's)", "Shape of an array. A sample with another is bad. -1 as the first: each sample has a length of its own, as of boxes [-1, 4]; " +
		"the field is ragged then, and an empty array is a row of no length. Of type list [-1] by itself."},
	{"source.columns[].max_length", "whole number from 1", "(none)", "Room for -1 in shape, which it goes with; a longer array is a bad sample."},
	{"source.columns[].padded", "true, false", "(false: it is ragged)", "An array with -1 in its shape is not ragged, but as long as the longest of its batch, [batch, longest, ...], with zeros behind; NAME.length, i64, says how long each is."},
	{"source.columns[].pad", "number", "(0)", "With source.packing: what is where no document is, such as -100 in labels; of f16 always 0."},
	{"source.packing", "mapping", "(none)", "Rows of one length that are made of several samples, which are documents then: the lists among source.columns, all packed alike, each [batch, length]. " +
		"Beside them a batch has `segment_ids` (1 for the first document of a row, 2 for the next, 0 where there is none) and `position_ids` (from 0 in each document), both i32 [batch, length]. " +
		"Which documents are in which row is planned once, in an order by order.seed (with shuffle: false in the source's), from lengths that Parquet and tables know without reading; a document of length 0 is in none."},
	{"source.packing.length", "whole number, 1 to 16777216", "(required)", "Elements of a row."},
	{"source.packing.strategy", "best_fit, wrapped", "best_fit", "best_fit: the longest document first, into the fullest row that has room for it, of 65,536 documents at a time. wrapped: one behind the other, cut wherever a row is full."},
	{"source.packing.long", "refuse, split, truncate", "refuse", "Of best_fit, what becomes of a document that is longer than a row: an error at start; pieces, packed as documents of their own; or its beginning."},
	{"source.packing.by", "column", "(the first list)", "A column of type i64 that says how long each document is, of archives, folders and tables of .npy files; it is not in the batch. A document that has another length is a bad one."},
	{"source.index", "cache, beside", "cache", "Where the indexes of shards are kept: in $SPDL_CACHE_DIR/index (~/.cache/spdl/index), or, of local ones, beside the shards, where they are also looked for."},
	{"source.remote", "mapping", "(its defaults)", "How http, https, s3, gs and hf are read."},
	{"source.remote.endpoint", "URL", "($AWS_ENDPOINT_URL_S3, $AWS_ENDPOINT_URL, else Amazon's)", "Where s3:// leads; no other URLs."},
	{"source.remote.region", "text", "($AWS_REGION, $AWS_DEFAULT_REGION, else us-east-1)", "Region of the bucket."},
	{"source.remote.profile", "text", "($AWS_PROFILE, else default)", "Profile of the shared credentials file; without it $AWS_ACCESS_KEY_ID comes first."},
	{"source.remote.anonymous", "true, false", "false", "Do not sign requests, and send no token."},
	{"source.remote.addressing", "auto, path, host", "auto", "HOST/BUCKET or BUCKET.HOST; auto: path where there is an endpoint."},
	{"source.remote.timeout", "duration", "1m", "Deadline of one sample's bytes with all retries; an attempt gets a third of it."},
	{"source.remote.retries", "whole number, 0 to 100", "5", "Attempts after the first, with back-off and jitter."},
	{"source.remote.hedge_after", "duration, auto or never", "auto", "Ask a second time after this; auto: twice what 95 of 100 reads take."},
	{"source.local_timeout", "duration, auto or never", "auto", "Deadline of one sample's read from a file system, and of each step of listing it, for one that hangs; auto: 1m where it is of the network (NFS, SMB, Ceph, Lustre, FUSE ...), never on a disk. " +
		"Twice limits.fetch reads that hang end the run."},
	{"source.extensions", "list of text", "(every image extension spdl knows)", "Endings of a folder's files that are samples, in any case. Where samples are columns alone, by itself the ending of the first column that has no default."},
	{"source.labels", "directory, names, none", "(directory; of shards, lists and tables: by label)", "Labels of a folder, or of the members of archives: the place of the first-level directory among those with samples, or none (-1). Of Parquet, Arrow and a list only none: " +
		"what lies in the label's place is not looked at, and may be a column of text; of a table, of Parquet and of Arrow names, too: the label's column holds the names of classes, and a label is its name's place among them, sorted."},

	{"order", "mapping", "(its defaults)", "Which sample comes next."},
	{"order.shuffle", "true, false", "true", "A new permutation each epoch; false: the source's order."},
	{"order.seed", "whole number from 0", "0", "Seed of the shuffle and of random augmentation, up to 2^64-1."},
	{"order.epochs", "whole number from 0", "0", "Number of epochs; 0 is endless."},
	{"order.last", "cover, drop, pad", "cover", "The incomplete last global batch: short, so that every sample comes once; left out; or filled by wrapping."},

	{"order.filter", "expression", "(none)", "Only samples for which it is true: `label in [1, 5] && width > 200`, over index, key, label and the columns that the source knows without reading."},
	{"order.repeat", "whole number, 1 to 1024", "1", "Each sample comes this often in a row, each time with random augmentation of its own."},
	{"order.asked", "true, false", "false", "Which sample comes next is asked of the program around the engine, one number of a sample after the other, each epoch up to where it says that there are no more: through spdl_source_take and spdl_source_give, or as `sampler=` in Python. " +
		"It is the order, without shuffle; each rank's program says the rank's own."},
	{"order.rows", "whole number from 0", "0", "Rows of an epoch with weights, balance or a weighted mix; 0: as many as samples."},
	{"order.window", "whole number from 0", "0", "Shuffle the shards, and their samples among this many shards that follow each other; 0: all over the data set. " +
		"Two neighbours are of one shard in about 1 of this many cases."},
	{"order.weights", "column, or path of an .npy file", "(none)", "Draw samples with probability in proportion to this column, or to the numbers in this file, one for each sample in the source's order, which is for sources " +
		"without columns. Costs 12 bytes a sample."},
	{"order.replacement", "true, false", "true", "Whether a weighted draw may take a sample again in the same epoch."},
	{"order.balance", "column", "(none)", "Every value of this column, a label say, comes equally often. Costs 4 bytes a sample."},
	{"order.stratify", "column", "(none)", "Every global batch holds the values of this column as the data set does. Costs 4 bytes a sample."},
	{"order.group", "column, or path of an .npy file", "(none)", "Every batch, of all ranks in a step, holds samples of one value of this column, or of one number in this file, which has one for each sample in the source's order: up to 65536 groups that " +
		"somebody has made, such as of the shapes of pictures. Costs 6 bytes a sample."},
	{"order.buckets", "mapping", "(none)", "Batches of samples of similar length, or of pictures of similar shape. Costs 6 bytes a sample."},
	{"order.buckets.by", "column", "(required, or sizes or area)", "The length."},
	{"order.buckets.count", "whole number, 1 to 65536", "8", "Buckets of about equally many samples."},
	{"order.buckets.max_total", "number, 0.001 to 1e15", "(no bound)", "Most of rows x longest length of the bucket in a rank's batch, in the column's unit: a batch of long samples has fewer rows, down to 1, one of short samples up to `batch`. " +
		"A sample that is longer is refused at start. With sizes or area: most of rows x height x width."},
	{"order.buckets.multiple_of", "whole number, 1 to 65536", "1", "With max_total: the rows of a rank's batch are a multiple of this, which divides `batch`. A run may go on at any world size that divides multiple_of x world size."},

	{"order.buckets.sizes", "list of N and [H, W]", "(none)", "In place of by, the sizes that pictures may become, up to 1024, no two of one shape: each picture is in the bucket whose shape is nearest to its own, and every batch is of one bucket. image.transform says `bucket` for the size: resize: {size: bucket, fit: cover} and center_crop: bucket ([order.md](order.md#batches-by-the-shape-of-pictures))."},
	{"order.buckets.area", "whole number from 1", "(none)", "In place of sizes: for each side from min to max in steps, the largest size of at most so many pixels that has it, and the same turned; as kohya's trainers make their list."},
	{"order.buckets.step", "whole number, 1 to 16384", "64", "Of area: sides are multiples of this."},
	{"order.buckets.min", "whole number, 1 to 16384", "(half the side of the square of area)", "Of area: the shortest side, a multiple of step."},
	{"order.buckets.max", "whole number, 1 to 16384", "(twice that side)", "Of area: the longest side, a multiple of step."},
	{"order.buckets.width", "column", "(width, where there is one; else the pictures' heads)", "With sizes or area: how wide a picture is. Without columns each picture is looked at once, and what is found is kept beside the indexes of shards."},
	{"order.buckets.height", "column", "(height, where there is one; else the pictures' heads)", "And how high."},

	{"world", "mapping or auto", "(its defaults)", "The training run that this engine serves a part of. auto: from the variables of torchrun, Slurm or MPI."},
	{"world.size", "whole number from 1", "1", "Ranks in all; at least rank + lanes."},
	{"world.rank", "whole number from 0", "0", "Rank of this engine's first lane."},

	{"batch", "whole number, 1 to 65536", "32", "Rows per rank and step; with order.buckets.max_total the most."},
}

package spec

import "strings"

// Key is one line of the description's reference.
type Key struct {
	Path    string // dotted; [] is an entry of a list, NAME a name of the user's choice
	Type    string // what a value looks like
	Default string // as it would be written, or words in parentheses
	Doc     string // one line
}

// Keys is the reference of the description, in the order of the page. The caller may keep and change it.
func Keys() []Key { return append([]Key(nil), keys...) }

var keys = []Key{
	{"version", "1", "1", "Version of this description."},
	{"name", "text", "(the spec file's or the folder's base name)", "Name of the ring: 1 to 63 of A-Z a-z 0-9 . _ - and no dot first."},

	{"source", "mapping", "(required)", "Where the samples are: exactly one of `folder`, `list`, `shards`, `mix` and `host`."},
	{"source.folder", "path or s3://BUCKET/PREFIX", "(none)", "A directory tree, relative to the spec file; its files are sorted by path."},
	{"source.list", "path or URL", "(none)", "A text file, one `PATH` or `PATH<TAB>LABEL` a line; blank lines and lines that begin with `#` are passed over. " +
		"By its ending also a table: `.csv` with a heading line, `.jsonl` or `.parquet`."},
	{"source.root", "path or URL", "(the list's directory)", "Directory of the list's paths. When it is given, absolute paths in the list are refused, and with a URL as root so are URLs."},
	{"source.shards", "path, URL or list of them", "(none)", "`.tar` or `.zip` archives of samples as WebDataset has them (neighbouring members with one key), " +
		"or `.parquet` files with pictures in a column; with braces `{0000..1023}`, `{a,b}` and globs (not over http)."},
	{"source.path", "text", "(path)", "Column of a table that holds the paths."},
	{"source.image", "text or list of text", "(the part that ends in an image extension; of Parquet: image)", "Part or column of shards that is the picture; of several the first that a sample has."},
	{"source.label", "text", "(cls or label, where there is one)", "Part of shards, or column of a table, that holds the label, a whole number; when it is given, a sample without it is bad."},
	{"source.mix", "list of mappings", "(none)", "Several data sets, each with folder, list or shards and the keys that go with it. Without weights they stand one behind the other."},
	{"source.mix[].folder", "path or s3://BUCKET/PREFIX", "(none)", "As above."},
	{"source.mix[].list", "path or URL", "(none)", "As above."},
	{"source.mix[].root", "path or URL", "(the list's directory)", "As above."},
	{"source.mix[].shards", "path, URL or list of them", "(none)", "As above."},
	{"source.mix[].path", "text", "(path)", "As above."},
	{"source.mix[].image", "text or list of text", "(as above)", "As above."},
	{"source.mix[].label", "text", "(as above)", "As above."},
	{"source.mix[].extensions", "list of text", "(as above)", "As above."},
	{"source.mix[].labels", "directory, none", "(as below)", "As below."},
	{"source.mix[].weight", "number, or mapping of epochs to numbers", "(none)", "Share of the rows, relative to the other data sets'; {0: 3, 10: 1} is 3, and 1 from epoch 10 on. " +
		"A data set that is used up in an epoch begins anew; an epoch has as many rows as samples, or `order.rows`."},
	{"source.host", "mapping", "(none)", "Samples that the program around the engine brings, through spdl_source_take and spdl_source_give or as `source=` in Python. " +
		"In process only; one ring. Their labels and keys come with them, so an order cannot go by these."},
	{"source.host.samples", "whole number from 1", "(required)", "How many there are."},
	{"source.host.timeout", "duration", "1m", "Deadline of one sample from when the engine asks for it; later it is a bad one, cause deadline."},
	{"source.columns", "list of text or mappings", "[]", "Parts of shards, columns of a table, or files beside those of a folder, that become fields of the batch."},
	{"source.columns[].name", "text", "(required)", "Name of the field, spelt like a ring's."},
	{"source.columns[].from", "text", "(name)", "The part or column; of a folder the ending of the file that has the sample's name up to its last dot. Of arrays also `npz[NAME]`, one of an .npz file."},
	{"source.columns[].type", "text, i64, f64, npy", "text", "text: bytes as they are, ragged; npy: an array of one shape in every sample, [batch, shape...]; of a table the column holds its path; else one number a sample."},
	{"source.columns[].max_bytes", "size", "1KiB", "Room of one value of text; a longer one is a bad sample."},
	{"source.columns[].dtype", "u8, i8, u16, i16, u32, i32, u64, i64, f16, f32, f64", "(the first sample's)", "Type of an array's elements; booleans are u8. A sample with another is bad."},
	{"source.columns[].shape", "list of whole numbers", "(the first sample's)", "Shape of an array. A sample with another is bad."},
	{"source.index", "cache, beside", "cache", "Where the indexes of shards are kept: in $SPDL_CACHE_DIR/index (~/.cache/spdl/index), or, of local ones, beside the shards, where they are also looked for."},
	{"source.remote", "mapping", "(its defaults)", "How http, https and s3 are read."},
	{"source.remote.endpoint", "URL", "($AWS_ENDPOINT_URL_S3, $AWS_ENDPOINT_URL, else Amazon's)", "Where s3:// leads."},
	{"source.remote.region", "text", "($AWS_REGION, $AWS_DEFAULT_REGION, else us-east-1)", "Region of the bucket."},
	{"source.remote.profile", "text", "($AWS_PROFILE, else default)", "Profile of the shared credentials file; without it $AWS_ACCESS_KEY_ID comes first."},
	{"source.remote.anonymous", "true, false", "false", "Do not sign requests."},
	{"source.remote.addressing", "auto, path, host", "auto", "HOST/BUCKET or BUCKET.HOST; auto: path where there is an endpoint."},
	{"source.remote.timeout", "duration", "1m", "Deadline of one sample's bytes with all retries; an attempt gets a third of it."},
	{"source.remote.retries", "whole number, 0 to 100", "5", "Attempts after the first, with back-off and jitter."},
	{"source.remote.hedge_after", "duration, auto or never", "auto", "Ask a second time after this; auto: twice what 95 of 100 reads take."},
	{"source.local_timeout", "duration, auto or never", "auto", "Deadline of one sample's read from a file system, for one that hangs; auto: 1m where it is of the network (NFS, SMB, Ceph, Lustre, FUSE ...), never on a disk. " +
		"Twice limits.fetch reads that hang end the run."},
	{"source.extensions", "list of text", "(every image extension spdl knows)", "Endings of a folder's files that are samples, in any case."},
	{"source.labels", "directory, none", "(directory; of shards: by the part label)", "Labels of a folder, or of the members of archives: the place of the first-level directory among those with samples, or none (-1)."},

	{"order", "mapping", "(its defaults)", "Which sample comes next."},
	{"order.shuffle", "true, false", "true", "A new permutation each epoch; false: the source's order."},
	{"order.seed", "whole number from 0", "0", "Seed of the shuffle and of random augmentation, up to 2^64-1."},
	{"order.epochs", "whole number from 0", "0", "Number of epochs; 0 is endless."},
	{"order.last", "cover, drop, pad", "cover", "The incomplete last global batch: short, so that every sample comes once; left out; or filled by wrapping."},

	{"order.filter", "expression", "(none)", "Only samples for which it is true: `label in [1, 5] && width > 200`, over index, key, label and the columns that the source knows without reading."},
	{"order.repeat", "whole number, 1 to 1024", "1", "Each sample comes this often in a row, each time with random augmentation of its own."},
	{"order.rows", "whole number from 0", "0", "Rows of an epoch with weights, balance or a weighted mix; 0: as many as samples."},
	{"order.window", "whole number from 0", "0", "Shuffle the shards, and their samples among this many shards that follow each other; 0: all over the data set. " +
		"Two neighbours are of one shard in about 1 of this many cases."},
	{"order.weights", "column", "(none)", "Draw samples with probability in proportion to this column. Costs 12 bytes a sample."},
	{"order.replacement", "true, false", "true", "Whether a weighted draw may take a sample again in the same epoch."},
	{"order.balance", "column", "(none)", "Every value of this column, a label say, comes equally often. Costs 4 bytes a sample."},
	{"order.stratify", "column", "(none)", "Every global batch holds the values of this column as the data set does. Costs 4 bytes a sample."},
	{"order.buckets", "mapping", "(none)", "Batches of samples of similar length. Costs 6 bytes a sample."},
	{"order.buckets.by", "column", "(required)", "The length."},
	{"order.buckets.count", "whole number, 1 to 65536", "8", "Buckets of about equally many samples."},

	{"world", "mapping or auto", "(its defaults)", "The training run that this engine serves a part of. auto: from the variables of torchrun, Slurm or MPI."},
	{"world.size", "whole number from 1", "1", "Ranks in all; at least rank + lanes."},
	{"world.rank", "whole number from 0", "0", "Rank of this engine's first lane."},

	{"batch", "whole number, 1 to 65536", "32", "Rows per rank and step."},

	{"image", "mapping", "(required)", "What a picture becomes; the transform must fix its height and width."},
	{"image.mode", "rgb, gray, luma", "rgb", "gray is Pillow's `convert('L')` of the RGB picture; luma the JPEG's own Y plane (other formats: as gray)."},
	{"image.orientation", "ignore, apply", "ignore", "Whether the EXIF orientation turns the picture."},
	{"image.transform", "list of operations", "(required)", "In this order: resize, center_crop, both, or random_resized_crop; then horizontal_flip; then normalize."},
	{"image.transform[].resize", "N, [H, W] or mapping", "(none)", "N: the shorter side, the other in proportion (torchvision's rule); [H, W]: exactly."},
	{"image.transform[].resize.size", "N or [H, W]", "(required)", "As above."},
	{"image.transform[].resize.interpolation", "bilinear, bicubic", "bilinear", "The filter, antialiased, equal to Pillow's."},
	{"image.transform[].center_crop", "N or [H, W]", "(none)", "The middle; a smaller picture gets a black border."},
	{"image.transform[].random_resized_crop", "N, [H, W] or mapping", "(none)", "A random part, resized to N x N or H x W (torchvision's rule)."},
	{"image.transform[].random_resized_crop.size", "N or [H, W]", "(required)", "As above."},
	{"image.transform[].random_resized_crop.scale", "[low, high]", "[0.08, 1]", "Area of the part, as a share of the picture's, above 0 and up to 1."},
	{"image.transform[].random_resized_crop.ratio", "[low, high]", "[0.75, 1.3333333333333333]", "Aspect ratio of the part, width to height."},
	{"image.transform[].random_resized_crop.interpolation", "bilinear, bicubic", "bilinear", "The filter, antialiased, equal to Pillow's."},
	{"image.transform[].horizontal_flip", "number, 0 to 1", "0", "Probability of a mirrored picture."},
	{"image.transform[].normalize", "imagenet or mapping", "(none)", "(x/255 - mean) / std; needs a float dtype."},
	{"image.transform[].normalize.mean", "list of numbers", "(required)", "One a channel, in units of 0 to 1."},
	{"image.transform[].normalize.std", "list of numbers", "(required)", "One a channel, above 0."},
	{"image.dtype", "u8, f16, bf16, f32", "(u8; f32 with normalize)", "Type of an element; floats without normalize are x/255."},
	{"image.layout", "NHWC, NCHW", "NHWC", "Order of height, width and channels in a batch."},
	{"image.max_pixels", "whole number from 1", "178956970", "A picture with more pixels is a bad sample, found before memory is taken."},

	{"bad_sample", "mapping", "(its defaults)", "What becomes of a sample that cannot be read or decoded."},
	{"bad_sample.policy", "skip, mask, substitute, fail", "skip", "Close the gap; leave a zero row; repeat the nearest good row before it; or end."},
	{"bad_sample.max_count", "whole number from -1", "-1", "End when more than this many were bad; -1: never for their number."},
	{"bad_sample.max_rate", "number, 0 to 1", "(off)", "End when more than this share of the samples so far was bad."},
	{"bad_sample.probation", "whole number from 0", "100", "Samples before the rate is judged."},

	{"ring", "mapping", "(its defaults)", "The shared memory and who reads it."},
	{"ring.slots", "whole number, 3 to 65536", "(at least 8, and 4 for each declared consumer and 4 more)", "Batches that the ring holds."},
	{"ring.backing", "memfd, posix", "(memfd when opened by a client, posix when served)", "Anonymous memory, or names in /dev/shm."},
	{"ring.access", "private, shared", "(private when opened by a client, shared when served)", "May the consumer write to its batches, or are they read-only for all."},
	{"ring.mode", `"0600", "0640"`, `"0600"`, "Permission of posix segments and of the socket."},
	{"ring.max_consumers", "whole number, 1 to 4096", "16", "Consumers attached at a time."},
	{"ring.hash", "none, xxh3", "none", "Hash of each batch, to prove what was delivered: XXH3 (64 bits) of its rows' XXH3, 8 bytes each, little-endian, before any stage."},
	{"ring.reconnect", "time, 0 to 1h", "0s", "How long consumers look for a restarted engine before they report the loss (posix); 0: they report it at once."},
	{"ring.delivery", "ordered, ready", "ordered", "ready: a finished batch does not wait for an earlier one of its epoch, so batches may come in another order; what is in each is the same. " +
		"Not with stages, and a restarted engine does not go on with such a ring."},
	{"ring.ahead", "whole number, from 1, less than slots", "(half the slots)", "With delivery: ready, how many batches before an unfinished one."},
	{"ring.groups", "list of mappings", "[]", "Groups that exist from the first batch on; each sees every batch once. Stages have it before consumers, one after the other as listed."},
	{"ring.groups[].name", "text", "(required)", "Name of the group, spelt like a ring's."},
	{"ring.groups[].kind", "consumer, stage", "consumer", "A stage's workers transform each batch in its slot before any consumer sees it."},
	{"ring.groups[].mode", "shared, lanes", "shared", "Consumers race for batches, or lane r gets the batches of rank r. A stage is shared."},
	{"ring.groups[].lanes", "whole number, 1 to 1024", "1", "Lanes of a lanes group; the same in every lanes group of a ring."},
	{"ring.groups[].slow", "block, drop, detach", "block", "When the group is slow: hold the ring back, drop its oldest batches, or end the group. A stage blocks."},
	{"ring.groups[].redeliver", "true, false", "true", "Give what a dead consumer held to another. What a stage's dead worker held is always decoded again."},

	{"journal", "path", "(none)", "A file that the engine keeps its position in, and goes on from when it is started again; relative to the spec file."},

	{"cache", "mapping", "(its defaults)", "What is kept of what was read or decoded. Only head_space changes what is delivered."},
	{"cache.dir", "path", "(none)", "Directory of encoded samples on a local disk; any number of engines may share it."},
	{"cache.max_bytes", "size", "10GiB", "Bytes of all files in the directory."},
	{"cache.evict", "lru, never", "lru", "When it is full: the least recently used go, or nothing more is kept."},
	{"cache.rows_bytes", "size", "(none)", "Memory for decoded rows; all of them must fit, and the transform must be without chance. From the second epoch on rows are copied."},
	{"cache.rows_dir", "path", "(none)", "Directory for the decoded rows in place of memory: an engine that is started again has them from its first batch on. rows_bytes is then of the disk. A row whose sample has changed, or that is damaged, is decoded again."},
	{"cache.head_space", "whole number, 0 to 65536", "0", "Repeat the batches of so many steps for ever, from memory: what a perfect loader would give. Needs rows_bytes for them."},

	{"limits", "mapping", "(its defaults)", "What the engine may take."},
	{"limits.cpus", "number above 0", "(the cgroup's quota, else the affinity)", "Processors for decoding."},
	{"limits.fetch", "whole number, 1 to 1024, or auto", "16", "Files read at a time. auto: from 1 to 64, as many as make it faster; begins with 16."},
	{"limits.read_ahead_bytes", "size", "64MiB", "Encoded bytes in flight; a whole number of bytes, or with KiB, MiB, GiB."},

	{"http", "text", "(off)", "Where the engine shows a page, metrics and traces over HTTP: `HOST:PORT`, or a port of 127.0.0.1. There is no login."},

	{"rings", "mapping", "(none)", "Several rings in one engine, attached as `name/NAME`. What a ring does not say, the top level says."},
	{"rings.NAME", "mapping", "(the top level)", "Any of source, order, batch, image, bad_sample, ring and cache. A source that names a folder, list or shards replaces the top level's; " +
		"lists are replaced, other keys one by one."},
}

// inRing are the sections that a ring of several may say for itself.
var inRing = []string{"source", "order", "batch", "image", "bad_sample", "ring", "cache"}

// children are the names of the keys directly below a path of the table; "" is the top level.
func children(path string) []string {
	if path == "rings.NAME" {
		return inRing
	}
	var names []string
	prefix := path
	if path != "" {
		prefix += "."
	}
	for _, k := range keys {
		if rest, below := strings.CutPrefix(k.Path, prefix); below && !strings.ContainsAny(rest, ".[") {
			names = append(names, rest)
		}
	}
	return names
}

// elsewhere finds the path that ends in a key, for who wrote it one level too high or too low.
func elsewhere(name string) string {
	for _, k := range keys {
		if strings.HasSuffix(k.Path, "."+name) || k.Path == name {
			return k.Path
		}
	}
	return ""
}

package spec

import (
	"slices"
	"strings"
)

// Key is one line of the description's reference.
type Key struct {
	Path    string // dotted; [] is an entry of a list, NAME a name of the user's choice
	Type    string // what a value looks like
	Default string // as it would be written, or words in parentheses
	Doc     string // one line
}

// Keys is the reference of the description, in the order of the page. The caller may keep and change it.
func Keys() []Key { return append([]Key(nil), keys...) }

var keys = withFrames([]Key{
	{"version", "1", "1", "Version of this description."},
	{"name", "text", "(the spec file's or the folder's base name)", "Name of the ring: 1 to 63 of A-Z a-z 0-9 . _ - and no dot first."},

	{"source", "mapping", "(required)", "Where the samples are: exactly one of `folder`, `list`, `shards`, `arrays`, `mix` and `host`."},
	{"source.folder", "path, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or hf://datasets/USER/NAME/PATH", "(none)", "A directory tree, relative to the spec file; its files are sorted by path."},
	{"source.list", "path or URL", "(none)", "A text file, one `PATH` or `PATH<TAB>LABEL` a line; blank lines and lines that begin with `#` are passed over. " +
		"By its ending also a table: `.csv` with a heading line, `.json`, `.jsonl` (or `.ndjson`) or `.parquet`. Text may be packed, `.jsonl.gz`."},
	{"source.root", "path or URL", "(the list's directory)", "Directory of the list's paths. When it is given, absolute paths in the list are refused, and with a URL as root so are URLs; its query (a signature) goes behind each path."},
	{"source.shards", "path, URL or list of them", "(none)", "`.tar` or `.zip` archives of samples as WebDataset has them (neighbouring members with one key), " +
		"`.parquet` files with pictures in a column, TFRecords of tf.train.Example or SequenceExample, ArrayRecords, Arrow's `.arrow` or `.feather` files, MXNet's `.rec`, a database of LMDB by its directory or file, or a data set of MDS, litData or Hugging Face's save_to_disk, by its directory, the URL of that (but the last) with / at its end, or its `index.json` or `state.json`; with braces `{0000..1023}`, `{a,b}` and globs (not over http); a local file of that very name is meant itself."},
	{"source.path", "text", "(path)", "Column of a table that holds the paths, or what they are made of: in `train/{image_id}.jpg` a name in braces is that column's text, `{frame:06d}` a whole number with zeros ahead."},
	{"source.heading", "true, false or list of text", "(true of .csv, else false)", "Whether the first line of a list names its columns, so that it is a table, or else these names, of a list without such a line: `[path, label]`."},
	{"source.separator", "text", "(a comma of .csv, else a tab)", "The character between the fields of a list with columns. With a comma or a semicolon quotes are CSV's; elsewhere fields are as they are. A blank is any number of blanks and tabs, and the last field has the rest of its line."},
	{"source.image", "text or list of text", "(the part that ends in an image extension; of Parquet and Arrow audio or video where the samples are such, else of TFRecords, ArrayRecords, RecordIO and Arrow image, of ArrayRecords of other records record, of LMDB image-{n:09d} or {key}, and of MDS and litData what is encoded as a picture)", "Part, column or feature of shards, or template of LMDB's keys such as image-{n:09d}, that is the picture, video or sound; of several the first that a sample has. Where samples have several media, each says it in `from`."},
	{"source.label", "text", "(cls or label, where there is one)", "Part or feature of shards, column of a table, or one of arrays, that holds the label, a whole number (with labels: names a name); label[0] is the first of several in RecordIO; when it is given, a sample without it is bad. labels: none leaves labels out."},
	{"source.arrays", "list of mappings", "(none)", "Arrays in local files whose rows, or windows of rows, are the samples: an x.npy and a y.npy, a tokens.bin, the datasets of an HDF5 file, or arrays of Zarr. All have equally many samples. They are the fields of the batch, but for those that image, video, audio or fields name with from: their rows are encoded media."},
	{"source.arrays[].name", "text", "(required)", "Name of the field, spelt like a ring's."},
	{"source.arrays[].file", "path or list of paths", "(required)", "An .npy file, in C's order, an HDF5 file, or the directory of an array of Zarr, also within a zip (x.zarr.zip/data/action), whose first axis counts rows; several, also by braces and globs, are read one behind the other."},
	{"source.arrays[].dataset", "text or list of text", "(of HDF5 required, of others none)", "Path of the array in an HDF5 file, such as /data/demo_0/actions; several, also by braces `{0..199}` and globs, are read one behind the other, each as a file of its own would be."},
	{"source.arrays[].dtype", "u8, i8, u16, i16, u32, i32, u64, i64, f16, f32, f64", "(.npy, HDF5 and Zarr say it)", "Type of the elements of files that are elements alone, little-endian, as numpy's tofile writes them."},
	{"source.arrays[].shape", "list of whole numbers", "(a number)", "Shape of a row in such files."},
	{"source.arrays[].window", "whole number from 1", "(none: a sample is one row)", "Rows of a sample, which then has them as its first axis; none lies across two files, datasets or episodes."},
	{"source.arrays[].step", "whole number from 1", "(window)", "Rows from the beginning of a sample to that of the next."},
	{"source.arrays[].within", "whole number from window", "(window)", "Rows that have to be there from a sample's first on, of which it has the first window: beside actions with a window of 16, an image with within: 16 and the same step has as many samples."},
	{"source.arrays[].pad_before", "whole number from 0, below window or within", "0", "Rows by which the first sample of an episode begins before it; the episode's first row is repeated there. An episode is a file or dataset, or one of source.episodes."},
	{"source.arrays[].pad_after", "whole number from 0, below window or within", "0", "Rows by which the last sample of an episode may end behind it; the episode's last row is repeated there. An episode of L rows has (L - W + pad_before + pad_after) / step + 1 samples, rounded down, and none where that is below 1; W is within, or window."},
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
	{"source.mix[].folder", "path, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or hf://datasets/USER/NAME/PATH", "(none)", "As above."},
	{"source.mix[].list", "path or URL", "(none)", "As above."},
	{"source.mix[].root", "path or URL", "(the list's directory)", "As above."},
	{"source.mix[].shards", "path, URL or list of them", "(none)", "As above."},
	{"source.mix[].path", "text", "(path)", "As above."},
	{"source.mix[].heading", "true, false or list of text", "(as above)", "As above."},
	{"source.mix[].separator", "text", "(as above)", "As above."},
	{"source.mix[].image", "text or list of text", "(as above)", "As above."},
	{"source.mix[].label", "text", "(as above)", "As above."},
	{"source.mix[].extensions", "list of text", "(as above)", "As above."},
	{"source.mix[].labels", "directory, names, none", "(as below)", "As below."},
	{"source.mix[].weight", "number, or mapping of epochs to numbers", "(none)", "Share of the rows, relative to the other data sets'; {0: 3, 10: 1} (in JSON with \"0\" and \"10\") is 3, and 1 from epoch 10 on. " +
		"A data set that is used up in an epoch begins anew; an epoch has as many rows as samples, or `order.rows`."},
	{"source.host", "mapping", "(none)", "Samples that the program around the engine brings, through spdl_source_take and spdl_source_give or as `source=` in Python. " +
		"In process only; one ring. Their labels and keys come with them, so an order cannot go by these."},
	{"source.host.samples", "whole number from 1", "(required; 1099511627776 of a stream)", "How many there are; of a stream, the most."},
	{"source.host.stream", "true, false", "false", "They come one after the other in an order of their own, each epoch up to where the program says that they end (SPDL_SAMPLE_END, an iterable's end). " +
		"With shuffle: false and one rank."},
	{"source.host.timeout", "duration", "1m", "How long a sample may wait for a thread that takes it, and then for its answer; later it is a bad one, cause deadline. A stream has none."},
	{"source.columns", "list of text or mappings", "[]", "Parts of shards, columns of a table, or files beside those of a folder, that become fields of the batch. Without image, video, audio and fields they are all that a sample has, and the first is the batch's first field."},
	{"source.columns[].name", "text", "(required)", "Name of the field, spelt like a ring's."},
	{"source.columns[].from", "text", "(name)", "The part or column (of JSON lines and Parquet `a.b` is also `b` in `a`); of LMDB the template of its keys, such as label-{n:09d}; of a folder the ending of the file that has the sample's name up to its last dot. Of arrays also `npz[NAME]`, one of an .npz file, and in a table what their path is made of, as in source.path; of others, " +
		"of archives and folders, also `json[a.b]`, a value in a part that is a JSON object."},
	{"source.columns[].type", "text, i64, f64, npy, list", "text", "text: bytes as they are, ragged (of Parquet's dates, decimals and the like see sources.md); npy: an array of one shape in every sample, [batch, shape...], or a ragged one where shape begins with -1; of a table the column holds its path; list: the same out of a list of numbers in JSON, `json[input_ids]` or a value of a table, or out of Parquet's lists; else one number a sample."},
	{"source.columns[].max_bytes", "size", "1KiB", "Room of one value of text; a longer one is a bad sample."},
	{"source.columns[].default", "text or number, by type", "(such a sample is bad)", "What a sample of archives or a folder gets that has no such part, or no such value in its JSON (null is none). Of f64 also nan; of arrays only [], where shape begins with -1."},
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
	{"order.rows", "whole number from 0", "0", "Rows of an epoch with weights, balance or a weighted mix; 0: as many as samples."},
	{"order.window", "whole number from 0", "0", "Shuffle the shards, and their samples among this many shards that follow each other; 0: all over the data set. " +
		"Two neighbours are of one shard in about 1 of this many cases."},
	{"order.weights", "column, or path of an .npy file", "(none)", "Draw samples with probability in proportion to this column, or to the numbers in this file, one for each sample in the source's order, which is for sources " +
		"without columns. Costs 12 bytes a sample."},
	{"order.replacement", "true, false", "true", "Whether a weighted draw may take a sample again in the same epoch."},
	{"order.balance", "column", "(none)", "Every value of this column, a label say, comes equally often. Costs 4 bytes a sample."},
	{"order.stratify", "column", "(none)", "Every global batch holds the values of this column as the data set does. Costs 4 bytes a sample."},
	{"order.buckets", "mapping", "(none)", "Batches of samples of similar length. Costs 6 bytes a sample."},
	{"order.buckets.by", "column", "(required)", "The length."},
	{"order.buckets.count", "whole number, 1 to 65536", "8", "Buckets of about equally many samples."},
	{"order.buckets.max_total", "number, 0.001 to 1e15", "(no bound)", "Most of rows x longest length of the bucket in a rank's batch, in the column's unit: a batch of long samples has fewer rows, down to 1, one of short samples up to `batch`. " +
		"A sample that is longer is refused at start."},
	{"order.buckets.multiple_of", "whole number, 1 to 65536", "1", "With max_total: the rows of a rank's batch are a multiple of this, which divides `batch`. A run may go on at any world size that divides multiple_of x world size."},

	{"world", "mapping or auto", "(its defaults)", "The training run that this engine serves a part of. auto: from the variables of torchrun, Slurm or MPI."},
	{"world.size", "whole number from 1", "1", "Ranks in all; at least rank + lanes."},
	{"world.rank", "whole number from 0", "0", "Rank of this engine's first lane."},

	{"batch", "whole number, 1 to 65536", "32", "Rows per rank and step; with order.buckets.max_total the most."},

	{"image", "mapping", "(required, or video, audio, fields or source.columns)", "What a picture becomes; the transform must fix its height and width. A ring may have image, video and audio at a time, " +
		"each of a part of its samples; what is random is drawn alike for all of them. A ring of several has those that it names itself."},
	{"image.from", "text or list of text", "(by the kind of source)", "The part of shards, best first, or column of Parquet or of a table's paths, that is the picture, or what these are made of, as in source.path; beside a folder's files the ending; of source.arrays the name of one, or NAME[K] for row K of its windows. " +
		"Without it: of shards the part with such an ending; of Parquet and of tables with several media the column of the field's name."},
	{"image.mode", "rgb, gray, luma, index", "rgb", "gray is Pillow's `convert('L')` of the RGB picture; luma the JPEG's own Y plane (other formats: as gray); " +
		"index, for masks, the numbers that a PNG with a palette stores, or one of greys of up to 8 bits: u8, with interpolation nearest, cv2_nearest or torch_nearest."},
	{"image.orientation", "ignore, apply", "ignore", "Whether the EXIF orientation turns the picture."},
	{"image.transform", "list of operations", "(required)", "First resize, center_crop or random_crop, resize, random_resize or scale_jitter and one of them, or random_resized_crop; pad behind resize: [H, W] or in front of random_crop; ahead of these, or behind resize, random_resize or scale_jitter, what moves the pixels of the whole picture: horizontal_flip, vertical_flip, random_rotation, random_affine, random_perspective, random_zoom_out, random_iou_crop, or random_apply, random_choice and random_order of such; then any of horizontal_flip, vertical_flip, random_rotate90, random_rotation, random_affine, random_perspective, elastic_transform, one of rand_augment, trivial_augment_wide, auto_augment, timm_rand_augment and aug_mix, " +
		"color_jitter, random_photometric_distort, random_channel_permutation, grayscale, gaussian_blur, solarize, posterize, invert, adjust_sharpness, autocontrast, equalize, gaussian_noise and jpeg, or random_apply, random_choice and random_order of any of them, done in the order in which they stand; then normalize and random_erasing."},
	{"image.transform[].resize", "N, [H, W] or mapping", "(none)", "N: the shorter side, the other in proportion (torchvision's rule); [H, W]: exactly. Sides are 1 to 16384, here and below."},
	{"image.transform[].resize.size", "N or [H, W]", "(required)", "As above."},
	{"image.transform[].resize.interpolation", "bilinear, bicubic, lanczos, box, hamming, nearest, cv2_linear, cv2_nearest, cv2_area, cv2_cubic, cv2_lanczos4, torch_nearest", "bilinear", "The filter, equal to Pillow's: antialiased, or the nearest pixel, for masks; or to cv2.resize's, of which cv2_area alone is antialiased ([media.md](media.md#opencvs-pixels)); or torch_nearest, what torchvision's v2 makes of a mask."},
	{"image.transform[].resize.max_size", "whole number, 1 to 16384", "(no bound)", "Of size: N, the longer side's most (torchvision's rule): where it would be longer, it becomes this, and the shorter side less than N. A crop behind gives all rows one size."},
	{"image.transform[].resize.fit", "stretch, contain, letterbox", "stretch", "Of size: [H, W]. contain: the picture keeps its shape, is as large as H x W has room for (Pillow's ImageOps.pad), and fill goes around. letterbox: the same, rounded as in YOLO's: both sides by one scale, and of an odd number of fill's pixels the larger half behind."},
	{"image.transform[].resize.place", "center, top_left", "center", "Where a contained picture lies."},
	{"image.transform[].resize.upscale", "true, false", "true", "false: a picture that is smaller than H x W in both keeps its size."},
	{"image.transform[].resize.fill", "whole number, 0 to 255, or list of one a channel", "0", "What goes around a contained picture, as center_crop's."},
	{"image.transform[].random_resize", "mapping", "(none)", "torchvision's RandomResize: the shorter side becomes one of min_size to max_size - 1, drawn for each sample, and a mask's the same where both say so. A crop behind gives all rows one size."},
	{"image.transform[].random_resize.min_size", "whole number, 1 to 16384", "(required)", "The least."},
	{"image.transform[].random_resize.max_size", "whole number, 2 to 16385", "(required)", "One more than the most, as torchvision counts."},
	{"image.transform[].random_resize.interpolation", "bilinear, bicubic, lanczos, box, hamming, nearest, cv2_linear, cv2_nearest, cv2_area, cv2_cubic, cv2_lanczos4, torch_nearest", "bilinear", "As resize's."},
	{"image.transform[].scale_jitter", "N, [H, W] or mapping", "(none)", "torchvision's ScaleJitter, of large-scale jitter: the picture keeps its shape and becomes as large as target_size has room for, times a scale that is drawn for each sample, and for its mask's likewise. A crop behind gives all rows one size."},
	{"image.transform[].scale_jitter.target_size", "N or [H, W]", "(required)", "What the picture fits into at scale 1; torchvision takes [W, H]."},
	{"image.transform[].scale_jitter.scale_range", "[low, high]", "[0.1, 2]", "From 0.01 to 100."},
	{"image.transform[].scale_jitter.interpolation", "bilinear, bicubic, lanczos, box, hamming, nearest, cv2_linear, cv2_nearest, cv2_area, cv2_cubic, cv2_lanczos4, torch_nearest", "bilinear", "As resize's."},
	{"image.transform[].pad", "N, list of 2 or 4, or mapping", "(none)", "torchvision's Pad: pixels around a picture that resize: [H, W] has made, whose row is as much larger; or in front of random_crop, for its padding."},
	{"image.transform[].pad.padding", "N, [x, y] or [left, top, right, bottom]", "(required)", "How many, 0 to 16384: on all sides, left and right, top and bottom, or on each."},
	{"image.transform[].pad.padding_mode", "constant, edge, reflect, symmetric", "constant", "What they are, as center_crop's."},
	{"image.transform[].pad.fill", "whole number, 0 to 255, or list of one a channel", "0", "As center_crop's."},
	{"image.transform[].center_crop", "N, [H, W] or mapping", "(none)", "The middle; a smaller picture gets a black border."},
	{"image.transform[].center_crop.size", "N or [H, W]", "(required)", "As above."},
	{"image.transform[].center_crop.position", "center, top_left, top_right, bottom_left, bottom_right", "center", "Where it lies: in the middle, or in a corner, for torchvision's FiveCrop and TenCrop ([media.md](media.md#several-views-of-one-sample)); a smaller picture lies there, too."},
	{"image.transform[].center_crop.fill", "whole number, 0 to 255, or list of one a channel", "0", "What the border is in place of black, in u8 numbers whatever the dtype, before normalize. One number is for all channels; with mode index it is a class, such as 255."},
	{"image.transform[].center_crop.padding_mode", "constant, edge, reflect, symmetric", "constant", "What the border is: fill, or the picture's own pixels: the outermost one, or the picture mirrored without its outermost pixel or with it (torchvision's and numpy's words). A section's own, as fill is."},
	{"image.transform[].random_crop", "N, [H, W] or mapping", "(none)", "A part of that size from anywhere in the picture, also after resize (torchvision's RandomCrop); a smaller picture gets a black border."},
	{"image.transform[].random_crop.size", "N or [H, W]", "(required)", "As above."},
	{"image.transform[].random_crop.padding", "N, [x, y] or [left, top, right, bottom]", "0", "Pixels around the picture, 0 to 16384, which the part may lie on: on all sides, left and right, top and bottom, or on each."},
	{"image.transform[].random_crop.padding_mode", "constant, edge, reflect, symmetric", "constant", "What the padding and the border are, as center_crop's: reflect for CIFAR's usual recipe."},
	{"image.transform[].random_crop.fill", "whole number, 0 to 255, or list of one a channel", "0", "What the padding and the border are, as center_crop's."},
	{"image.transform[].random_resized_crop", "N, [H, W] or mapping", "(none)", "A random part, resized to N x N or H x W (torchvision's rule)."},
	{"image.transform[].random_resized_crop.size", "N or [H, W]", "(required)", "As above."},
	{"image.transform[].random_resized_crop.scale", "[low, high]", "[0.08, 1]", "Area of the part, as a share of the picture's, 0.000001 to 1."},
	{"image.transform[].random_resized_crop.ratio", "[low, high]", "[0.75, 1.3333333333333333]", "Aspect ratio of the part, width to height, 0.001 to 1000."},
	{"image.transform[].random_resized_crop.interpolation", "bilinear, bicubic, lanczos, box, hamming, nearest, cv2_linear, cv2_nearest, cv2_area, cv2_cubic, cv2_lanczos4, torch_nearest, random", "bilinear", "The filter, equal to Pillow's: antialiased, or the nearest pixel, for masks; or to cv2.resize's, of which cv2_area alone is antialiased ([media.md](media.md#opencvs-pixels)); or torch_nearest, what torchvision's v2 makes of a mask. random is bilinear or bicubic, drawn for each sample, as timm does in training unless --train-interpolation says one."},
	{"image.transform[].horizontal_flip", "number, 0 to 1", "0", "Probability of a mirrored picture."},
	{"image.transform[].vertical_flip", "number, 0 to 1", "0", "Probability of a picture upside down, mirrored top to bottom."},
	{"image.transform[].random_rotation", "number, [low, high] or mapping", "(none)", "torchvision's RandomRotation, to the left around the middle or a center; where there is no pixel there is fill. Ahead of the geometry, or between a resize and a crop, it is of the whole picture, as are the flips, random_affine and random_perspective. A number x is the range [-x, x]. Masks turn with their pictures where both say so."},
	{"image.transform[].random_rotation.degrees", "number, 0 to 360, or [low, high]", "(required)", "As above; -360 to 360."},
	{"image.transform[].random_rotation.center", "[x, y]", "(the middle)", "torchvision's: the place around which pictures turn, in pixels from the top left corner of what is turned, the row, or the picture as it is there; -16384 to 16384."},
	{"image.transform[].random_rotation.expand", "true, false", "false", "The picture becomes as large as all of it needs (Pillow's and torchvision's rule). Of a rotation that stands ahead of a crop or of resize: [H, W]."},
	{"image.transform[].random_rotation.interpolation", "nearest, bilinear, bicubic", "nearest", "nearest for masks."},
	{"image.transform[].random_rotation.fill", "whole number, 0 to 255, or list of one a channel", "0", "What lies where there is no pixel, as center_crop's. It is the section's own: a mask may have 255 where its picture is black."},
	{"image.transform[].random_affine", "mapping", "(none)", "torchvision's RandomAffine around the middle or a center, for masks, too, where both say so."},
	{"image.transform[].random_affine.degrees", "number, 0 to 360, or [low, high]", "(required)", "To the right; 0 does not turn."},
	{"image.transform[].random_affine.translate", "[x, y]", "[0, 0]", "How far at most to either side, as shares of width and height, 0 to 1; whole pixels."},
	{"image.transform[].random_affine.scale", "[low, high]", "[1, 1]", "From 0.01 to 100."},
	{"image.transform[].random_affine.shear", "number, [low, high] or [x low, x high, y low, y high]", "0", "Degrees, to 80: along x, or along x and y."},
	{"image.transform[].random_affine.center", "[x, y]", "(the middle)", "As random_rotation's."},
	{"image.transform[].random_affine.interpolation", "nearest, bilinear, bicubic", "nearest", "nearest for masks."},
	{"image.transform[].random_affine.fill", "whole number, 0 to 255, or list of one a channel", "0", "What lies where there is no pixel, as center_crop's. It is the section's own: a mask may have 255 where its picture is black."},
	{"image.transform[].random_perspective", "number or mapping", "(none)", "torchvision's RandomPerspective: each corner moves inwards, and the row is as if seen from another side. A number is distortion_scale, `{}` the usual. Masks move with their pictures where both say so; image.affine cannot tell of it."},
	{"image.transform[].random_perspective.distortion_scale", "number, 0 to 1", "0.5", "How far a corner moves at most, as a share of half the width and half the height; whole pixels."},
	{"image.transform[].random_perspective.p", "number, 0 to 1", "0.5", "Probability that it happens."},
	{"image.transform[].random_perspective.interpolation", "nearest, bilinear, bicubic", "bilinear", "nearest for masks."},
	{"image.transform[].random_perspective.fill", "whole number, 0 to 255, or list of one a channel", "0", "What lies where there is no pixel, as center_crop's. It is the section's own: a mask may have 255 where its picture is black."},
	{"image.transform[].random_zoom_out", "[low, high] or mapping", "(none)", "torchvision's RandomZoomOut, ahead of the geometry or between a resize and a crop: the picture comes to lie somewhere in a larger one. `{}` is the usual. Masks lie alike where both say so; image.affine tells where."},
	{"image.transform[].random_zoom_out.side_range", "[low, high]", "[1, 4]", "How many times as long its sides become, 1 to 16; drawn between the two."},
	{"image.transform[].random_zoom_out.p", "number, 0 to 1", "0.5", "Probability that it happens."},
	{"image.transform[].random_zoom_out.fill", "whole number, 0 to 255, or list of one a channel", "0", "What lies around it, as center_crop's."},
	{"image.transform[].random_iou_crop", "mapping", "(none)", "torchvision's RandomIoUCrop, of SSD, ahead of the geometry or between a resize and a crop: a part of the picture that has the centre of a box in it and overlaps with it by as much as is drawn. It goes by image.boxes; boxes whose centre it leaves out are dropped. `{}` is the usual."},
	{"image.transform[].random_iou_crop.min_scale", "number, 0.001 to 1", "0.3", "Least share of each of the picture's sides."},
	{"image.transform[].random_iou_crop.max_scale", "number, 0.001 to 1", "1", "The largest."},
	{"image.transform[].random_iou_crop.min_aspect_ratio", "number, 0.001 to 1000", "0.5", "Least width / height."},
	{"image.transform[].random_iou_crop.max_aspect_ratio", "number, 0.001 to 1000", "2", "The largest."},
	{"image.transform[].random_iou_crop.sampler_options", "list of numbers", "[0, 0.1, 0.3, 0.5, 0.7, 0.9, 1]", "Least overlaps, one of which is drawn: what crop and box both have, by what either has. From 1 on the picture stays whole. Where no crop has it another is drawn, 64 times at most."},
	{"image.transform[].random_iou_crop.trials", "whole number, 1 to 1000", "40", "Crops that are tried for an overlap."},
	{"image.transform[].elastic_transform", "number, [x, y] or mapping", "(none)", "torchvision's ElasticTransform: the row is as if of rubber. A number is alpha, `{}` the usual. Masks move with their pictures where both say so; image.affine cannot tell of it."},
	{"image.transform[].elastic_transform.alpha", "number, 0 to 10000, or [x, y]", "50", "How far pixels move: numbers drawn from -1 to 1 and blurred, times half of this, are pixels."},
	{"image.transform[].elastic_transform.sigma", "number, 0 to 31.75", "5", "Of the blur, whose 4 sigma lie within the row. 0 does not blur: each pixel goes its own way."},
	{"image.transform[].elastic_transform.p", "number, 0 to 1", "1", "Probability that it happens; torchvision's always does."},
	{"image.transform[].elastic_transform.interpolation", "bilinear, nearest", "bilinear", "nearest for masks."},
	{"image.transform[].elastic_transform.fill", "whole number, 0 to 255, or list of one a channel", "0", "What lies where there is no pixel, as center_crop's."},
	{"image.transform[].rand_augment", "whole number or mapping", "(none)", "torchvision's RandAugment: operations drawn out of its 14, each by one magnitude. N is the magnitude. Of gray and luma Color does nothing; mode index has none of this and of what follows."},
	{"image.transform[].rand_augment.num_ops", "whole number, 1 to 16", "2", "How many, one after the other."},
	{"image.transform[].rand_augment.magnitude", "whole number, 0 to 999", "9", "Which of the bins: 0 to num_magnitude_bins - 1."},
	{"image.transform[].rand_augment.num_magnitude_bins", "whole number, 2 to 1000", "31", "Magnitudes there are, from none to the largest."},
	{"image.transform[].rand_augment.interpolation", "nearest, bilinear, bicubic", "nearest", "Of what shears, moves and turns."},
	{"image.transform[].rand_augment.fill", "whole number, 0 to 255, or list of one a channel", "0", "What lies where there is no pixel, as center_crop's."},
	{"image.transform[].trivial_augment_wide", "whole number or mapping", "(none)", "torchvision's TrivialAugmentWide: one operation by any magnitude; `{}` with its defaults. N is num_magnitude_bins."},
	{"image.transform[].trivial_augment_wide.num_magnitude_bins", "whole number, 2 to 1000", "31", "Magnitudes there are, from none to the largest."},
	{"image.transform[].trivial_augment_wide.interpolation", "nearest, bilinear, bicubic", "nearest", "As above."},
	{"image.transform[].trivial_augment_wide.fill", "whole number, 0 to 255, or list of one a channel", "0", "What lies where there is no pixel, as center_crop's."},
	{"image.transform[].auto_augment", "imagenet, cifar10, svhn or mapping", "(none)", "torchvision's AutoAugment: a pair of operations of the policy that was learnt for that data set."},
	{"image.transform[].auto_augment.policy", "imagenet, cifar10, svhn", "imagenet", "As above."},
	{"image.transform[].auto_augment.interpolation", "nearest, bilinear, bicubic", "nearest", "As above."},
	{"image.transform[].auto_augment.fill", "whole number, 0 to 255, or list of one a channel", "0", "What lies where there is no pixel, as center_crop's."},
	{"image.transform[].timm_rand_augment", "text or mapping", "(none)", "timm's RandAugment, by timm's own name for it, such as rand-m9-mstd0.5-inc1 (m magnitude, n operations, p, mstd, mmax, inc1): operations drawn out of its 15, with Pillow's pixels. Of gray and luma Color does nothing."},
	{"image.transform[].timm_rand_augment.config", "text", "(required)", "As above."},
	{"image.transform[].timm_rand_augment.interpolation", "random, bilinear, bicubic, nearest", "random", "Of what shears, moves and turns; random is bilinear or bicubic, drawn for each, as timm does unless --train-interpolation says one."},
	{"image.transform[].timm_rand_augment.fill", "whole number, 0 to 255, or list of one a channel", "(the mean of normalize, ImageNet's without one)", "What lies where there is no pixel, as center_crop's."},
	{"image.transform[].aug_mix", "whole number or mapping", "(none)", "torchvision's AugMix: the picture, and what chains of operations make of it, added up by shares that are drawn; `{}` is the usual. A number is severity. The operations have Pillow's pixels, as rand_augment's. image.affine cannot tell of it."},
	{"image.transform[].aug_mix.severity", "whole number, 1 to 10", "3", "An operation's magnitude is one of so many of 10, from the least."},
	{"image.transform[].aug_mix.mixture_width", "whole number, 1 to 8", "3", "Chains."},
	{"image.transform[].aug_mix.chain_depth", "whole number, -1 to 8", "-1", "Operations of each, one after the other; -1: one to three, drawn for each chain."},
	{"image.transform[].aug_mix.alpha", "number, 0.1 to 1000", "1", "Of the Beta and Dirichlet distributions of the shares: the larger, the more alike they are."},
	{"image.transform[].aug_mix.all_ops", "true, false", "true", "false leaves out brightness, color, contrast and sharpness, which are among the corruptions of ImageNet-C."},
	{"image.transform[].aug_mix.interpolation", "nearest, bilinear, bicubic", "bilinear", "Of what shears, moves and turns."},
	{"image.transform[].aug_mix.fill", "whole number, 0 to 255, or list of one a channel", "0", "What lies where there is no pixel, as center_crop's."},
	{"image.transform[].random_rotate90", "number, 0 to 1", "0", "Probability that a row, which must be square, is turned to the left by a quarter of a circle, two, three or none, drawn evenly (albumentations' RandomRotate90); no pixel is mixed."},
	{"image.transform[].color_jitter", "mapping", "(none)", "torchvision's ColorJitter: what is given is applied, in an order that is drawn, each by a factor drawn from its range. A number x is the range [1 - x, 1 + x], from 0 on; " +
		"of hue [-x, x]. Of mode gray and luma brightness and contrast only; mode index has no colours."},
	{"image.transform[].color_jitter.p", "number, 0 to 1", "1", "Probability that it happens at all (torchvision's RandomApply)."},
	{"image.transform[].color_jitter.brightness", "number or [low, high]", "(none)", "0 is black, 1 as it is; to 1000."},
	{"image.transform[].color_jitter.contrast", "number or [low, high]", "(none)", "0 is the picture's mean grey, 1 as it is; to 1000. Of a video each frame has its own mean."},
	{"image.transform[].color_jitter.saturation", "number or [low, high]", "(none)", "0 is grey, 1 as it is; to 1000."},
	{"image.transform[].color_jitter.hue", "number, 0 to 0.5, or [low, high]", "(none)", "0 is as it is, -0.5 and 0.5 the opposite colour."},
	{"image.transform[].random_photometric_distort", "number or mapping", "(none)", "torchvision's RandomPhotometricDistort, of SSD: brightness, contrast (before saturation or at the end), saturation, hue, and the channels' places, each by p; a number is p. Ranges as of color_jitter; of mode rgb only."},
	{"image.transform[].random_photometric_distort.p", "number, 0 to 1", "0.5", "Probability of each."},
	{"image.transform[].random_photometric_distort.brightness", "number or [low, high]", "[0.875, 1.125]", "0 leaves it out, here and below."},
	{"image.transform[].random_photometric_distort.contrast", "number or [low, high]", "[0.5, 1.5]", "As of color_jitter."},
	{"image.transform[].random_photometric_distort.saturation", "number or [low, high]", "[0.5, 1.5]", "As of color_jitter."},
	{"image.transform[].random_photometric_distort.hue", "number, 0 to 0.5, or [low, high]", "[-0.05, 0.05]", "As of color_jitter."},
	{"image.transform[].random_channel_permutation", "number, 0 to 1", "0", "Probability that the three channels change places, by one of the six permutations (torchvision's RandomChannelPermutation is 1); of mode rgb only."},
	{"image.transform[].grayscale", "number, 0 to 1", "0", "Probability of three channels of grey (Pillow's L), after color_jitter; of mode rgb only."},
	{"image.transform[].gaussian_blur", "whole number or mapping", "(none)", "torchvision's GaussianBlur, within 1. N is kernel_size."},
	{"image.transform[].gaussian_blur.kernel_size", "odd number, 1 to 255", "(required)", "Pixels in height and width; less than twice the row's shorter side."},
	{"image.transform[].gaussian_blur.sigma", "number or [low, high]", "[0.1, 2]", "Standard deviation in pixels, drawn from its range; 0.001 to 1000."},
	{"image.transform[].gaussian_blur.p", "number, 0 to 1", "1", "Probability that it happens (torchvision's RandomApply)."},
	{"image.transform[].solarize", "mapping", "(none)", "torchvision's RandomSolarize: values from the threshold on are inverted."},
	{"image.transform[].solarize.threshold", "number, 0 to 256", "(required)", "Of u8 values; 256 inverts none."},
	{"image.transform[].solarize.p", "number, 0 to 1", "0.5", "Probability."},
	{"image.transform[].posterize", "mapping", "(none)", "torchvision's RandomPosterize: the lower bits of every value become 0."},
	{"image.transform[].posterize.bits", "whole number, 0 to 8", "(required)", "Bits that are kept."},
	{"image.transform[].posterize.p", "number, 0 to 1", "0.5", "Probability."},
	{"image.transform[].invert", "number, 0 to 1", "0", "Probability of a negative (torchvision's RandomInvert)."},
	{"image.transform[].adjust_sharpness", "mapping", "(none)", "torchvision's RandomAdjustSharpness."},
	{"image.transform[].adjust_sharpness.factor", "number, 0 to 1000", "(required)", "0 is smoothed, 1 as it is, 2 twice as sharp."},
	{"image.transform[].adjust_sharpness.p", "number, 0 to 1", "0.5", "Probability."},
	{"image.transform[].autocontrast", "number, 0 to 1", "0", "Probability that the values of each channel are stretched from 0 to 255 (torchvision's RandomAutocontrast). Of a video each frame by its own."},
	{"image.transform[].equalize", "number, 0 to 1", "0", "Probability that about equally many pixels get each value of a channel (torchvision's RandomEqualize). Of a video each frame by its own."},
	{"image.transform[].gaussian_noise", "number, [low, high] or mapping", "(none)", "torchvision's GaussianNoise, of u8 values: each gets a normal number of its own, in every sample, channel and frame another, and is held to its range. A number is sigma."},
	{"image.transform[].gaussian_noise.sigma", "number, 0 to 1, or [low, high]", "0.1", "Standard deviation, of values from 0 to 1; or from where one is drawn for each row."},
	{"image.transform[].gaussian_noise.mean", "number, -1 to 1", "0", "Its mean."},
	{"image.transform[].gaussian_noise.p", "number, 0 to 1", "1", "Probability."},
	{"image.transform[].jpeg", "whole number, [low, high] or mapping", "(none)", "torchvision's JPEG on PIL images: the row is written as a JPEG and read again, with chroma halved. A number, or a pair, is quality."},
	{"image.transform[].jpeg.quality", "whole number, 1 to 100, or [low, high]", "(required)", "Of the file; or from where one is drawn for each row, both ends included."},
	{"image.transform[].jpeg.p", "number, 0 to 1", "1", "Probability."},
	{"image.transform[].random_apply", "list of operations or mapping", "(none)", "torchvision's RandomApply: all of some operations, or none. They are of those that a row has, flips and turns and an augmentation, too, in their order, and none of them stands elsewhere, too. Ahead of the geometry, or behind one of its resizes, of those that may stand there."},
	{"image.transform[].random_apply.transforms", "list of operations", "(required)", "1 to 16, each as in transform, with a p of its own besides."},
	{"image.transform[].random_apply.p", "number, 0 to 1", "0.5", "Probability that they are done."},
	{"image.transform[].random_choice", "list of operations or mapping", "(none)", "torchvision's RandomChoice: one of some operations, of those that random_apply may have, of which none stands elsewhere, too."},
	{"image.transform[].random_choice.transforms", "list of operations", "(required)", "1 to 16. One that has a p below 1 may be drawn and not happen: `[{grayscale: 1}, {solarize: {threshold: 128, p: 1}}, {gaussian_blur: 9}]` are those of DeiT III's 3-Augment."},
	{"image.transform[].random_choice.p", "list of numbers", "(all alike)", "How often each is drawn, beside the others; a number for each, from 0."},
	{"image.transform[].random_order", "list of operations or mapping", "(none)", "torchvision's RandomOrder: all of some operations, of those that random_apply may have, in an order that is drawn."},
	{"image.transform[].random_order.transforms", "list of operations", "(required)", "1 to 16, as random_apply's."},
	{"image.transform[].normalize", "imagenet or mapping", "(none)", "(x/255 - mean) / std; needs a float dtype."},
	{"image.transform[].normalize.mean", "list of numbers", "(required)", "One a channel, in units of 0 to 1; from -10000 to 10000."},
	{"image.transform[].normalize.std", "list of numbers", "(required)", "One a channel, 0.000001 to 1000000."},
	{"image.transform[].random_erasing", "number, 0 to 1, or mapping", "0", "torchvision's RandomErasing: a part of the finished row becomes zeros, of a normalised row the mean, of one in u8 black. A number is p. With mode index there is none."},
	{"image.transform[].random_erasing.p", "number, 0 to 1", "0.5", "Probability."},
	{"image.transform[].random_erasing.scale", "[low, high]", "[0.02, 0.33]", "Area of the part, as a share of the row's, 0 to 1."},
	{"image.transform[].random_erasing.ratio", "[low, high]", "[0.3, 3.3]", "Height of the part to its width, 0.001 to 1000."},
	{"image.transform[].random_erasing.value", "number, list of one a channel, or random", "0", "What the part becomes, in the row's own numbers, after normalize: -10000 to 10000, of u8 whole from 0 to 255. random, of rows of floats: standard normal numbers, one an element (timm's mode pixel). Of a video the same in all frames."},
	{"image.dtype", "u8, f16, bf16, f32", "(u8; f32 with normalize)", "Type of an element; floats without normalize are x/255."},
	{"image.layout", "NHWC, NCHW", "NHWC", "Order of height, width and channels in a batch."},
	{"image.affine", "true, false", "false", "Two more fields a batch, for boxes and key points that are to follow their picture: `affine` [N, 2, 3] f32, which maps a point of the picture as it is seen to the row's pixels " +
		"(crop, resize, flips and what an augmentation shears, moves and turns, in one), and `size` [N, 2] i64, the picture's height and width (of fields NAME.affine and NAME.size)."},
	{"image.boxes", "text or mapping", "(none)", "Boxes that follow their picture: a column of source.columns, a list or an .npy of shape [-1, 4]. A batch has them, f32, as they lie in the row: around their corners after each operation that moves pixels, cut at the edges, and without those of which too little is left. Text is column. They follow all but elastic_transform."},
	{"image.boxes.column", "text", "(required)", "Name of the column."},
	{"image.boxes.format", "xyxy, xywh, cxcywh", "xyxy", "What the four numbers are, in the column and in the batch: two corners; a corner, width and height (COCO's); or the middle, width and height (YOLO's)."},
	{"image.boxes.normalized", "true, false", "false", "Whether they are shares of the sides, of the picture in the column and of the row in the batch, and not pixels."},
	{"image.boxes.min_size", "number, 0 to 1000000", "1", "Pixels of the row that both sides of a box must have, as of torchvision's SanitizeBoundingBoxes; one with less is dropped. With 0 here and in min_area all stay, also without area."},
	{"image.boxes.min_area", "number, 0 to 1000000000000", "1", "Pixels of the row that it must cover."},
	{"image.boxes.min_visibility", "number, 0 to 1", "0", "Share of its area that must not be cut away (albumentations')."},
	{"image.boxes.with", "text or list of text", "(none)", "Columns with a line for each box, such as its class, which are dropped with it: lists or .npy whose shape begins with -1. In a sample they have as many lines as boxes, or it is a bad one, cause value. points.column may be one of them: points of each box."},
	{"image.points", "text or mapping", "(none)", "Points that follow their picture: a column of lists or .npy whose last dimension is 2 (x, y) or 3 (x, y, visibility), such as [-1, 2], [17, 3] or, of each box, [-1, 17, 3]. A batch has them, f32, in the row's pixels. Of three numbers a point that lies beyond the row, or whose visibility is 0, is 0, 0, 0, as COCO has points that are not there; of two it stays where it lies. Text is column."},
	{"image.points.column", "text", "(required)", "Name of the column."},
	{"image.points.normalized", "true, false", "false", "As of boxes."},
	{"image.points.remove_invisible", "true, false", "false", "Of [-1, 2] and [-1, 3]: points beyond the row, and those of visibility 0, are dropped."},
	{"image.points.with", "text or list of text", "(none)", "Columns with a line for each point, which are dropped with it."},
	{"image.max_pixels", "whole number from 1", "178956970", "A picture with more pixels is a bad sample, found before memory is taken."},

	{"video", "mapping", "(none)", "Which frames of a video make a row, and what becomes of each. Fields of the batch: `video`, `frames` (of each row), `pts` and `duration` (of each frame, in seconds)."},
	{"video.from", "text or list of text", "(by the kind of source)", "As image.from."},
	{"video.frames", "whole number, 1 to 1048576", "(as many as select gives)", "Room of a row. Required unless select says how many: indices, times, clips_at_random_indices, clips_at_regular_indices, clips_at_random_timestamps."},
	{"video.select", "mapping", "{kind: uniform}", "Which frames; frame i is torchcodec's frame i in its exact mode. Of one sample, without a ring, the default is all of them."},
	{"video.select.kind", "uniform, all, segments, every, indices, times, fps, keyframes, clips_at_random_indices, clips_at_regular_indices, clips_at_random_timestamps, clips_at_regular_timestamps", "(required)",
		"uniform: `frames` of them evenly from the first to the last; segments: one of each of `frames` equal parts; the clips are torchcodec's samplers."},
	{"video.select.step", "whole number from 1", "(required with every)", "Of every: each of so many frames."},
	{"video.select.rate", "number, 0.000001 to 1000000", "(required with fps)", "Of fps: frames a second, each the one on show, as many as the length has, rounded: torchcodec's get_all_frames(fps), but that a time which is exactly a frame's shows that frame (torchcodec's may be one ulp earlier, and then show the one before), and that a video shorter than one interval gives one frame (torchcodec's gives none). Where a container rounds times (Matroska: to milliseconds) `nearest` keeps to the video's own steps."},
	{"video.select.indices", "list of whole numbers", "(required with indices)", "Negative ones count from the end. With a column of one number, what is added to it: without a list the number itself."},
	{"video.select.times", "list of numbers", "(required with times)", "Seconds; each the frame on show (pts <= t < pts + duration). With a column of one number, what is added to it, such as [-0.1, 0]: without a list the number itself."},
	{"video.select.column", "text", "(none)", "Of times and indices: what each sample names itself, in a column of source.columns: one number (type f64 or i64) or a list of them (type list or npy, of one dimension). Indices of columns count from 0. What is no time or index, a negative one and an empty list make a bad sample, cause value."},
	{"video.select.nearest", "true, false", "false", "Of times and fps: the frame that appears closest, in place of the one on show, as of times that were rounded (float32). Times of a column may then be half a frame before the first or behind the last."},
	{"video.select.random", "true, false", "false", "Of segments: any frame of the part, in place of its middle."},
	{"video.select.num_clips", "whole number from 1", "1", "Clips of a row."},
	{"video.select.num_frames_per_clip", "whole number from 1", "1", "Frames of each."},
	{"video.select.num_indices_between_frames", "whole number from 1", "1", "From one frame of a clip to the next."},
	{"video.select.seconds_between_frames", "number, 0.000001 to 1000000000", "(one frame at the average rate)", "The same in time."},
	{"video.select.seconds_between_clip_starts", "number, 0.000001 to 1000000000", "(required with clips_at_regular_timestamps)", "From one clip to the next."},
	{"video.select.sampling_range_start", "number", "(the first frame)", "Where a clip may start: an index or seconds, by kind."},
	{"video.select.sampling_range_end", "number", "(as far as a clip fits)", "Where no clip may start any more."},
	{"video.select.policy", "repeat_last, wrap, error", "(repeat_last; of times and indices error)", "What a clip does that reaches past the last frame. Of times and indices: whether those before the first frame or behind the last are that one (repeat_last), or make a bad sample, cause no_such_frames (error)."},
	{"video.window", "mapping", "(the whole video)", "Only frames on show in this part are chosen from."},
	{"video.window.start", "time", "0s", "Where it begins."},
	{"video.window.duration", "time", "(to the end)", "How long it is."},
	{"video.window.start_column", "text", "(none)", "Where it begins in each sample's file, in seconds: a column of source.columns of type f64 or i64."},
	{"video.window.duration_column", "text", "(none)", "How long it is in each sample's file; the same."},
	{"video.window.end_column", "text", "(none)", "Where it ends in each sample's file, in place of how long it is; the same."},
	{"video.shape", "fixed, padded, ragged", "fixed", "How rows of fewer frames lie: with zeros behind; in a batch as long as its longest row; or one behind the other, with offsets."},
	{"video.over", "refuse, cut", "refuse", "What more frames than there is room for make: a bad sample, cause too_large; or the first ones are taken."},
	{"video.mode", "rgb, gray", "rgb", "As image.mode."},
	{"video.rotation", "apply, ignore", "apply", "Whether the display matrix turns the frames."},
	{"video.filter", "text", "(none)", "FFmpeg's filters, in its own words, with one input and one output, such as `yadif,hue=s=0`: the chosen frames go through it in the row's order, turned already and before transform, and what comes out is the row, at the times it comes out with. Filters that reach outside (files, devices, networks, plug-ins, the clock) are refused ([media.md](media.md#filters))."},
	{"video.transform", "list of operations", "(required)", "As image.transform, for each frame; what is random is drawn once a row."},
	{"video.dtype", "u8, f16, bf16, f32", "(u8; f32 with normalize)", "As image.dtype."},
	{"video.layout", "NTHWC, NTCHW, NCTHW", "NTHWC", "Order of time, height, width and channels in a batch."},
	{"video.colour", "torchcodec, accurate", "torchcodec", "How pixels become RGB: the bytes of torchcodec on the CPU, where chroma is repeated; or chroma interpolated, and rounded once."},
	{"video.scaler", "pillow, bilinear, bicubic, area", "pillow", "Who resizes: as for pictures, by interpolation; or swscale, which is faster, to exact sizes."},
	{"video.stream", "whole number from 0", "(the best)", "Number of the stream in the file."},
	{"video.threads", "whole number, 1 to 64", "1", "Threads of a decoder; many videos are decoded at a time anyway."},
	{"video.seek", "exact, approximate", "exact", "By an index of the file's packets, or by the header's rate and length."},
	{"video.hardware", "none, auto, cuda, vaapi, vdpau, qsv, drm", "none", "Decode on a device through FFmpeg. auto: on the first of cuda and vaapi that is there, and on the processor what it does not decode or fails at; a named one that is not there is refused."},
	{"video.max_pixels", "whole number from 1", "178956970", "As image.max_pixels, of a frame."},
	{"video.timeout", "time", "1m", "Longest time that one sample, or one chunk of a video that is read in chunks, may take to decode; later it is a bad one, cause too_slow."},

	{"audio", "mapping", "(none)", "What a sound becomes. Fields of the batch: `audio` and `length`, samples (or steps) of each row."},
	{"audio.from", "text or list of text", "(by the kind of source)", "As image.from. It may be a video's, whose sound is then taken."},
	{"audio.rate", "whole number, 1 to 768000", "(required)", "Samples a second of a row; a file of another rate is resampled."},
	{"audio.channels", "whole number, 1 to 64", "1", "Of a row: 1 of many is their mean, many of 1 are copies; anything else needs select."},
	{"audio.select", "list of whole numbers from 0, or mapping", "(all)", "Channels of the file to take first, in this order."},
	{"audio.select.column", "text", "(none)", "Which channel of its file each sample is, from 0: a column of source.columns of type i64."},
	{"audio.length", "whole number or time", "(required)", "Room of a row: samples, or a time such as 10s."},
	{"audio.shape", "fixed, padded, ragged", "fixed", "How shorter rows lie: with zeros behind; in a batch as long as its longest row; or one behind the other, with offsets."},
	{"audio.crop", "refuse, start, center, random", "refuse", "What a longer file becomes: a bad sample, cause too_large; or its beginning, its middle, or any part of it."},
	{"audio.window", "mapping", "(the whole file)", "Part of each file that is read."},
	{"audio.window.of", "text", "(none)", "The video (`video`, or of `fields` a video's name) during whose clip the sound is heard: it begins when the earliest frame of the row appears and ends when the latest is no longer on show, by the file's clock, whenever the sound itself begins; silence is where it has no sound. Without audio.from it is that video's own sound. Of rows of K clips it is K sounds, [N, K, C, L] and lengths of [N, K] ([media.md](media.md#the-sound-of-a-clip))."},
	{"audio.window.start", "time", "0s", "Where it begins, from the first sample on; with `of` from the clip's begin on, and it may be negative."},
	{"audio.window.duration", "time", "(to the end)", "How long it is; with `of`, in place of the clip's length."},
	{"audio.window.start_column", "text", "(none)", "Where it begins in each sample's file, in seconds: a column of source.columns of type f64 or i64."},
	{"audio.window.duration_column", "text", "(none)", "How long it is in each sample's file; the same."},
	{"audio.window.end_column", "text", "(none)", "Where it ends in each sample's file, in place of how long it is; the same."},
	{"audio.filter", "text", "(none)", "FFmpeg's filters, in its own words, with one input and one output, such as `highpass=f=80,afftdn`: the window goes through it, and what comes out is the sample, with its rate and channels. As video.filter."},
	{"audio.speed", "mapping", "(none)", "Speed and pitch change together (torchaudio's SpeedPerturbation): at factor f the sound is read as if it had int(f * rate) samples a second, rate being its own, and resampled from that to the row's rate, " +
		"by the method below. Before the crop, so that a row keeps its length."},
	{"audio.speed.factors", "list of numbers, 0.1 to 10", "(required)", "Up to 16, of which each sample draws one, all with equal chances; one that is there twice has twice the chance."},
	{"audio.resample", "mapping", "(its defaults)", "How the rate is changed."},
	{"audio.resample.method", "sinc_interp_hann, sinc_interp_kaiser, swresample", "sinc_interp_hann", "torchaudio's two, or FFmpeg's own."},
	{"audio.resample.width", "whole number, 1 to 1024", "6", "torchaudio's lowpass_filter_width."},
	{"audio.resample.rolloff", "number, 0.01 to 1", "0.99", "torchaudio's."},
	{"audio.resample.beta", "number, 0 to 100", "14.769656459379492", "Of the Kaiser window."},
	{"audio.reverb", "mapping", "(none)", "Let each row sound as in a room: it is convolved with an impulse response of energy 1 that is drawn, and keeps its length and its beginning."},
	{"audio.reverb.from", "path", "(required)", "Impulse responses: a folder, with what is below it, or a list, one path a line, from the list's directory. They are brought to the row's rate; of one with other channels than the row's the first counts."},
	{"audio.reverb.p", "number, 0 to 1", "1", "Probability that it happens."},
	{"audio.reverb.memory_bytes", "size", "256MiB", "As noise's."},
	{"audio.noise", "mapping", "(none)", "Normal noise over the row, drawn anew for each sample and epoch, as torchaudio's add_noise adds it: the energy of each channel over that of its noise has the ratio. Silence stays silent."},
	{"audio.noise.snr_db", "[low, high]", "(required)", "The ratio is drawn from here, evenly, in decibels; -100 to 100."},
	{"audio.noise.p", "number, 0 to 1", "1", "Probability that it happens."},
	{"audio.noise.color", "white, pink, brown", "white", "Its power falls with frequency by 0, 3 or 6 dB an octave."},
	{"audio.noise.from", "path", "(none)", "Other sounds in place of normal noise: a folder, with what is below it, or a list, one path a line, from the list's directory. Each row draws one and where in it the noise begins; one that is shorter than the row is repeated. They are brought to the row's rate, and to its channels as they are or by their mean."},
	{"audio.noise.memory_bytes", "size", "256MiB", "What decoded sounds of from take at most: those that were drawn last are kept."},
	{"audio.normalize", "mapping", "(none)", "Scale each row, measured before padding."},
	{"audio.normalize.to", "peak, loudness, zero_mean_unit_var", "(required)", "So that its largest value, or its integrated loudness (ITU-R BS.1770), is the level; or (x - mean) / sqrt(variance + 1e-7) over all its channels, which Wav2Vec2, HuBERT and WavLM take."},
	{"audio.normalize.level", "number, -100 to 100", "(1, or -23 LUFS)", "The level."},
	{"audio.gain", "mapping", "(none)", "Make each row louder or quieter (torchaudio's Vol in dB), around the level where it is normalised. Nothing is clipped in f32; i16 is held to its range."},
	{"audio.gain.db", "[low, high]", "(required)", "The gain is drawn from here, evenly, in decibels; -100 to 100."},
	{"audio.gain.p", "number, 0 to 1", "1", "Probability that it happens."},
	{"audio.polarity_inversion", "number, 0 to 1", "0", "Probability that the waveform's sign is turned (torch-audiomentations' PolarityInversion)."},
	{"audio.pre_emphasis", "number, 0 to 1", "0", "c of x[i] - c * x[i-1], of which the row's first sample stays (torchaudio's preemphasis); 0.97 is usual."},
	{"audio.features", "mapping", "(none)", "What is made of the waveform, as torchaudio.transforms does it; the batch has [.., bins, time] then."},
	{"audio.features.kind", "spectrogram, mel, mfcc, whisper, fbank", "(required)", "Spectrogram, MelSpectrogram or MFCC; fbank, Kaldi's filter bank as torchaudio.compliance.kaldi.fbank has it, with frames of 25 ms every 10 ms and 80 bands from 20 Hz on unless said otherwise; or Whisper's log-mel spectrogram, of which only n_mels (80) may be said, with rate: 16000, length: 30s and one channel: silence fills up the row first, so no step of it is zeros."},
	{"audio.features.n_fft", "whole number, 2 to 65536", "400", "Points of a spectrum; no prime factor above 61."},
	{"audio.features.win_length", "whole number from 1", "(n_fft)", "Length of the Hann window."},
	{"audio.features.hop_length", "whole number from 1", "(half the window)", "Samples from one spectrum to the next."},
	{"audio.features.power", "1, 2", "2", "Magnitude or power."},
	{"audio.features.center", "true, false", "true", "Reflect half a spectrum at both ends."},
	{"audio.features.normalized", "true, false", "false", "Divide by the root of the window's energy."},
	{"audio.features.n_mels", "whole number, 1 to 4096", "128", "Mel bands."},
	{"audio.features.f_min", "number from 0", "0", "Lowest frequency, Hz."},
	{"audio.features.f_max", "number", "(half the rate)", "Highest frequency, Hz."},
	{"audio.features.mel_scale", "htk, slaney", "htk", "The scale."},
	{"audio.features.norm", "none, slaney", "none", "Bands of equal area."},
	{"audio.features.log", "none, db, ln, log10", "none", "Linear, decibels (AmplitudeToDB), ln(x + 1e-6), or log10(max(x, 1e-10)). MFCC takes db unless it says another."},
	{"audio.features.top_db", "number above 0", "(no limit; 80 of mfcc)", "Decibels below the row's largest that are kept."},
	{"audio.features.n_mfcc", "whole number, 1 to 4096", "40", "Coefficients."},
	{"audio.features.window_type", "povey, hanning, hamming", "(povey of fbank)", "Window of a filter bank's frames, as Kaldi calls them."},
	{"audio.features.snip_edges", "true, false", "true", "Of fbank: frames that lie wholly inside the sound. With false there is one for every hop_length, round(length / hop_length) of them, the first (win_length - hop_length) / 2 before the sound, which is mirrored at both ends, as Kaldi, torchaudio and Lhotse have it."},
	{"audio.features.int16", "true, false", "false", "Of fbank: samples count from -32768 to 32767, as Kaldi, WeNet and ESPnet take them; without it from -1 to 1, as torchaudio does."},
	{"audio.features.padding", "number or silence", "0", "Value of the steps behind a sound that is shorter than its row, from -10000 to 10000; or silence: zeros fill up the waveform first, as where a program pads it itself, and cmvn counts them. length then counts the steps that begin in the sound. Of shape: fixed."},
	{"audio.features.cmvn", "mean, mean_variance", "(none)", "Normalise each bin of a row, in each channel, by its own steps: x - mean, or that over sqrt(max(variance, 1e-10))."},
	{"audio.features.normalize", "mapping", "(none)", "(x - mean) / std with a data set's numbers; torchaudio recipes' global statistics."},
	{"audio.features.normalize.mean", "number, or list of one for each bin", "(required)", "From -10000 to 10000."},
	{"audio.features.normalize.std", "number, or list of one for each bin", "(required)", "0.000001 to 1000000."},
	{"audio.features.frequency_mask", "mapping", "(none)", "SpecAugment: hide neighbouring bins of a row, which are drawn (torchaudio's FrequencyMasking)."},
	{"audio.features.frequency_mask.freq_mask_param", "whole number from 1", "(required)", "A mask is shorter than this; at most the number of bins."},
	{"audio.features.frequency_mask.count", "whole number, 1 to 64", "1", "How many masks, each drawn for itself."},
	{"audio.features.frequency_mask.iid_masks", "true, false", "false", "Channels have masks of their own. Samples always do."},
	{"audio.features.time_mask", "mapping", "(none)", "SpecAugment: hide neighbouring steps that the row really has (torchaudio's TimeMasking)."},
	{"audio.features.time_mask.time_mask_param", "whole number from 1", "(required)", "A mask is shorter than this, and than the row; at most the steps of a full row."},
	{"audio.features.time_mask.p", "number, 0 to 1", "1", "The mask's length is also less than this share of the row's steps."},
	{"audio.features.time_mask.count", "whole number, 1 to 64", "1", "As above."},
	{"audio.features.time_mask.iid_masks", "true, false", "false", "As above."},
	{"audio.features.mask_value", "number or mean", "0", "Value of what is hidden: from -10000 to 10000, or the mean of the row's own steps before any mask, over all bins and channels (torchaudio's SpecAugment without zero_masking)."},
	{"audio.raw", "mapping", "(none)", "Files are samples alone, without a header."},
	{"audio.raw.encoding", "u8, s16, s24, s32, f32, f64", "(required)", "Little-endian."},
	{"audio.raw.rate", "whole number, 1 to 768000", "(required)", "Their rate."},
	{"audio.raw.channels", "whole number, 1 to 64", "(required)", "Their channels, interleaved."},
	{"audio.dtype", "f32, i16", "f32", "Type of an element; f32 is -1 to 1. Features are f32."},
	{"audio.layout", "NCL, NLC", "NCL", "Channels first, or time first. Features of one channel have no channel dimension."},
	{"audio.max_frames", "whole number, 1 to 268435456", "268435456", "A file with more samples a channel in its window is a bad one, found before memory is taken."},
	{"audio.timeout", "time", "1m", "Longest time that decoding one sample may take; later it is a bad one, cause too_slow."},

	{"fields", "mapping", "(none)", "In place of image, video and audio: up to 16 of them, of one kind too, with names of your own, such as left and right. A name has letters, digits, _ and -."},
	{"fields.NAME", "mapping", "(none)", "One of image, video and audio, which is then called NAME in a batch, and what is known of it NAME.frames, NAME.pts, NAME.duration, NAME.length, NAME.affine, NAME.size."},
	{"fields.NAME.draw", "alike, own", "alike", "What is random is drawn as for the sample's other fields, so that a picture and its mask are cropped together; or for this field alone, by its name: a view of its own. " +
		"Without from such a field is of the same part as the first field, where that is of its kind."},

	{"bad_sample", "mapping", "(its defaults)", "What becomes of a sample that cannot be read or decoded."},
	{"bad_sample.policy", "skip, mask, substitute, fail", "skip", "Leave it out: nothing takes its place, so a batch may have fewer rows than `batch`, down to none; leave a zero row; repeat the nearest good row before it; or end. " +
		"Whatever is said, an epoch without a good sample ends the ring, and so do the first 1,000 samples of a run without one (10,000 where they are not shuffled all over), but for max_rate: 1."},
	{"bad_sample.max_count", "whole number from -1", "-1", "End when more than this many were bad; -1: never for their number."},
	{"bad_sample.max_rate", "number, 0 to 1", "(off)", "End when more than this share of the samples so far was bad; 1: never, also when all of an epoch were."},
	{"bad_sample.probation", "whole number from 0", "100", "Samples before the rate is judged; and before a run without a good one ends, where it is more than 1,000 (or 10,000)."},

	{"ring", "mapping", "(its defaults)", "The shared memory and who reads it."},
	{"ring.slots", "whole number, 3 to 65536", "(at least 8, and 4 for each declared consumer and 4 more)", "Batches that the ring holds."},
	{"ring.backing", "memfd, posix", "(memfd when opened by a client, posix when served)", "Anonymous memory, or names in /dev/shm."},
	{"ring.access", "private, shared", "(private when opened by a client, shared when served)", "May the consumer write to its batches, or are they read-only for all."},
	{"ring.mode", `"0600", "0640"`, `"0600"`, "Permission of posix segments and of the socket."},
	{"ring.max_consumers", "whole number, 1 to 4096", "16", "Consumers attached at a time."},
	{"ring.hash", "none, xxh3", "none", "Hash of each batch, to prove what was delivered: XXH3 (64 bits) of its rows' XXH3, 8 bytes each, little-endian, before any stage. Columns count where they are all that a sample has, and those that follow its pictures (image.boxes)."},
	{"ring.reconnect", "time, 0 to 1h", "0s", "How long consumers look for a restarted engine before they report the loss (posix); 0: they report it at once."},
	{"ring.delivery", "ordered, ready", "ordered", "ready: a finished batch does not wait for an earlier one of its epoch, so batches may come in another order; what is in each is the same. " +
		"Not with stages."},
	{"ring.ahead", "whole number, from 1, less than slots", "(half the slots)", "With delivery: ready, how many batches before an unfinished one."},
	{"ring.groups", "list of mappings", "[]", "Groups that exist from the first batch on; each sees every batch once. Stages have it before consumers, one after the other as listed."},
	{"ring.groups[].name", "text", "(required)", "Name of the group, spelt like a ring's."},
	{"ring.groups[].kind", "consumer, stage", "consumer", "A stage's workers transform each batch in its slot before any consumer sees it."},
	{"ring.groups[].mode", "shared, lanes", "shared", "Consumers race for batches, or lane r gets the batches of rank r. A stage is shared."},
	{"ring.groups[].lanes", "whole number, 1 to 64", "1", "Lanes of a lanes group; the same in every lanes group of a ring."},
	{"ring.groups[].slow", "block, drop, detach", "block", "When the group is slow: hold the ring back, drop its oldest batches, or end the group. A stage blocks."},
	{"ring.groups[].redeliver", "true, false", "true", "Give what a dead consumer held to another. What a stage's dead worker held is always decoded again."},

	{"journal", "path", "(none)", "A file that the engine keeps its position in, and goes on from when it is started again; relative to the spec file."},

	{"cache", "mapping", "(its defaults)", "What is kept of what was read or decoded. Only head_space changes what is delivered."},
	{"cache.dir", "path", "(none)", "Directory of encoded samples on a local disk; any number of engines may share it. Not of source.host, nor of arrays that lie on a local disk."},
	{"cache.max_bytes", "size", "10GiB", "Bytes of all files in the directory."},
	{"cache.evict", "lru, never", "lru", "When it is full: the least recently used go, or nothing more is kept."},
	{"cache.rows_bytes", "size", "(none)", "Memory for decoded rows; all of them must fit, and the transform must be without chance. From the second epoch on rows are copied."},
	{"cache.rows_dir", "path", "(none)", "Directory for the decoded rows in place of memory: an engine that is started again has them from its first batch on. rows_bytes is then of the disk. A row whose sample has changed, or that is damaged, is decoded again."},
	{"cache.video_index_dir", "path", "(none; of large local files $SPDL_CACHE_DIR/video)", "Directory for the indices of videos, each by what its video holds, so that packets are not scanned again in the next epoch or by another engine. 40 bytes a frame."},
	{"cache.head_space", "whole number, 0 to 65536", "0", "Repeat the batches of so many steps for ever, from memory: what a perfect loader would give. Needs rows_bytes for them."},

	{"device", "mapping", "(none: batches stay in host memory)", "Upload every batch to a GPU before consumers see it (docs/gpu.md). Needs spdl-device beside the engine; `{}` is device 0."},
	{"device.cuda", "whole number, 0 to 1023", "0", "Which device, as CUDA counts them."},
	{"device.slots", "whole number, 2 to 64", "3", "Batches that fit into its memory: those that are copied, ready or leased."},
	{"device.in_flight", "whole number, 1 to slots", "2", "Batches that are copied at a time."},
	{"device.decode", "cpu, nvjpeg", "cpu", "Who decodes JPEG files. With nvjpeg the bus carries files, and the device crops, resizes and flips, too; what it does not decode, the processor does (docs/gpu.md)."},
	{"device.jpeg_bytes", "whole number, 1024 to 1073741824", "262144", "Room for a sample's file with nvjpeg; the processor decodes larger ones."},
	{"device.finish", "mapping", "(none: the bytes as they are)", "Make numbers of pictures on the device, so that the bus carries bytes: u8 in NHWC become `dtype` in NCHW."},
	{"device.finish.dtype", "f16, bf16, f32", "f32", "What they become, x / 255 in [0, 1] without normalize."},
	{"device.finish.normalize", "imagenet, or mapping", "(none)", "(x - mean) / std per channel, x in [0, 1]."},
	{"device.finish.normalize.mean", "list of numbers", "(required)", "As image's."},
	{"device.finish.normalize.std", "list of numbers", "(required)", "As image's."},
	{"device.otherwise", "fail, host", "fail", "Without uploader, driver or device: end with an error, or go on in host memory."},
	{"device.restarts", "whole number, 0 to 1000", "5", "How often in a row an uploader that died is started again."},

	{"limits", "mapping", "(its defaults)", "What the engine may take."},
	{"limits.cpus", "number, 0.01 to 4096, or 1% to 100%", "(the cgroup's quota, else the affinity)", "Processors: a number, or a share of those that cgroup and affinity leave the engine. Decoders are as many, of a share rounded down; fetch: auto keeps the whole process within it."},
	{"limits.memory", "size", "(no bound)", "Resident memory of the engine, rings included: rings that do not fit are refused, fetch: auto keeps within it."},
	{"limits.fetch", "whole number, 1 to 1024, or auto", "16", "Files read at a time, and, up to 64, shards of a store opened. auto: from 1 to 64, as many as make it faster; begins with 16."},
	{"limits.read_ahead_bytes", "size", "64MiB", "Encoded bytes in flight; a whole number of bytes, or with KiB, MiB, GiB."},

	{"http", "text", "(off)", "Where the engine shows a page, metrics and traces over HTTP: `HOST:PORT`, or a port of 127.0.0.1. There is no login."},

	{"rings", "mapping", "(none)", "Several rings in one engine, attached as `name/NAME`, or over a reader of any of them (`loader.ring(\"NAME\")`, spdl_attach_ring). What a ring does not say, the top level says."},
	{"rings.NAME", "mapping", "(the top level)", "Any of source, order, batch, image, video, audio, fields, bad_sample, ring, cache and device. A source that names a folder, list or shards replaces the top level's; " +
		"lists are replaced, other keys one by one."},
})

// withFrames adds what a video's transform has, which is what a picture's has.
func withFrames(keys []Key) (all []Key) {
	for _, k := range keys {
		all = append(all, k)
		if k.Path != "video.transform" {
			continue
		}
		for _, of := range keys {
			if rest, below := strings.CutPrefix(of.Path, "image.transform[]"); below && !strings.HasPrefix(rest, "."+iouCrop) { // frames have no boxes
				all = append(all, Key{"video.transform[]" + rest, of.Type, of.Default, "As image's."})
			}
		}
	}
	return all
}

// inRing are the sections that a ring of several may say for itself.
var inRing = []string{"source", "order", "batch", "image", "video", "audio", "fields", "bad_sample", "ring", "cache", "device"}

// inField are the keys of one of fields.
var inField = append(slices.Clone(modalities), "draw")

// children are the names of the keys directly below a path of the table; "" is the top level.
func children(path string) []string {
	if path == "rings.NAME" {
		return inRing
	}
	if path == "fields.NAME" {
		return inField
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

// elsewhere finds the path that begins with within and ends in a key, for who wrote it one level too high or too low.
func elsewhere(name, within string) string {
	for _, k := range keys {
		if strings.HasPrefix(k.Path, within) && (strings.HasSuffix(k.Path, "."+name) || k.Path == name) {
			return k.Path
		}
	}
	return ""
}

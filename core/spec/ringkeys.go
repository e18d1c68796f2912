package spec

// ringKeys are the lines of how batches are made, kept and handed out.
var ringKeys = []Key{
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
	{"ring.max_consumers", "whole number, 1 to 4096", "16", "Consumers and workers of stages attached at a time."},
	{"ring.hash", "none, xxh3", "none", "Hash of each batch, to prove what was delivered: XXH3 (64 bits) of its rows' XXH3, 8 bytes each, little-endian, before any stage. Columns count where they are all that a sample has, and those that follow its pictures (image.boxes)."},
	{"ring.reconnect", "time, 0 to 1h", "0s", "How long consumers look for a restarted engine before they report the loss (posix); 0: they report it at once."},
	{"ring.delivery", "ordered, ready", "ordered", "ready: a finished batch does not wait for an earlier one of its epoch, so batches may come in another order; what is in each is the same. " +
		"Not with stages."},
	{"ring.ahead", "whole number from 1", "(half the slots)", "With delivery: ready, how many batches before an unfinished one; fewer than slots."},
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

	{"http", "text or whole number, 0 to 65535", "(off)", "Where the engine shows a page, metrics and traces over HTTP: `HOST:PORT`, or a port of 127.0.0.1. There is no login."},

	{"rings", "mapping", "(none)", "Several rings in one engine, attached as `name/NAME`, or over a reader of any of them (`loader.ring(\"NAME\")`, spdl_attach_ring). What a ring does not say, the top level says."},
	{"rings.NAME", "mapping", "(the top level)", "Any of source, order, batch, image, video, audio, fields, bad_sample, ring, cache and device. A source that names a folder, list or shards replaces the top level's; " +
		"lists are replaced, other keys one by one. null takes back what the top level says of device, of order.filter, weights, balance, stratify, group and buckets, and of image.boxes, points, many and tiles."},
}

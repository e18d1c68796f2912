package spec

import (
	"errors"
	"strings"
	"testing"
)

// mistake is a description that is wrong, and what is said of it.
type mistake struct{ text, want string }

// refuses wants each refused with its place, its path, what was got and what is wanted.
func refuses(t *testing.T, all []mistake) {
	t.Helper()
	for _, c := range all {
		s, err := Parse([]byte(c.text), "x.yaml")
		var e *Error
		if !errors.As(err, &e) || s != nil || !strings.HasPrefix(err.Error(), "x.yaml:") || !strings.Contains(err.Error()+"\n", c.want) {
			t.Errorf("%.150q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// ofImage is a description with such a section image, and ofTransform one with such operations.
func ofImage(body string) string     { return "source: {folder: p}\nimage: {" + body + "}\n" }
func ofTransform(body string) string { return ofImage("transform: [" + body + "]") }

// Everything else that is wrong likewise; pictures are in refuse_image_test.go.
func TestEveryMistakeIsRefusedWhereItIs(t *testing.T) {
	image, ops := ofImage, ofTransform
	const pictures = "image: {transform: [center_crop: 8]}\n"
	const asked = "source: {folder: p}\n" + pictures
	const stream = "source: {host: {stream: true}}\n" + pictures
	refuses(t, []mistake{
		// the document
		{"", "x.yaml: the document is empty"},
		{"# nothing\n", "x.yaml: the document is empty"},
		{"---\n", "x.yaml:2:1: got nothing, want a mapping of version, name, source"},
		{"[]", "x.yaml:1:1: got an empty list, want a mapping of version"},
		{"text", `x.yaml:1:1: got text "text", want a mapping`},
		{"a: [", "x.yaml:1:1: not YAML: "},
		{"batch: 1\n\tbad", "x.yaml:2:1: not YAML: "},
		{"source:\n\tfolder: x\nbatch: 1\n", "x.yaml:2:1: not YAML: found character that cannot start any token; the line is indented by a tab, which YAML does not allow: write blanks"},
		{"source:\n  folder: x\n  \tlabels: none\n", "x.yaml:3:1: not YAML: found a tab character that violates indentation; the line is indented by a tab, which YAML does not allow: write blanks"},
		{"\x00", "x.yaml: not YAML: "},
		{least + "---\nbatch: 1\n", "x.yaml:3:1: got a second document, want one"},
		{least + "--- [", "x.yaml:3:1: not YAML: "},
		{"*a", "not YAML: unknown anchor"},
		{"source:\n  list: t.csv\n  path: {id}_{n:04d}.jpg\n", `x.yaml:3:3: not YAML: did not find expected key; a path that begins with a brace is written in quotes: path: "{id}_{n:04d}.jpg"`},
		{"source: {list: t.csv, path: {a}/{b}.jpg}", `x.yaml:1:23: not YAML: did not find expected ',' or '}'; a path that begins with a brace is written in quotes: path: "{a}/{b}.jpg"`},

		// keys
		{least + "batchsize: 3", `x.yaml:3:1: batchsize: unknown key; did you mean "batch"?`},
		{"source: {folder: p}\norder:\n  shufle: true", `x.yaml:3:3: order.shufle: unknown key; did you mean "shuffle"?`},
		{least + "Order: {}", `x.yaml:3:1: Order: unknown key; did you mean "order"?`},
		{least + "shuffle: true", "x.yaml:3:1: shuffle: unknown key here; it belongs at order.shuffle; valid here: version, name"},
		{"source: {folder: p}\nimage: {size: 224}", "x.yaml:2:9: image.size: unknown key; the transform says how large, such as transform: [{resize: 256}, {center_crop: 224}]; valid here: from, mode"},
		{least + "order: {batch: 3}", "x.yaml:3:9: order.batch: unknown key here; it belongs at batch"},
		{least + "prefetch_workers: 1", "x.yaml:3:1: prefetch_workers: unknown key; valid here: version, name, source, order"},
		{least + "batch: 1\nbatch: 2", "x.yaml:4:1: batch: given twice; keep one"},
		{`{"batch": 1, "batch": 2}`, "x.yaml:1:14: batch: given twice; keep one"},
		{least + "order: {seed: 1, seed: 1}", "x.yaml:3:18: order.seed: given twice; keep one"},
		{least + "order: &o {seed: 1}\nworld: {<<: *o}", "x.yaml:4:9: world.<<: merge keys are not read"},
		{least + "[1]: 2", "x.yaml:3:1: got a list for a key, want one of version"},
		{least + "~: 2", "x.yaml:3:1: got nothing for a key"},
		{"source: /data/train\n", "; write {folder: /data/train}, {list: /data/train} or {shards: /data/train}"},
		{"source: {mix: [train]}\n" + pictures, `source.mix[0]: got text "train", want a mapping of folder, list, root, shards`},
		{"source: {mix: [train]}\n" + pictures, "; write {folder: train}, {list: train} or {shards: train}"},
		{least + "bad_sample: skip", "max_rate, probation; write {policy: skip}"},
		{least + "cache: /tmp/kept", "; write {dir: /tmp/kept}"},
		{least + "ring: {groups: [a]}", "; write {name: a}"},
		{"source: {list: t.jsonl, packing: 2048, columns: [{name: ids, type: list, dtype: i32}]}\n", "source.packing: got 2048, want a mapping of length, strategy, long, by; write {length: 2048}"},
		{"source: {folder: p}\nvideo: {frames: 4, select: fps}\n", "sampling_range_end, policy; write {kind: fps}"},
		{"source: {folder: p}\naudio: {rate: 8000, length: 1s, features: mel}\n", "; write {kind: mel}"},
		{ops("{center_crop: 8}, {color_jitter: 0.4}"), "image.transform[1].color_jitter: got 0.4, want a mapping of p, brightness, contrast, saturation, hue, arithmetic; write {brightness: 0.4}"},
		{ops("{center_crop: 8}, {rand_augment: {n: 2}}"), `image.transform[1].rand_augment.n: unknown key; did you mean "num_ops"?`},
		{ops("{center_crop: 8}, {rand_augment: {m: 9}}"), `image.transform[1].rand_augment.m: unknown key; did you mean "magnitude"?`},
		{image("many: {max: 3}, transform: [center_crop: 8]"), `image.many.max: unknown key; did you mean "most"? The most pictures of a sample`},
		{"source: {folder: p}\naudio: {rate: 8000, length: 1s, features: {kind: mel, hop: 160}}\n", `audio.features.hop: unknown key; did you mean "hop_length"?`},
		{least + "bad_sample: policy", "; write {policy: ...}"},
		{"\xff\xd8\xff\xe0\x00\x10JFIF", "; the file is no text: want a description in YAML or JSON, or in its place a folder of media, or shards by their names"},
		{ops("{center_crop: 8}, {normalize: {mean: [123.675, 116.28, 103.53], std: [58.395, 57.12, 57.375]}}"), "image.transform[1].normalize: got mean [123.675 116.28 103.53] and std [58.395 57.12 57.375], which are of pixels from 0 to 255, " +
			"want those of pixels from 0 to 1: divide both by 255, mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]"},
		{ops("{center_crop: 8}, {normalize: {mean: [0, 0, 0], std: [255, 255, 255]}}"), "divide both by 255, mean: [0, 0, 0], std: [1, 1, 1]"},
		{least + "order: [seed]", "x.yaml:3:8: order: got a list, want a mapping of shuffle, seed, epochs, last"},
		{least + "ring: 8", "x.yaml:3:7: ring: got 8, want a mapping of slots"},
		{least + "limits: {worker: 1}", "x.yaml:3:10: limits.worker: unknown key; valid here: cpus, memory, fetch, read_ahead_bytes"},

		// the device
		{least + "device: {gpu: 0}", `x.yaml:3:10: device.gpu: unknown key; valid here: cuda, slots, in_flight, decode, jpeg_bytes, finish, otherwise, restarts`},
		{least + "device: true", "x.yaml:3:9: device: got true, want a mapping of cuda, slots"},
		{least + "device:", "x.yaml:3:8: device: got nothing, want {} for one with every default; leave the key out for none"},
		{least + "device: {finish: null}", "x.yaml:3:18: device.finish: got nothing, want {}"},
		{least + "device: {cuda: -1}", "x.yaml:3:16: device.cuda: got -1, want a whole number from 0"},
		{least + "device: {slots: 1}", "device.slots: got 1, want a whole number from 2 to 64"},
		{least + "device: {in_flight: 4}", "device.in_flight: got 4, want at most the 3 device slots"},
		{least + "device: {otherwise: skip}", `device.otherwise: got text "skip", want one of fail, host`},
		{least + "device: {finish: {dtype: u8}}", `device.finish.dtype: got text "u8", want one of f16, bf16, f32`},
		{least + "device: {finish: {normalize: {mean: [0], std: [1]}}}", "device.finish.normalize: got 1 values, want 3 for mode rgb"},
		{least + "device: {}\nring: {delivery: ready}", "ring.delivery: got ready with a device, want ordered"},
		{least + "device: {}\nring: {groups: [{name: device}]}", "ring.groups: got a group of the name device beside a device"},
		{ops("center_crop: 8, normalize: imagenet") + "device: {finish: {}}", "device.finish: got"},
		{image("layout: NCHW, transform: [center_crop: 8]") + "device: {finish: {}}", "device.finish: got pictures of u8 in NCHW, want u8 in NHWC"},
		{"batch: 65536\n" + least + "device: {}", "batch: got 65536 with a device, want at most 65535"},
		{least + "device: {decode: gpu}", `device.decode: got text "gpu", want one of cpu, nvjpeg`},
		{least + "device: {jpeg_bytes: 4096}", "device.jpeg_bytes: given without decode: nvjpeg; leave it out"},
		{least + "device: {decode: nvjpeg, jpeg_bytes: 10}", "device.jpeg_bytes: got 10, want a whole number from 1024"},
		{least + "device: {decode: nvjpeg, otherwise: host}", "device.otherwise: got host beside decode: nvjpeg, want fail: host memory has files then, no pixels"},
		{least + "device: {decode: nvjpeg}\nring: {groups: [{name: s, kind: stage}]}", `device.decode: got nvjpeg beside stage "s", want cpu: a stage has batches before the device decodes them`},
		{image("shape: tight, transform: [resize: {size: 8, max_size: 9}]"), `image.shape: got text "tight", want one of fixed, padded, ragged`},
		{image("shape: padded, transform: [center_crop: 8]"), "image.shape: got padded with a transform that gives every row one size, 8 x 8; leave shape out, or resize by {size: 800, max_size: 1333}"},
		{image("shape: padded, room: bucket, transform: [resize: 8]"), "image.room: got bucket, want [H, W] in pixels"},
		{image("shape: padded, transform: [resize: 8]"), "image.room: is missing: resize: 8 without max_size leaves open how large a picture may become; want what a row has room for, such as room: [1333, 1333]"},
		{image("shape: padded, transform: [random_resize: {min_size: 8, max_size: 9}]"), "image.room: is missing: random_resize leaves open"},
		{image("shape: ragged, transform: []"), "image.room: is missing: a transform without resize leaves open"},
		{image("shape: padded, transform: [resize: {min_pixels: 1, max_pixels: 9, multiple_of: 1}]"), "image.room: is missing: resize by min_pixels and max_pixels leaves open"},
		{image("shape: padded, room: 16385, transform: [resize: 8]"), "image.room: got 16385, want a whole number from 1 to 16384"},
		{image("shape: padded, transform: [scale_jitter: {target_size: 9000, scale_range: [1, 2]}]"), "image.room: got 18000 x 18000, want sides of at most 16384"},
		{image("room: 9, transform: [center_crop: 8]"), "image.room: given with shape: fixed, whose rows have the size that the transform says"},
		{image("multiple_of: 9, transform: [center_crop: 8]"), "image.multiple_of: given without shape: padded"},
		{image("shape: ragged, multiple_of: 9, transform: [resize: {size: 8, max_size: 9}]"), "image.multiple_of: given without shape: padded"},
		{image("shape: padded, transform: [resize: {size: 8, max_size: 9}, random_rotate90: 0.5]"), "image.transform[1].random_rotate90: got random_rotate90 with shape: padded, want square rows"},
		{image("shape: padded, dtype: f32, transform: [resize: {size: 16000, max_size: 16384}]"), "image.transform: got an output of 16384x16384x3, want one of less than 2 GiB a row"},
		{ops("resize: {min_pixels: 1, max_pixels: 9, multiple_of: 1}"), "image.transform: resize by min_pixels and max_pixels gives each picture a size of its own, and every row of a batch must have one size; add center_crop: 224"},
		{ops("random_shortest_size: [480, 800]"), "image.transform: random_shortest_size leaves the size of the picture to chance, and every row of a batch must have one size; add random_crop: 480"},
		{ops("random_shortest_size: {max_size: 8}"), "image.transform[0].random_shortest_size: min_size is missing, want one, such as {min_size: [480, 640, 800], max_size: 1333}"},
		{ops("random_shortest_size: []"), "image.transform[0].random_shortest_size: got a list of 0, want 1 to 32 sizes of the shorter side"},
		{ops("random_shortest_size: [8, 0]"), "image.transform[0].random_shortest_size[1]: got 0, want a whole number from 1 to 16384"},
		{image("shape: padded, transform: [random_shortest_size: 8]"), "image.room: is missing: random_shortest_size without max_size leaves open"},
		{ops("resize: {interpolation: box}"), "image.transform[0].resize: size is missing, want size: N or [H, W], max_size, or min_pixels, max_pixels and multiple_of"},
		{ops("resize: {min_pixels: 1, max_pixels: 9}"), "image.transform[0].resize: multiple_of is missing, want all of min_pixels, max_pixels and multiple_of, such as multiple_of: 28"},
		{ops("resize: {size: 8, max_pixels: 9}"), "image.transform[0].resize.size: given beside min_pixels, max_pixels and multiple_of, which say how large a picture becomes"},
		{ops("resize: {min_pixels: 1, max_pixels: 9, multiple_of: 1, rounding: up}"), "image.transform[0].resize.min_pixels: given beside rounding: up, by which a picture has as many of max_pixels as there may be; leave it out"},
		{ops("resize: {max_pixels: 9, rounding: up}"), "image.transform[0].resize: multiple_of is missing"},
		{ops("resize: {min_pixels: 1, max_pixels: 9, multiple_of: 1, rounding: down}"), "image.transform[0].resize.rounding: got text \"down\", want one of nearest, up"},
		{ops("resize: {size: 9, rounding: up}"), "image.transform[0].resize.rounding: got text \"up\", want one of down, nearest, detr, yolos"},
		{ops("resize: {min_pixels: 10, max_pixels: 9, multiple_of: 1}"), "image.transform[0].resize.max_pixels: got 9, want at least min_pixels, 10"},
		{image("shape: ragged, transform: [resize: {size: 8, max_size: 9}]") + "device: {}", "image.shape: got ragged with a device, which uploads what has a fixed place in every row; want padded"},
		{image("shape: padded, transform: [resize: {size: 8, max_size: 9}]") + "device: {finish: {}}", "device.finish: got pictures of shape: padded, want fixed"},
		{image("shape: padded, transform: [resize: {size: 8, max_size: 9}]") + "device: {decode: nvjpeg}", "image.shape: got padded beside device.decode: nvjpeg, whose rows have one size"},
		{"source: {folder: p}\nvideo: {frames: 2, transform: [resize: {size: 8, max_size: 9}]}\n", "video.transform: resize: 8 fixes the shorter side only, and every row of a batch must have one size; add center_crop: 224, or write resize: [224, 224], or random_resized_crop: 224\n"},
		{image("affine: true, transform: [center_crop: 8]") + "device: {decode: nvjpeg}", "image.affine: given beside device.decode: nvjpeg, whose batches do not say it; leave it out, or take decode: cpu"},
		{least + "device: {decode: nvjpeg}\nring: {hash: xxh3}", "ring.hash: got xxh3 beside decode: nvjpeg, want none"},
		{least + "device: {decode: nvjpeg}\ncache: {rows_bytes: 1MiB}", "cache.rows_bytes: given beside decode: nvjpeg, whose rows are files"},
		{"source: {host: {samples: 4}}\nimage: {transform: [center_crop: 8]}\ndevice: {decode: nvjpeg}", "device.decode: got nvjpeg for samples of the program's own, want cpu"},
		{ops("resize: {size: [8, 8], interpolation: lanczos}") + "device: {decode: nvjpeg}", "device.decode: got nvjpeg for pictures resized by interpolation lanczos, want cpu"},
		{image("mode: index, transform: [resize: {size: [8, 8], interpolation: box}]"), "image.transform: got interpolation box with mode index, want nearest"},
		{ops("{center_crop: 8}, {random_rotation: {degrees: 3, interpolation: lanczos}}"), `image.transform[1].random_rotation.interpolation: got text "lanczos", want one of nearest, bilinear`},
		{ops("resize: {size: [8, 8], interpolation: nearest}") + "device: {decode: nvjpeg}", "device.decode: got nvjpeg for pictures resized by interpolation nearest, want cpu"},
		{ops("random_resized_crop: {size: 8, interpolation: random}") + "device: {decode: nvjpeg}", "device.decode: got nvjpeg for pictures resized by interpolation random, want cpu, or bilinear or bicubic"},
		{image("mode: index, transform: [random_resized_crop: {size: 8, interpolation: random}]"), "image.transform: got interpolation random with mode index, want nearest"},
		{ops("resize: {size: [8, 8], interpolation: random}"), `resize.interpolation: got text "random", want one of bilinear`},
		{image("mode: gray, transform: [center_crop: 8]") + "device: {decode: nvjpeg}", "device.decode: got nvjpeg for pictures of u8, gray, in NHWC; want u8, rgb, NHWC"},
		{image("mode: index, transform: [center_crop: 8]") + "device: {finish: {}}", "device.finish: got pictures of mode index, whose numbers of classes are not scaled; leave it out"},
		{ops("center_crop: 8, normalize: imagenet") + "device: {decode: nvjpeg}", "device.decode: got nvjpeg for pictures of f32"},
		{ops("{center_crop: 8}, {vertical_flip: 0.5}") + "device: {decode: nvjpeg}", "image.transform[1].vertical_flip: got vertical_flip beside device.decode: nvjpeg, which crops, resizes and flips left to right only"},
		{ops("{center_crop: 8}, {color_jitter: {hue: 0.1}}") + "device: {decode: nvjpeg}", "image.transform[1].color_jitter: got color_jitter beside device.decode: nvjpeg"},
		{ops("{center_crop: 8}, {grayscale: 0.1}") + "device: {decode: nvjpeg}", "image.transform[1].grayscale: got grayscale beside device.decode: nvjpeg"},
		{"source: {folder: p}\nvideo: {frames: 2, transform: [center_crop: 8]}\ndevice: {decode: nvjpeg}", "device.decode: got nvjpeg for samples that are not one picture, want cpu"},
		{"source: {folder: p}\nvideo: {frames: 2, transform: [center_crop: 8]}\ndevice: {finish: {}}", "device.finish: given for samples that are no pictures"},
		{"source: {shards: a.tar}\nfields: {l: {image: {transform: [center_crop: 8], from: l.png}}}\ndevice: {finish: {}}", "device.finish: given beside fields, want image in their place"},

		// samples of the program's own
		{"source: {host: {}}\n" + pictures, "source.host: samples is missing, want how many there are, or stream: true where nobody knows"},
		{"source: {host: {stream: true, timeout: 2s}}\n" + pictures, "source.host.timeout: given beside stream: true, of which no sample is late"},
		{stream + "order: {shuffle: false, window: 4}", "order.window: given with source.host.stream, whose samples come in their own order; leave it out, or bring them by index"},
		{stream + "order: {shuffle: false, filter: index > 1}", "order.filter: given with source.host.stream"},
		{stream + "order: {shuffle: false, repeat: 2}", "order.repeat: got 2 with source.host.stream, whose samples come in their own order, each once; repeat them in your program"},
		{stream, "order.shuffle: got true with source.host.stream, whose samples come in their own order; want false, and shuffle in your program"},
		{stream + "order: {shuffle: false, last: pad}", "order.last: got pad with source.host.stream, whose samples come in their own order: at their end the first ones are gone; want cover or drop"},
		{stream + "order: {shuffle: false}\nring: {delivery: ready}", "ring.delivery: got ready with source.host.stream"},
		{stream + "order: {shuffle: false}\nworld: {size: 2}", "world.size: got 2 with source.host.stream, whose samples come in their own order; want 1: each rank's program has the rank's own"},
		{asked + "order: {asked: true, shuffle: true}", "order.shuffle: got true with order.asked, where your program says which sample comes next; want false, and shuffle in your program"},
		{asked + "order: {asked: true, window: 2}", "order.window: given with order.asked, where your program says which sample comes next; leave one of the two out"},
		{asked + "order: {asked: true, filter: index > 2}", "order.filter: given with order.asked, where your program says which sample comes next; leave them out in your program"},
		{asked + "order: {asked: true, repeat: 2}", "order.repeat: got 2 with order.asked, where your program says which sample comes next, each once; repeat them in your program"},
		{asked + "order: {asked: true, last: pad}", "order.last: got pad with order.asked, where your program says which sample comes next: at their end the first ones are gone; want cover or drop"},
		{asked + "order: {asked: true}\nring: {delivery: ready}", "ring.delivery: got ready with order.asked, where your program says which sample comes next; want ordered"},
		{asked + "order: {asked: true}\nworld: {size: 2}", "world.size: got 2 with order.asked, where your program says which sample comes next; want 1: each rank's program has the rank's own"},
		{asked + "order: {asked: true}\ncache: {rows_bytes: 1MiB, head_space: 2}", "cache.head_space: repeats the first steps, and with order.asked your program says which sample comes next; leave one of them out"},
		{"source: {host: {samples: 3}}\n" + pictures + "order: {asked: true}", "order.asked: given with source.host, whose samples your program brings; bring them in that order, with source.host.stream"},
		{"source: {mix: [{folder: p, weight: 1}, {folder: q, weight: 2}]}\n" + pictures + "order: {asked: true}", "order.asked: given with weights in source.mix, which draw what comes next; leave the weights out"},

		// values
		{least + "version: 2", "x.yaml:3:10: version: got 2, want 1"},
		{least + "name: .x", `x.yaml:3:7: name: got ".x", want 1 to 63 of A-Z`},
		{least + "name: a/b", `name: got "a/b"`},
		{least + "name: ''", `name: got text "", want text that is not empty`},
		{least + "name: 2024", "name: got 2024, want text; put it in quotes"},
		{least + "name: true", "name: got true, want text; put it in quotes"},
		{least + "batch:", "batch: got nothing, want a whole number from 1 to 65536; leave the key out for its default"},
		{least + "batch: 0", "batch: got 0, want"},
		{least + "batch: -1", "batch: got -1, want"},
		{least + "batch: 65537", "batch: got 65537, want"},
		{least + "batch: 1.5", "batch: got 1.5, want a whole number"},
		{least + "batch: 1e3", "batch: got 1e3, want a whole number"},
		{least + "batch: 064", "batch: got 064, want a whole number"},
		{least + "batch: 0x10", "batch: got 0x10, want a whole number"},
		{least + "batch: 1_000", "batch: got 1_000, want a whole number"},
		{least + "batch: .nan", "batch: got .nan, want a whole number"},
		{least + "batch: '32'", `batch: got text "32", want a whole number`},
		{least + "batch: [32]", "batch: got a list, want a whole number"},
		{least + "batch: {n: 32}", "batch: got a mapping, want a whole number"},
		{least + "batch: !!str 3", `batch: got text "3"`},
		{least + "batch: 99999999999999999999", "batch: got 99999999999999999999, want"},
		{least + "order: {seed: -1}", "x.yaml:3:15: order.seed: got -1, want a whole number from 0 to 2^64-1"},
		{least + "order: {seed: 18446744073709551616}", "order.seed: got 18446744073709551616, want"},
		{least + "order: {seed: .inf}", "order.seed: got .inf, want"},
		{least + "order: {shuffle: yes}", `order.shuffle: got text "yes", want true or false`},
		{least + "order: {weights: [1, 2]}", "x.yaml:3:18: order.weights: got a list, want the name of a column, or the path of an .npy file with a number for each sample, which numpy.save writes"},
		{least + "order: {group: [a]}", "order.group: got a list, want the name of a column, or the path of an .npy file"},
		{least + "cache: true", "cache: got true, want a mapping of dir, max_bytes, evict, rows_bytes, rows_dir, video_index_dir, head_space; write {dir: DIR}, of what is fetched, or {rows_bytes: 8GiB}, of what is decoded\n"},
		{least + "cache: /nvme", "video_index_dir, head_space; write {dir: /nvme}"},
		{least + "order: {shuffle: 1}", "order.shuffle: got 1, want true or false"},
		{least + "order: {shuffle: 1000}", "order.shuffle: got 1000, want true or false; all samples are shuffled, without a buffer, and order: {window: 8} shuffles"},
		{least + "order: {epochs: -1}", "order.epochs: got -1, want"},
		{least + "order: {last: covr}", `order.last: got text "covr", want one of cover, drop, pad; did you mean cover?`},
		{least + "order: {last: [pad]}", "order.last: got a list, want one of cover"},
		{least + "bad_sample: {policy: ignore}", `bad_sample.policy: got text "ignore", want one of skip`},
		{least + "bad_sample: {max_count: -2}", "bad_sample.max_count: got -2"},
		{least + "bad_sample: {max_rate: 1.01}", "bad_sample.max_rate: got 1.01, want a number from 0 to 1"},
		{least + "bad_sample: {max_rate: .nan}", "bad_sample.max_rate: got .nan, want"},
		{least + "bad_sample: {max_rate: -.inf}", "bad_sample.max_rate: got -.inf, want"},
		{least + "bad_sample: {max_rate: 1e999}", `bad_sample.max_rate: got 1e999, want a number`},
		{least + "bad_sample: {max_rate: 1%}", `bad_sample.max_rate: got text "1%", want a number`},
		{least + "bad_sample: {probation: -1}", "bad_sample.probation: got -1"},
		{least + "limits: {cpus: 0}", "limits.cpus: got 0, want a number from 0.01"},
		{least + "http: localhost", "http: got \"localhost\", want HOST:PORT such as 127.0.0.1:8080, or a port from 0 to 65535 alone"},
		{least + "http: 99999", "http: got \"99999\", want HOST:PORT such as 127.0.0.1:8080, or a port from 0 to 65535 alone"},
		{least + "http: localhost:65536", "http: got \"localhost:65536\""},
		{least + "http: ::1:8080", "http: got \"::1:8080\""},
		{least + "http: http://localhost:80", "want HOST:PORT"},
		{least + "http: [8080]", "http: got a list"},
		{least + "ring: {delivery: fast}", `ring.delivery: got text "fast", want one of ordered, ready`},
		{least + "ring: {ahead: 2}", "ring.ahead: got 2, but batches come in order; add delivery: ready"},
		{least + "ring: {delivery: ready, ahead: 0}", "ring.ahead: got 0, want a whole number from 1"},
		{least + "ring: {delivery: ready, slots: 4, ahead: 4}", "ring.ahead: got 4, want less than the 4 slots"},
		{least + "ring: {delivery: ready, groups: [{name: s, kind: stage}]}", "ring.delivery: got ready with a stage, want ordered"},
		{least + "limits: {cpus: 4097}", "limits.cpus: got 4097, want a number from 0.01 to 4096, or a share of the host's from 1% to 100%"},
		{least + "limits: {cpus: 0%}", "limits.cpus: got text \"0%\", want a number from 0.01 to 4096, or a share"},
		{least + "limits: {cpus: 101%}", "limits.cpus: got text \"101%\", want"},
		{least + "limits: {cpus: 40%%}", "limits.cpus: got text \"40%%\", want"},
		{least + "limits: {cpus: \"2\"}", "limits.cpus: got text \"2\", want a number"},
		{least + "limits: {cpus: half}", "limits.cpus: got text \"half\", want"},
		{least + "limits: {cpus: .nan}", "limits.cpus: got .nan, want"},
		{least + "limits: {cpus: [1]}", "limits.cpus: got a list, want a number"},
		{least + "limits: {memory: 0}", "limits.memory: got 0, want a size"},
		{least + "limits: {memory: 50%}", "limits.memory: got 50%, want a size such as 64MiB"},
		{least + "limits: {fetch: 0}", "limits.fetch: got 0, want a whole number from 1 to 1024, or auto"},
		{least + "limits: {fetch: 1025}", "limits.fetch: got 1025, want"},
		{least + "limits: {fetch: 010}", "limits.fetch: got 010, want"},
		{least + "limits: {fetch: 1.5}", "limits.fetch: got 1.5, want"},
		{least + "limits: {fetch: \"16\"}", "limits.fetch: got text \"16\", want a whole number"},
		{least + "limits: {fetch: automatic}", "limits.fetch: got text \"automatic\", want"},
		{least + "limits: {fetch: [1]}", "limits.fetch: got a list, want"},
		{least + "limits: {fetch: }", "limits.fetch: got nothing, want"},
		{least + "limits: {read_ahead_bytes: 64MB}", "limits.read_ahead_bytes: got 64MB, want a size such as 64MiB"},
		{least + "limits: {read_ahead_bytes: -1}", "limits.read_ahead_bytes: got -1, want a size"},
		{least + "limits: {read_ahead_bytes: 0}", "limits.read_ahead_bytes: got 0, want a size"},
		{least + "limits: {read_ahead_bytes: 1.5}", "limits.read_ahead_bytes: got 1.5, want a size such as 64MiB, 1GiB or plain bytes, from 1\n"},
		{least + "limits: {read_ahead_bytes: 9999999999GiB}", "less than 2^63 bytes"},
		{least + "limits: {read_ahead_bytes: 99999999999999999999}", "limits.read_ahead_bytes: got 99999999999999999999, want a size"},

		// source
		{"image: {transform: [center_crop: 4]}", "x.yaml: source: names no samples; want exactly one of folder, list, shards, arrays, mix and host"},
		{"source: {}\nimage: {}", "x.yaml:1:9: source: names no samples"},
		{"source: {folder: a, list: b}\nimage: {}", "x.yaml:1:27: source.list: given beside folder"},
		{"source: {folder: a, root: b}\nimage: {}", "x.yaml:1:27: source.root: goes with list"},
		{"source: {list: a, labels: directory}\nimage: {transform: [center_crop: 8]}", "x.yaml:1:27: source.labels: got directory, which goes with folder"},
		{"source: {list: a, extensions: [jpg]}\nimage: {}", "x.yaml:1:31: source.extensions: goes with folder"},
		{"source: {folder: 7}", "source.folder: got 7, want text; put it in quotes"},
		{"source: {folder: \"a\\0b\"}", "source.folder: got text \"a\\x00b\", want text that is not empty and has no zero byte"},
		{"source: {folder: a, labels: dir}", `source.labels: got text "dir", want one of directory, names, none`},
		{"source: {folder: a, extensions: jpg}", `source.extensions: got text "jpg", want a list of file endings`},
		{"source: {folder: a, extensions: []}", "source.extensions: got an empty list, want a list of file endings"},
		{"source: {folder: a, extensions: [jpg, 7]}", "x.yaml:1:39: source.extensions[1]: got 7, want a file ending such as jpg; put it in quotes"},
		{"source: {folder: a, extensions: ['*.jpg']}", `source.extensions[0]: got "*.jpg", want a file ending`},
		{"source: {folder: a, extensions: [tar.gz]}", `source.extensions[0]: got "tar.gz"`},
		{"source: {folder: a, extensions: [''] }", `source.extensions[0]: got "", want`},

		// world, groups
		{least + "world: {size: 0}", "world.size: got 0"},
		{least + "world: {rank: -1}", "world.rank: got -1"},
		{least + "world: {rank: 1}", "x.yaml:3:8: world.size: got 1, want at least rank + lanes = 1 + 1 = 2; ranks are counted from 0"},
		{least + "world: {size: 2, rank: 1}\nring: {groups: [{name: a, mode: lanes, lanes: 2}]}", "x.yaml:3:15: world.size: got 2, want at least rank + lanes = 1 + 2 = 3"},
		{least + "world: {size: 1048576}\nbatch: 2048", "x.yaml:4:8: batch: got a global batch of 2147483648"},
		{least + "ring: {slots: 2}", "ring.slots: got 2, want a whole number from 3"},
		{least + "ring: {mode: \"0666\"}", `ring.mode: got text "0666", want one of 0600, 0640`},
		{least + "ring: {backing: shm}", `ring.backing: got text "shm", want one of memfd, posix`},
		{least + "ring: {access: share}", `ring.access: got text "share", want one of private, shared; did you mean shared?`},
		{least + "ring: {max_consumers: 0}", "ring.max_consumers: got 0"},
		{least + "ring: {reconnect: -1s}", "ring.reconnect: got -1s, want a time"},
		{least + "ring: {reconnect: 10}", "ring.reconnect: got 10, want a time"},
		{least + "ring: {reconnect: 2h}", "from 0 to 1h0m0s"},
		{least + "journal: 7", "journal: got 7"},
		{least + "ring: {groups: {name: a}}", "ring.groups: got a mapping, want a list of groups"},
		{least + "ring: {groups: [a]}", `x.yaml:3:17: ring.groups[0]: got text "a", want a mapping of name, kind, mode`},
		{least + "ring: {groups: [{mode: shared}]}", "x.yaml:3:17: ring.groups[0]: name is missing"},
		{least + "ring: {groups: [{name: a}, {name: a}]}", `x.yaml:3:35: ring.groups[1].name: got "a" twice`},
		{least + "ring: {groups: [{name: a b}]}", `x.yaml:3:24: ring.groups[0].name: got "a b", want 1 to 63`},
		{least + "ring: {groups: [{name: a, lanes: 2}]}", "x.yaml:3:34: ring.groups[0].lanes: got 2 with mode shared"},
		{least + "ring: {groups: [{name: a, kind: stage, mode: lanes}]}", "x.yaml:3:46: ring.groups[0].mode: got lanes for a stage, want shared"},
		{least + "ring: {groups: [{name: a, kind: stage, slow: drop}]}", "ring.groups[0].slow: got drop for a stage, want block"},
		{least + "ring: {groups: [{name: a, kind: stage, redeliver: false}]}", "ring.groups[0].redeliver: got false for a stage, want true"},
		{least + "ring: {groups: [{name: a, kind: stages}]}", `ring.groups[0].kind: got text "stages", want one of consumer, stage; did you mean stage?`},
		{least + "ring: {groups: [{name: a, slow: skip}]}", `ring.groups[0].slow: got text "skip"`},
		{least + "ring: {groups: [{name: a, redeliver: 2}]}", "ring.groups[0].redeliver: got 2, want true or false"},
		{least + "ring: {groups: [{name: a, lane: 2}]}", `ring.groups[0].lane: unknown key; did you mean "lanes"?`},
		{least + "world: {size: 9}\nring: {groups: [{name: a, mode: lanes, lanes: 2}, {name: b, mode: lanes, lanes: 3}]}", "x.yaml:4:81: ring.groups[1].lanes: got 3, want 2"},
		{least + "ring: {groups: [" + strings.Repeat("{name: a},", 65) + "]}", "ring.groups: got 65 entries, want at most 64"},
		{least + "ring: {slots: 65536}\nbatch: 65536", "x.yaml:3:15: ring.slots: got 65536 slots of 65536 rows of 150528 bytes, want less than 64 TiB"},

		// rings
		{least + "rings: {}", "x.yaml:3:8: rings: got a mapping, want a mapping of 1 to 64 rings by name"},
		{least + "rings: [a]", "rings: got a list, want a mapping"},
		{least + "rings: {a: {}, a: {}}", "x.yaml:3:16: rings.a: given twice"},
		{least + "rings: {.a: {}}", "rings..a: got text \".a\" for a ring's name, want 1 to 63"},
		{least + "rings: {a: 3}", "x.yaml:3:12: rings.a: got 3, want a mapping of source, order, batch"},
		{least + "rings: {a: {limits: {}}}", "x.yaml:3:13: rings.a.limits: unknown key here; it belongs at limits; valid here: source, order, batch, image"},
		{least + "rings: {a: {name: x}}", "rings.a.name: unknown key"},
		{least + "rings: {a: {batch: 0}}", "x.yaml:3:20: rings.a.batch: got 0"},
		{least + "rings: {a: {order: {seed: -1}}}", "rings.a.order.seed: got -1"},
		{least + "rings: {a: {image: {transform: [resize: 3]}}}", "x.yaml:3:32: rings.a.image.transform: resize: 3 fixes the shorter side only"},
		{least + "rings: {a: {source: {root: x}}}", "x.yaml:3:28: rings.a.source.root: goes with list"},
		{least + "world: {rank: 1}\nrings: {a: {}}", "x.yaml:3:8: world.size: got 1"},
		{"image: {transform: [center_crop: 4]}\nrings: {a: {source: {folder: p}}, b: {}}", "x.yaml: source: names no samples"},
	})
}

// Without a file the same errors still say what and where.
func TestErrorsWithoutAFileNameTheDocument(t *testing.T) {
	_, err := Parse([]byte("bach: 1"), "")
	if err == nil || err.Error() != `spec:1:1: bach: unknown key; did you mean "batch"?` {
		t.Fatalf("got %v", err)
	}
}

// What Parse accepts is complete: every ring has a shape, a type, slots and a name that can be attached to.
func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(least))
	f.Add([]byte(several))
	f.Add([]byte(`{"source": {"list": "x"}, "image": {"transform": [{"random_resized_crop": {"size": [1, 2]}}]}}`))
	f.Add([]byte(`{"source": {"folder": "x"}, "image": {"transform": [{"resize": {"max_pixels": 7200, "multiple_of": 6}}], "patches": {"size": 3, "merge": 2, "temporal": 2, "shape": "padded"}}}`))
	f.Add([]byte(`{"source": {"folder": "x"}, "image": {"transform": [{"resize": {"max_pixels": 64, "multiple_of": 4}}, {"normalize": "imagenet"}], "layout": "NCHW", "patches": 4}}`))
	f.Add([]byte(least + "rings: &r {a: {order: &o {seed: 1}}, b: {order: *o}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data, "x.yaml")
		if err != nil {
			if text := err.Error(); !strings.HasPrefix(text, "x.yaml:") || strings.HasSuffix(text, ".") && !strings.Contains(text, "not YAML") {
				t.Fatalf("text %q", text)
			}
			return
		}
		for _, r := range s.All() {
			if r.Image != nil {
				if n, err := r.RowShape().Bytes(r.Image.DType); err != nil || n < 1 {
					t.Fatalf("%+v: %d bytes, %v", r, n, err)
				}
			}
			if r.Ring.Slots < 3 || r.Batch < 1 || !validName(r.Name) || (r.Source.Folder == "") == (r.Source.List == "") {
				t.Fatalf("%+v", r)
			}
		}
		hash := s.Hash()
		if err := s.Validate(); err != nil || s.Hash() != hash {
			t.Fatalf("validated again: %v", err)
		}
	})
}

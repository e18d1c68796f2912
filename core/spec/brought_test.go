package spec

import (
	"strings"
	"testing"
)

// What does it here is a key of its section or names its own: a key of ours is never taken for a foreign one.
func TestNoKeyOfOursIsAnotherLibrarys(t *testing.T) {
	for _, k := range keys {
		section, key := "", k.Path
		if at := strings.LastIndexByte(k.Path, '.'); at >= 0 {
			section, key = k.Path[:at], k.Path[at+1:]
		}
		if remedy := instead(section, key); remedy != "" {
			t.Errorf("%s: %s", k.Path, remedy)
		}
	}
}

// A key that people know from elsewhere is answered with what does it here, not with a key that looks like it.
func TestKeysFromElsewhereAreAnsweredWithWhatDoesItHere(t *testing.T) {
	const image = "image: {transform: [{resize: [8, 8]}]}"
	for text, want := range map[string]string{
		"source: {folder: x}\nimage: {transform: [{resize: [8, 8]}, {to_tensor: {}}]}":            "image.transform[1].to_tensor: unknown key; leave it out: dtype: f32",
		"source: {folder: x}\nimage: {transform: [{ToTensor: {}}]}":                               "image.transform[0].ToTensor: unknown key; leave it out: dtype: f32",
		"source: {folder: x}\naudio: {rate: 16000, max_length: 1s}":                               "audio.max_length: unknown key; say length: 20s, the room of a row, and shape: padded",
		"source: {folder: x}\nfields: {a: {audio: {rate: 16000, padded: true}}}":                  "fields.a.audio.padded: unknown key; say length: 20s",
		"source: {parquet: x.parquet}\n" + image:                                                  "source.parquet: unknown key; say list: FILE, or shards: FILES",
		"source: {folder: x, masks: y}\n" + image:                                                 "source.masks: unknown key; a mask is a field",
		"source: {folder: x}\n" + image + "\nmask: {transform: [{resize: [8, 8]}]}":               "mask: unknown key; a mask is a field",
		"source: {list: x.txt, delimiter: ' '}\n" + image:                                         `source.delimiter: unknown key; say separator: ",", beside list`,
		"source: {list: x.txt, names: [path]}\n" + image:                                          "source.names: unknown key; say heading: true, of a list whose first line names its columns, or name them",
		"source: {manifest_filepath: x.json}\n" + image:                                           "source.manifest_filepath: unknown key; say list: FILE",
		"source: {folder: x}\naudio: {rate: 16000, channel_selector: 0}":                          "audio.channel_selector: unknown key; say select: [0], or select: {column: channel}",
		"source: {folder: x}\n" + image + "\nenable_bucket: true":                                 "enable_bucket: unknown key; say order: {buckets: {area: 1048576, step: 64, min: 512, max: 2048}}, and bucket for the size",
		"source: {folder: x}\n" + image + "\norder: {buckets: {area: 65536, min_bucket_reso: 8}}": "order.buckets.min_bucket_reso: unknown key; say order: {buckets: {area: 1048576",
		// webdataset, Hugging Face's datasets, torch, tf.data, DALI
		"source: {urls: x.tar}\n" + image:                                                      "source.urls: unknown key; say shards: FILES",
		"source: {mix: [{url: x.tar}]}\n" + image:                                              "source.mix[0].url: unknown key; say shards: FILES",
		"source: {data_files: x.parquet}\n" + image:                                            "source.data_files: unknown key; say folder: DIR, shards: FILES",
		"source: {imagefolder: x}\n" + image:                                                   "source.imagefolder: unknown key; say folder: DIR",
		"source: {shards: x.tar, shardshuffle: true}\n" + image:                                "source.shardshuffle: unknown key; leave it out: all samples are shuffled",
		"source: {shards: x.tar}\norder: {shuffle_buffer: 9}\n" + image:                        "order.shuffle_buffer: unknown key; leave it out: all samples",
		"source: {shards: x.tar}\norder: {resampled: true}\n" + image:                          "order.resampled: unknown key; take as many batches",
		"source: {shards: x.tar, nodesplitter: x}\n" + image:                                   "source.nodesplitter: unknown key; leave it out under torchrun",
		"source: {folder: x}\ndrop_last: true\n" + image:                                       "drop_last: unknown key; say order: {last: drop}",
		"source: {folder: x}\norder: {drop_last: true}\n" + image:                              "order.drop_last: unknown key; say order: {last: drop}",
		"source: {folder: x, handler: x}\n" + image:                                            "source.handler: unknown key; say bad_sample: {policy: skip}",
		"source: {folder: x}\nnum_workers: 8\n" + image:                                        "num_workers: unknown key; leave it out: threads are the engine's; limits: {cpus: 8}",
		"source: {folder: x}\nprefetch_factor: 2\n" + image:                                    "prefetch_factor: unknown key; say ring: {slots: 8}",
		"source: {folder: x}\ncollate_fn: x\n" + image:                                         "collate_fn: unknown key; leave it out: batches come collated",
		"source: {folder: x}\nimage: {width: 8, transform: [{resize: [8, 8]}]}":                "image.width: unknown key; the transform says it",
		"source: {folder: x}\nvideo: {height: 8, transform: [{resize: [8, 8]}]}":               "video.height: unknown key; the transform says it",
		"source: {folder: x}\nvideo: {dimension_order: NCHW, transform: [{resize: [8, 8]}]}":   "video.dimension_order: unknown key; say layout: NCHW",
		"source: {folder: x}\nvideo: {clip_len: 8, transform: [{resize: [8, 8]}]}":             "video.clip_len: unknown key; say frames: 16",
		"source: {folder: x}\nvideo: {frames: 8, step: 2, transform: [{resize: [8, 8]}]}":      "video.step: unknown key; say it in select",
		"source: {folder: x}\nvideo: {fps: 8, transform: [{resize: [8, 8]}]}":                  "video.fps: unknown key; say select: {kind: fps, rate: 8}",
		"source: {folder: x}\nvideo: {select: {uniform: 8}}":                                   "video.select.uniform: unknown key; say frames: 16 beside select: {kind: uniform}",
		"source: {folder: x}\nvideo: {select: {kind: fps, fps: 8}}":                            "video.select.fps: unknown key; say rate: 8, of kind fps",
		"source: {folder: x}\naudio: {seconds: 3}":                                             "audio.seconds: unknown key; say length: 10s, the room of a row",
		"source: {folder: x}\norder: random\n" + image:                                         `order: got text "random", want a mapping of`,
		"source: {folder: x}\norder: shuffle\n" + image:                                        `; write {shuffle: true}`,
		"source: {folder: x}\ndevice: cuda:1\n" + image:                                        `; write {cuda: 1}`,
		"source: {folder: x}\ndevice: gpu\n" + image:                                           `; write {cuda: 0}`,
		"source: {folder: x}\ncache: true\n" + image:                                           `; write {dir: DIR}, of what is fetched`,
		"source: {folder: x}\nvideo: {select: {kind: uniform, num_frames: 8}}":                 "video.select.num_frames: unknown key; say num_frames_per_clip",
		"source: {folder: x}\nvideo: {select: {kind: uniform, sampling_rate: 8}}":              "video.select.sampling_rate: unknown key; say num_indices_between_frames",
		"source: {folder: x}\nvideo: {time_start: 3}":                                          "video.time_start: unknown key; say window: {start: 3s, duration: 10s}",
		"source: {folder: x}\naudio: {of: video}":                                              "audio.of: unknown key; say window: {of: video}, what is heard",
		"source: {folder: x}\nvideo: {select: {kind: times, delta_timestamps: [0]}}":           "video.select.delta_timestamps: unknown key; say times: [0.5, 1], of kind times, or column: NAME",
		"source: {folder: x}\nvideo: {select: {kind: indices, frame_indices: [0]}}":            "video.select.frame_indices: unknown key; say indices: [0, 8], of kind indices, or column: NAME",
		"source: {folder: x}\nvideo: {window: {end: 3s}}":                                      "video.window.end: unknown key; say duration: 10s, of every file, or end_column: NAME",
		"source: {folder: x}\naudio: {rate: 16000, offset: 3}":                                 "audio.offset: unknown key; say window",
		"source: {folder: x}\naudio: {sampling_rate: 16000}":                                   "audio.sampling_rate: unknown key; say rate: 16000",
		"source: {folder: x}\naudio: {rate: 16000, fbank: {}}":                                 "audio.fbank: unknown key; say features",
		"source: {folder: x}\naudio: {rate: 16000, spec_augment: {}}":                          "audio.spec_augment: unknown key; say features: {frequency_mask",
		"source: {folder: x}\naudio: {rate: 16000, perturb_speed: {}}":                         "audio.perturb_speed: unknown key; say speed: {factors",
		"source: {folder: x}\naudio: {rate: 16000, features: {kind: fbank, num_mel_bins: 80}}": `audio.features.num_mel_bins: unknown key; did you mean "n_mels"?`,
		"source: {folder: x}\naudio: {rate: 16000, features: {kind: fbank, high_freq: -400}}":  `did you mean "f_max"?`,
		"source: {folder: x}\naudio: {rate: 16000, features: {kind: fbank, low_freq: 20}}":     `did you mean "f_min"?`,
		"source: {folder: x}\naudio: {rate: 16000, features: {kind: fbank, frame_shift: 10}}":  `did you mean "hop_length"?`,
		"source: {folder: x}\naudio: {rate: 16000, features: {kind: fbank, frame_length: 25}}": `did you mean "win_length"?`,
		"source: {folder: x}\naudio: {rate: 16000, features: {kind: fbank, dither: 0}}":        "audio.features.dither: unknown key; leave it out",
		// What one would guess.
		"source: {table: x.csv}\n" + image:                  "source.table: unknown key; say list: FILE",
		"source: {dir: x}\n" + image:                        "source.dir: unknown key; say folder: DIR",
		"source: {files: [a.jpg]}\n" + image:                "source.files: unknown key; say list: FILE, a text or a table of paths",
		"source: {glob: '*.jpg'}\n" + image:                 "source.glob: unknown key; say list: FILE",
		"source: {folder: x, recursive: true}\n" + image:    "source.recursive: unknown key; leave it out: a folder is read with all",
		"source: {folder: x, class_names: [a]}\n" + image:   "source.class_names: unknown key; leave it out: a folder's classes",
		"source: {folder: x, max_samples: 9}\n" + image:     "source.max_samples: unknown key; say only: 0:1000",
		"source: {lmdb: x}\n" + image:                       "source.lmdb: unknown key; say shards: PATH",
		"source: {hf: a/b}\n" + image:                       "source.hf: unknown key; say shards: hf://datasets/USER/NAME",
		"source: {s3: a/b}\n" + image:                       "source.s3: unknown key; write the address as the value",
		"source: {memmap: x.bin}":                           "source.memmap: unknown key; say arrays: [{name: x, file: x.npy}]",
		"dataset: x\n" + image:                              "dataset: unknown key; say source: {folder: DIR}",
		"source: {folder: x}\ntransforms: []":               "transforms: unknown key; say image: {transform: [...]}",
		"source: {folder: x}\nsize: 8":                      "size: unknown key; the transform says it",
		"source: {folder: x}\ndtype: f32":                   "dtype: unknown key; say image: {dtype: f32}",
		"rings: {a: {source: {folder: x}, layout: NCHW}}":   "rings.a.layout: unknown key; say image: {layout: NCHW}",
		"source: {folder: x}\nmean: [0]":                    "mean: unknown key; say image: {transform:",
		"source: {folder: x}\ngpu: 0":                       "gpu: unknown key; say device: {cuda: 0}",
		"source: {folder: x}\nsampler: x":                   "sampler: unknown key; say order:",
		"source: {folder: x}\nworkers: 2":                   "workers: unknown key; leave it out: threads are the engine's",
		"source: {folder: x}\npin_memory: true":             "pin_memory: unknown key; leave it out: who consumes pins",
		"source: {folder: x}\nbuffer: 9":                    "buffer: unknown key; say ring: {slots: 8}",
		"source: {folder: x}\nimage: {mean: [0]}":           "image.mean: unknown key; say it in the transform",
		"source: {folder: x}\nimage: {scale: 1}":            "image.scale: unknown key; say dtype: f32",
		"source: {folder: x}\nimage: {augmentations: []}":   `image.augmentations: unknown key; did you mean "transform"?`,
		"source: {folder: x}\nimage: {keep_aspect: true}":   "image.keep_aspect: unknown key; say resize: {size: [224, 224], fit: contain, fill: 0}",
		"source: {folder: x}\nimage: {to_tensor: true}":     "image.to_tensor: unknown key; leave it out: dtype: f32",
		"source: {folder: x}\nimage: {antialias: true}":     "image.antialias: unknown key; leave it out: every interpolation",
		"source: {folder: x}\nimage: {channels: 3}":         "image.channels: unknown key; say mode: rgb",
		"source: {folder: x}\nimage: {channel_first: true}": "image.channel_first: unknown key; say layout: NCHW",
		"source: {folder: x}\nimage: {flip: true}":          "image.flip: unknown key; an operation is an entry of transform: write horizontal_flip: 0.5",
		"source: {folder: x}\nvideo: {rotate: 9}":           "video.rotate: unknown key; an operation is an entry of transform: write random_rotation: 30",
		"source: {folder: x}\nimage: {grayscale: 1}":        "image.grayscale: unknown key here; it belongs at image.transform[].grayscale",
		// TRL, torchtune, Megatron
		"packing: true\nsource: {shards: x.parquet}":                               "packing: unknown key here; it belongs at source.packing",
		"source: {shards: x.parquet, packed: true}":                                "source.packed: unknown key; say source: {packing: {length: 2048}}",
		"source: {shards: x.parquet}\nseq_length: 2048":                            "seq_length: unknown key; say source: {packing: {length: 2048}}",
		"source: {shards: x.parquet, block_size: 1024}":                            "source.block_size: unknown key; say source: {packing",
		"source: {shards: x.parquet, packing: {max_length: 8}}":                    `source.packing.max_length: unknown key; did you mean "length"?`,
		"source: {shards: x.parquet, packing: {length: 8, packing_strategy: bfd}}": "source.packing.packing_strategy: unknown key; say strategy: best_fit",
		"source: {shards: x.parquet, packing: {length: 8, truncate: true}}":        "source.packing.truncate: unknown key; say long: split",
		"source: {shards: x.parquet, packing: {length: 8, pad_token_id: 0}}":       "source.packing.pad_token_id: unknown key; say pad of the column",
		"source: {shards: x.parquet, packing: {length: 8, columns: [ids]}}":        "source.packing.columns: unknown key; leave it out: all lists",
		"folder: x\n" + image:          "folder: unknown key here; it belongs at source.folder",
		"list: x.csv\n" + image:        "list: unknown key here; it belongs at source.list",
		"sorce: {folder: x}\n" + image: `sorce: unknown key; did you mean "source"?`,
	} {
		_, err := Parse([]byte(text), "x.yaml")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

package spec

import (
	"regexp"
	"strings"
)

// Sections, as they are shown, that foreign keys are written in.
var (
	anywhere    = regexp.MustCompile(``)
	atTop       = regexp.MustCompile(`^(rings\.[^.]+)?$`)
	inSource    = regexp.MustCompile(`(^|\.)source(\.mix\[\d+\])?$`)
	maskBearing = regexp.MustCompile(`^$|(^|\.)source$`)
	inOrder     = regexp.MustCompile(`(^|\.)order(\.buckets)?$`)
	inLengths   = regexp.MustCompile(`^$|(^|\.)order(\.buckets)?$`)
	inShapes    = regexp.MustCompile(`^$|(^|\.)(order(\.buckets)?|image)$`)
	inTokens    = regexp.MustCompile(`^$|(^|\.)source$`)
	inPacking   = regexp.MustCompile(`(^|\.)source\.packing$`)
	inVideo     = regexp.MustCompile(`(^|\.)video$`)
	inSelect    = regexp.MustCompile(`(^|\.)video\.select$`)
	inPictures  = regexp.MustCompile(`(^|\.)image$`)
	inPatches   = regexp.MustCompile(`(^|\.)image\.patches$`)
	inTiles     = regexp.MustCompile(`(^|\.)image\.tiles$`)
	inMany      = regexp.MustCompile(`(^|\.)image\.many$`)
	inDrawn     = regexp.MustCompile(`\.rand_augment$`)
	inPixels    = regexp.MustCompile(`(^|\.)(image|video)$`)
	inAudio     = regexp.MustCompile(`(^|\.)audio$`)
	inTimes     = regexp.MustCompile(`(^|\.)(audio|video)$`)
	inWindow    = regexp.MustCompile(`(^|\.)(audio|video)\.window$`)
	inFeatures  = regexp.MustCompile(`(^|\.)features$`)
)

// called is a key of one of these names.
func called(names ...string) *regexp.Regexp {
	return regexp.MustCompile("^(" + strings.Join(names, "|") + ")$")
}

// brought are keys that people know from elsewhere, by the section that they write them in, and what does it here.
var brought = []struct {
	section, key *regexp.Regexp
	remedy       string
}{
	{inAudio, called(`max_length`, `max_len`, `padded`, `padding`),
		"say length: 20s, the room of a row, and shape: padded for rows as long as a batch's longest"},
	{inLengths, called(`max_tokens`, `max_duration`, `max_frames`, `batch_bins`, `batch_tokens`, `batch_duration`, `numel`, `bucket_batch_sizes?`),
		"say order: {buckets: {by: COLUMN, max_total: N}}, the most of rows x longest length in a batch"},
	{inLengths, called(`required_batch_size_multiple`, `batch_size_multiple`), "say order: {buckets: {by: COLUMN, max_total: N, multiple_of: M}}"},
	{inShapes, called(`enable_bucket`, `(min_|max_)bucket_reso`, `bucket_reso_steps`, `bucket_no_upscale`, `aspect_(ratio_)?buckets?`, `aspect_ratio_bucketing`),
		"say order: {buckets: {area: 1048576, step: 64, min: 512, max: 2048}}, and bucket for the size in image.transform"},
	{inOrder, called(`num_buckets`, `n_buckets`), "say order: {buckets: {by: COLUMN, count: N}}"},
	{inSource, called(`delimiter`, `sep`, `delim`, `path_label_separator`), `say separator: ",", beside list`},
	{inSource, called(`header`, `names`, `fieldnames`, `column_names`), "say heading: true, of a list whose first line names its columns, or name them: heading: [path, label]"},
	{inSource, called(`manifest(_filepath|_path)?`, `cuts(_path)?`, `ann_file`, `data_path`, `metadata`), "say list: FILE, of a table or of paths, and path: COLUMN"},
	{inAudio, called(`channel_selector`, `channel_column`), "say select: [0], or select: {column: channel}, of a column that says it for each sample"},
	{inSource, called(`parquet`, `csv`, `tsv`, `jsonl?`, `tables?`, `data_?frame`, `df`), "say list: FILE, or shards: FILES for Parquet and tar files of samples"},
	{inSource, called(`urls?`, `tars?`, `zips?`, `archives?`, `webdataset`, `wds`, `tfrecords?`, `array_?records?`), "say shards: FILES, such as train-{0000..0127}.tar"},
	{inSource, called(`lmdb`, `recordio`, `rec`, `mds`, `litdata`, `arrow`, `feather`), "say shards: PATH, of the file, or of the directory of a database or data set"},
	{inSource, called(`storage_options`, `client(_kwargs|_options)?`, `fs(_kwargs)?`, `credentials`, `s3_options`, `(aws_)?(access_key_id|secret_access_key|session_token)`),
		"say remote: {endpoint: URL, region: NAME, profile: NAME, anonymous: true}, what of it is needed; keys come from the environment or ~/.aws/credentials"},
	{inSource, called(`hf`, `hugging_?face`, `hub`, `repo(_id)?`), "say shards: hf://datasets/USER/NAME/PATH, or serve the data set by its root: spdl serve hf://datasets/USER/NAME"},
	{inSource, called(`s3`, `gs`, `gcs`, `bucket`, `https?`), "write the address as the value of folder, list or shards, such as shards: s3://BUCKET/train-{0000..0127}.tar"},
	{inSource, called(`hdf5`, `h5`, `zarr`, `npy`, `npz`, `numpy`, `mem_?map`, `mmap`, `bin`, `tokens`, `token_files?`),
		"say arrays: [{name: x, file: x.npy}]; of HDF5 with dataset: PATH, of a file of elements alone with dtype: u16, and window: 1024 for stretches of it"},
	{inSource, called(`data_files`, `data(_(dir|root))?`, `dataset`, `dataset_path`, `dir(ectory)?`, `image_?folder`, `root_dir`, `file_root`, `input(_dir)?`, `local`),
		"say folder: DIR, shards: FILES of tar, zip, Parquet or TFRecord, or list: FILE of a table of paths"},
	{inSource, called(`(file_?|image_?|video_?|audio_?)?(files|paths)`, `file_?(names|list)`, `images`, `videos`, `audios`, `sounds`, `clips`, `glob`, `pattern`),
		"say list: FILE, a text or a table of paths, or folder: DIR, and extensions: [jpg, png] where not all of its files are meant"},
	{inSource, called(`recursive`, `follow_links`), "leave it out: a folder is read with all that is below it"},
	{inSource, called(`class(es|_names|_to_idx|_map)`, `label_(names|map)`, `id2label`),
		"leave it out: a folder's classes are its sub-folders in the order of their names, and labels: names takes a table's texts for names of classes"},
	{inSource, called(`subset`, `max_samples`, `limit`, `take`, `num_samples`, `indices`), "say only: 0:1000, as Python's slices, or only: FILE.npy of the numbers of samples"},
	{atTop, called(`data(_(dir|root|path|files))?`, `dataset(_path)?`, `(train|val|test)_(dir|path)`, `dir(ectory)?`, `path`, `paths`, `files`, `urls?`, `root(_dir)?`, `input`),
		"say source: {folder: DIR}, source: {shards: FILES} or source: {list: FILE}"},
	{atTop, called(`transforms?`, `aug(s|ment|mentations?)?`, `pre_?process(ing)?`), "say image: {transform: [...]}, or the same of video"},
	{atTop, called(`size`, `resize`, `crop(_size)?`, `(image|img|input)_size`, `width`, `height`, `resolution`), "the transform says it, such as image: {transform: [{resize: [224, 224]}]}"},
	{atTop, called(`dtype`, `precision`, `fp16`, `bf16`, `half`, `float`), "say image: {dtype: f32}, or f16 or bf16, or the same of video; a normalize makes it f32 by itself"},
	{atTop, called(`layout`, `channels?_(first|last)`, `data_format`, `memory_format`), "say image: {layout: NCHW}, or NHWC, or the same of video"},
	{atTop, called(`normali[sz]e`, `mean`, `std`), "say image: {transform: [{resize: [224, 224]}, {normalize: imagenet}]}, or normalize: {mean: [...], std: [...]}"},
	{atTop, called(`gpus?`, `cuda`, `device_id`, `devices`), "say device: {cuda: 0}"},
	{atTop, called(`(batch_)?sampler`, `sampling`, `shuffle_seed`, `random_seed`), "say order: {shuffle: true, seed: 1}; weights, balance, buckets and window are others of its keys"},
	{atTop, called(`workers`, `n_workers`, `threads`, `n_threads`), "leave it out: threads are the engine's; limits: {cpus: 8} bounds them"},
	{anywhere, called(`pin(_memory)?(_device)?`), "leave it out: who consumes pins, by pin() of a loader or spdl_pin; device: {cuda: 0} has the engine upload (docs/gpu.md)"},
	{anywhere, called(`shuffle_(buffer|buffer_size|size)`, `buffer_size`, `shardshuffle`, `shuffle_files`, `initial_fill`, `random_shuffle`, `reshuffle_each_iteration`, `shuffle_algo`, `shuffle_block_size`, `streaming`),
		"leave it out: all samples are shuffled, in a new order every epoch, without a buffer; order: {window: 8} keeps reads of shards together, order: {shuffle: false} keeps the source's order"},
	{anywhere, called(`nodesplitter`, `workersplitter`, `split_by_(node|worker)`, `num_shards`, `shard_id`, `num_replicas`, `world_size`),
		"leave it out under torchrun, where each rank has its part; else say world: {size: 8, rank: 0}, or world: auto"},
	{anywhere, called(`resampled`, `with_epoch`, `epoch_size`, `samples_per_epoch`, `steps_per_epoch`),
		"take as many batches as an epoch is to have: the next loop goes on where one stopped (itertools.islice; docs/migrate.md has it)"},
	{anywhere, called(`drop_last`, `drop_remainder`, `partial`, `last_batch`, `last_batch_policy`), "say order: {last: drop}; pad and cover, short rows, are the others"},
	{anywhere, called(`handler`, `ignore_errors`, `on_error`, `skip_errors`), "say bad_sample: {policy: skip}, which is so by itself, mask, substitute or fail"},
	{anywhere, called(`num_workers`, `num_parallel_calls`, `num_threads`, `persistent_workers`), "leave it out: threads are the engine's; limits: {cpus: 8} bounds them"},
	{anywhere, called(`prefetch(_factor|_queue_depth)?`, `predownload`, `buffers?`, `queue_(size|depth)`), "say ring: {slots: 8}: batches that are ready before they are asked for"},
	{anywhere, called(`collate_fn`, `collate`), "leave it out: batches come collated; functions of your own take whole batches (transform= of spdl.DataLoader, or a stage)"},
	{inTokens, called(`pack(ed)?(_sequences?)?`, `sequence_packing`, `seq_len(gth)?`, `sequence_length`, `max_seq(uence)?_len(gth)?`, `block_size`, `context_(length|window)`, `packing_strategy`, `concat_(tokens|token_ids)`),
		"say source: {packing: {length: 2048}}, rows of several documents; of rows that have that length already it is the column's shape: [2048], of one long array the window in source.arrays"},
	{inPacking, called(`max_length`, `(max_)?seq(uence)?_len(gth)?`, `block_size`, `context_length`, `max_tokens`), `did you mean "length"?`},
	{inPacking, called(`packing_strategy`, `algorithm`), "say strategy: best_fit, or wrapped"},
	{inPacking, called(`truncat(e|ion)`, `split(_across_pack)?`, `overflow`), "say long: split, truncate or refuse"},
	{inPacking, called(`pad(ding)?(_id|_idx|_value)?`, `pad_token(_id)?`, `ignore_index`, `label_pad_token_id`), "say pad of the column: {name: labels, type: list, dtype: i64, pad: -100}"},
	{inPacking, called(`columns?`, `field`, `text_column`), "leave it out: all lists among source.columns are packed alike"},
	{inVideo, called(`clip_len(gth)?`, `num_frames`, `n_frames`, `frames_per_clip`, `sequence_length`),
		"say frames: 16, with select: {kind: uniform} or segments; or select: {kind: clips_at_random_indices, num_frames_per_clip: 16}"},
	{inVideo, called(`step`, `stride`, `frame_(step|stride|interval)`, `sampling_rate`, `step_between_clips`),
		"say it in select: {kind: clips_at_random_indices, num_frames_per_clip: 16, num_indices_between_frames: 4}, or {kind: every, step: 4}"},
	{inVideo, called(`fps`, `frame_rate`, `target_fps`), "say select: {kind: fps, rate: 8}"},
	{inSelect, called(`num_frames`, `clip_len(gth)?`, `frames`, `frames_per_clip`), "say num_frames_per_clip, of clips; of uniform and segments it is frames beside select"},
	{inSelect, called(`uniform`, `segments`, `n`, `num`, `count`), "say frames: 16 beside select: {kind: uniform}, or kind: segments"},
	{inSelect, called(`fps`, `frame_rate`, `target_fps`), "say rate: 8, of kind fps"},
	{inSelect, called(`stride`, `frame_(step|stride|interval)`, `sampling_rate`), "say num_indices_between_frames, of clips; step, of every"},
	{inSelect, called(`(delta_|query_)?timestamps`, `seconds`, `pts`, `time`), "say times: [0.5, 1], of kind times, or column: NAME, of a column in source.columns that says them for each sample; with both the times are added to the column's"},
	{inSelect, called(`(frame|delta)_ind(ex|ices)`, `index`, `frame_ids`, `idx`), "say indices: [0, 8], of kind indices, or column: NAME, of a column in source.columns that says them for each sample"},
	{inAudio, called(`of`, `clip`, `sync`, `video`), "say window: {of: video}, what is heard while the video's frames are on show"},
	{inPictures, called(`bbox(es)?(_params|_format)?`, `bounding_box(es)?`, `target_boxes`, `label_fields`, `min_visibility`, `min_area`, `sanitize`), "say boxes: {column: NAME, format: xyxy, with: [LABELS]}, of columns in source.columns"},
	{inPictures, called(`(instance_)?masks?`, `segmentations?`, `outlines?`, `polygons?`, `rles?`), "say boxes: {column: boxes, masks: COLUMN}, of a column in source.columns with COCO's segmentation of each box; a mask of class numbers is a field, with mode: index"},
	{inPictures, called(`keypoints?(_params)?`, `landmarks`, `key_points`), "say points: NAME, of a column in source.columns"},
	{inPictures, called(`(max|num|n|max_num)_(images|pictures)`, `(images|pictures)_per_sample`, `multi_?image`, `multiple`), "say many: 8, the most pictures of a sample"},
	{inPictures, called(`(max|min)_(num|patches|image_tiles|dynamic_patch)`, `dynamic_(preprocess|image_size)`, `any_?res`, `image_(aspect_ratio|grid_pinpoints)`, `grid_pinpoints`, `crop_to_patches`, `do_image_splitting`, `use_thumbnail`),
		"say tiles: {size: 448, max: 12}, of InternVL; kind: llava_next, mllama and idefics3 are the others' rules"},
	{inPictures, called(`(temporal_)?patch(_size|ify)`, `(spatial_)?merge_size`, `max_num_patches`), "say patches: {size: 14, merge: 2, temporal: 2}, and how many there are in resize: {max_pixels: N}"},
	{inPatches, called(`patch_size`), `did you mean "size"?`},
	{inPatches, called(`(spatial_)?merge_size`), `did you mean "merge"?`},
	{inPatches, called(`temporal_patch_size`), `did you mean "temporal"?`},
	{inPatches, called(`max(_num)?(_patches)?`, `num`), "resize says how many there are, by max_pixels: N patches are N times size times size"},
	{inTiles, called(`max_(num|patches|image_tiles|dynamic_patch)`), `did you mean "max"?`},
	{inTiles, called(`min_(num|patches|dynamic_patch)`), `did you mean "min"?`},
	{inTiles, called(`(image|patch|tile|crop)_size`), `did you mean "size"? The side of a tile`},
	{inTiles, called(`image_grid_pinpoints`, `possible_resolutions`, `pinpoints`), `did you mean "grid_pinpoints"?`},
	{inTiles, called(`resample`), `did you mean "interpolation"?`},
	{inMany, called(`max`, `n`, `num`, `limit`, `max_num`, `(max|num)_(images|pictures)`), `did you mean "most"? The most pictures of a sample`},
	{inDrawn, called(`n`, `num`), `did you mean "num_ops"?`},
	{inDrawn, called(`m`, `mag`), `did you mean "magnitude"?`},
	{inPixels, called(`width`, `height`, `crop`, `resize`, `image_size`, `img_size`, `input_size`), "the transform says it, such as transform: [{resize: [224, 224]}]"},
	{inPixels, called(`(image_)?(mean|std)`, `do_normalize`, `norm`), "say it in the transform: transform: [{resize: [224, 224]}, {normalize: {mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}}]"},
	{inPixels, called(`(do_)?rescale(_factor)?`, `scale`, `float`, `to_float`, `divide_by`), "say dtype: f32, which is x/255, or normalize in the transform"},
	{inPixels, called(`aug(s|ment|mentations?)?`, `pre_?process(ing)?`, `ops`), `did you mean "transform"?`},
	{inPixels, called(`keep_(aspect(_ratio)?|ratio)`, `preserve_aspect_ratio`, `pad(ding)?`), "say resize: {size: [224, 224], fit: contain, fill: 0} in the transform, or resize: 256, of the shorter side, and center_crop: 224"},
	{inPixels, called(`antialias`), "leave it out: " + leftOut["antialias"]},
	{inPictures, called(`colou?r(_(mode|space))?`, `(num_)?channels?`, `convert(_rgb)?`, `rgb`, `is_gray`), "say mode: rgb, gray, luma or index"},
	{inPixels, called(`dimension_order`, `channels?_(first|last)`, `data_format`, `memory_format`, `n?chw`, `n?hwc`), "say layout: NCHW or NHWC, of videos NTCHW, NCTHW or NTHWC"},
	{inAudio, called(`sr`, `sample_rate`, `sampling_rate`, `target_sr`, `resample_rate`), "say rate: 16000"},
	{inAudio, called(`seconds`, `secs`, `max_seconds`, `clip_(seconds|duration|length)`, `num_(samples|frames)`), "say length: 10s, the room of a row, or as many samples; crop says where in a longer sound, and window which part of every file"},
	{inAudio, called(`mono`, `to_mono`, `num_channels`, `nb_channels`), "say channels: 1, which is the mean of all"},
	{inAudio, called(`fbank`, `mel`, `mfcc`, `spectrogram`, `mel_?spectrogram`, `num_mel_bins`, `n_mels`), "say features: {kind: mel, n_mels: 80}; its kinds are spectrogram, mel, mfcc, fbank and whisper"},
	{inAudio, called(`spec_?augment`), "say features: {frequency_mask: {freq_mask_param: 27}, time_mask: {time_mask_param: 100}}"},
	{inAudio, called(`perturb_speed`, `speed_perturb(ation)?`), "say speed: {factors: [0.9, 1.0, 1.1]}"},
	{inTimes, called(`offset`, `start`, `end`, `start_time`, `end_time`, `time_start`, `time_end`, `duration`),
		"say window: {start: 3s, duration: 10s}, the same part of every file, or window: {start_column: offset, duration_column: seconds}, of columns that say it for each sample; end_column where they say its end"},
	{inWindow, called(`end`, `end_time`, `time_end`, `stop`), "say duration: 10s, of every file, or end_column: NAME, of a column in source.columns that says it for each sample"},
	{inFeatures, called(`num_mel_bins`, `num_filters`, `nb_mels`, `mel_bins`), `did you mean "n_mels"?`},
	{inFeatures, called(`hop`, `hop_size`), `did you mean "hop_length"?`},
	{inFeatures, called(`low_freq`, `fmin`), `did you mean "f_min"?`},
	{inFeatures, called(`high_freq`, `fmax`), `did you mean "f_max"? In Hz, where -400 of Kaldi's high_freq is half the rate less 400`},
	{inFeatures, called(`frame_shift(_ms)?`), `did you mean "hop_length"? In samples: 160 are 10 ms at 16000 Hz`},
	{inFeatures, called(`frame_length(_ms)?`), `did you mean "win_length"? In samples: 400 are 25 ms at 16000 Hz`},
	{inFeatures, called(`dither`), "leave it out: there is none"},
	{maskBearing, called(`masks?`, `target`, `targets`, `segmentation`),
		"a mask is a field, and its file a column of the table: source: {list: pairs.csv}, fields: {image: {image: {...}}, mask: {image: {mode: index, ...}}}"},
}

// instead is what does here what a foreign key does elsewhere, "" of a key that nobody brings along.
func instead(section, key string) string {
	for _, f := range brought {
		if f.section.MatchString(section) && f.key.MatchString(key) {
			return f.remedy
		}
	}
	return ""
}

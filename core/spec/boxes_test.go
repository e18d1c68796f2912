package spec

import (
	"reflect"
	"strings"
	"testing"
)

const boxColumns = "{name: boxes, type: list, dtype: f32, shape: [-1, 4], max_length: 9}, {name: classes, type: list, dtype: i64, max_length: 9}, " +
	"{name: joints, type: list, dtype: f32, shape: [-1, 17, 3], max_length: 9}, {name: marks, type: list, dtype: f32, shape: [5, 2]}, " +
	"{name: spots, type: list, dtype: f32, shape: [-1, 2], max_length: 9}, {name: n, type: i64}, {name: open, type: npy}, {name: outlines, type: text, max_bytes: 64KiB}"

// boxed is a description of pictures with boxes, its image section as given.
func boxed(image string) string {
	if !strings.Contains(image, "transform") {
		image = "transform: [center_crop: 8], " + image
	}
	return "source: {list: a.jsonl, columns: [" + boxColumns + "]}\nimage: {" + image + "}\n"
}

// Boxes and points say which column they are, what it has, and what goes with it.
func TestBoxesAndPointsAreDescribed(t *testing.T) {
	for text, want := range map[string]Image{
		"boxes: boxes": {Boxes: &Boxes{Column: "boxes", Format: XYXY, MinSize: 1, MinArea: 1}},
		"boxes: {column: boxes, format: cxcywh, normalized: true, min_size: 0, min_area: 0, min_visibility: 0.5, with: classes}": {
			Boxes: &Boxes{Column: "boxes", Format: CXCYWH, Normalized: true, MinVisibility: 0.5, With: []string{"classes"}}},
		"boxes: {column: boxes, with: [joints, classes]}, points: joints": {
			Boxes: &Boxes{Column: "boxes", Format: XYXY, MinSize: 1, MinArea: 1, With: []string{"joints", "classes"}}, Points: &Points{Column: "joints"}},
		"boxes: {column: boxes, masks: outlines}": {Boxes: &Boxes{Column: "boxes", Format: XYXY, MinSize: 1, MinArea: 1, Masks: "outlines"}},
		"points: marks": {Points: &Points{Column: "marks"}},
		"points: open":  {Points: &Points{Column: "open"}},
		"points: {column: spots, normalized: true, remove_invisible: true, with: [classes]}": {
			Points: &Points{Column: "spots", Normalized: true, RemoveInvisible: true, With: []string{"classes"}}},
	} {
		s := parse(t, boxed(text))
		if !reflect.DeepEqual(s.Image.Boxes, want.Boxes) || !reflect.DeepEqual(s.Image.Points, want.Points) {
			t.Errorf("%s: got %+v, %+v", text, s.Image.Boxes, s.Image.Points)
		}
	}
}

// What cannot follow is refused with its place, and what would.
func TestBoxesAndPointsThatCannotFollowAreRefused(t *testing.T) {
	const views = "fields: {a: {image: {transform: [center_crop: 8], boxes: boxes}}, b: {image: {transform: [center_crop: 8], %}, draw: own}}\n"
	view := func(image string) string {
		return "source: {list: a.csv, columns: [{name: file}, " + boxColumns + "]}\n" + strings.Replace(views, "%", image, 1)
	}
	for text, want := range map[string]string{
		boxed("boxes: bboxes"):               `image.boxes.column: got "bboxes", want the name of one of source.columns, a list or an .npy of shape [-1, 4], such as {name: boxes, type: list`,
		boxed("bbox_params: {format: coco}"): "image.bbox_params: unknown key; say boxes: {column: NAME, format: xyxy, with: [LABELS]}, of columns in source.columns",
		boxed("keypoints: joints"):           "image.keypoints: unknown key; say points: NAME, of a column in source.columns",
		"source: {folder: p}\nimage: {transform: [bbox_safe_random_crop: {}, center_crop: 8]}\n":                                              "image.transform[0].bbox_safe_random_crop: goes by the boxes of the picture, and its section has none; add boxes: {column: NAME} beside transform",
		"source: {folder: p}\nimage: {transform: [at_least_one_bbox_random_crop: 9, center_crop: 8]}\n":                                       "image.transform[0].at_least_one_bbox_random_crop: goes by the boxes of the picture, and its section has none",
		"source: {folder: p}\nvideo: {frames: 2, transform: [bbox_safe_random_crop: {}, center_crop: 8]}\n":                                   "video.transform[0].bbox_safe_random_crop: unknown key; frames of a video have no boxes, by which it goes; take random_crop or random_resized_crop",
		"source: {folder: p}\nimage: {transform: [random_iou_crop: {}, center_crop: 8]}\n":                                                    "image.transform[0].random_iou_crop: goes by the boxes of the picture, and its section has none; add boxes: {column: NAME} beside transform, or take random_crop or random_resized_crop",
		"source: {folder: p}\nvideo: {frames: 2, transform: [random_iou_crop: {}, center_crop: 8]}\n":                                         "video.transform[0].random_iou_crop: unknown key; frames of a video have no boxes, by which it goes; take random_crop or random_resized_crop",
		strings.Replace(boxed("boxes: boxes"), "center_crop: 8", "{center_crop: 64}, {random_iou_crop: {}}", 1):                               "image.transform[1].random_iou_crop: got random_iou_crop for rows, which have one size; write random_iou_crop ahead of center_crop, random_crop, random_resized_crop or resize: [H, W], or leave it out",
		strings.Replace(boxed("boxes: boxes"), "center_crop: 8", "{random_iou_crop: {min_scale: 0.9, max_scale: 0.5}}, {center_crop: 64}", 1): "image.transform[0].random_iou_crop: got min_scale 0.9 above max_scale 0.5",
		strings.Replace(boxed("boxes: boxes"), "center_crop: 8", "{random_iou_crop: {min_aspect_ratio: 3}}, {center_crop: 64}", 1):            "image.transform[0].random_iou_crop: got min_aspect_ratio 3 above max_aspect_ratio 2",
		strings.Replace(boxed("boxes: boxes"), "center_crop: 8", "{random_iou_crop: {sampler_options: []}}, {center_crop: 64}", 1):            "image.transform[0].random_iou_crop.sampler_options: got none, want at least one, such as [0.1, 0.5, 1]",
		strings.Replace(boxed("boxes: boxes"), "center_crop: 8", "{random_iou_crop: {trials: 0}}, {center_crop: 64}", 1):                      "image.transform[0].random_iou_crop.trials: got 0, want a whole number from 1 to 1000",
		strings.Replace(boxed("boxes: boxes"), "center_crop: 8", "{SanitizeBoundingBoxes: {}}, {center_crop: 64}", 1):                         "unknown key; leave it out: boxes: {column: NAME, min_size: 1} beside transform moves boxes, cuts them and drops those that are gone",
		boxed("boxes: {}"):                                          "image.boxes: column is missing, want the name of one of source.columns, such as {column: boxes}",
		boxed("boxes: [boxes]"):                                     "image.boxes: got a list, want text",
		boxed("boxes: {column: boxes, sanitize: true}"):             "image.boxes.sanitize: unknown key",
		boxed("boxes: {column: boxes, format: coco}"):               "image.boxes.format: got text \"coco\", want one of xyxy, xywh, cxcywh",
		boxed("boxes: {column: boxes, min_size: -1}"):               "image.boxes.min_size: got -1, want a number from 0 to 1e+06",
		boxed("boxes: {column: boxes, min_visibility: 2}"):          "image.boxes.min_visibility: got 2, want a number from 0 to 1",
		boxed("boxes: n"):                                           `image.boxes.column: got "n", of type i64, want boxes, a list or an .npy of shape [-1, 4]`,
		boxed("boxes: spots"):                                       `image.boxes.column: got "spots", of shape [-1 2], want boxes`,
		boxed("boxes: marks"):                                       `image.boxes.column: got "marks", of shape [5 2], want boxes`,
		boxed("boxes: open"):                                        `image.boxes.column: got "open", of the first sample's shape, want boxes`,
		boxed("boxes: {column: boxes, with: n}"):                    `image.boxes.with: got "n", of type i64, want columns of which a line can be dropped, a list or an .npy with as many lines`,
		boxed("boxes: {column: boxes, with: marks}"):                `image.boxes.with: got "marks", of shape [5 2], want columns of which a line can be dropped`,
		boxed("boxes: {column: boxes, with: areas}"):                `image.boxes.with: got "areas", want the name of one of source.columns`,
		boxed("boxes: {column: boxes, with: [classes, classes]}"):   `image.boxes.with: got "classes" twice; keep one`,
		boxed("boxes: {column: boxes, with: boxes}"):                `image.boxes.with: got "boxes", which image.boxes.column has already, and a column is moved once; list it a second time in source.columns, under another name, with from: boxes`,
		boxed("points: classes"):                                    `image.points.column: got "classes", of shape [-1], want points, a list or an .npy whose last dimension is 2 (x, y) or 3 (x, y, visibility)`,
		boxed("points: boxes"):                                      `image.points.column: got "boxes", of shape [-1 4], want points`,
		boxed("points: {column: spots, with: classes}"):             "image.points.with: given without remove_invisible: true, so that no point is dropped; leave it out",
		boxed("points: {column: joints, remove_invisible: true}"):   `image.points.remove_invisible: given of "joints", of shape [-1 17 3], want shape: [-1, 2] or [-1, 3], of which a point can be dropped`,
		boxed("points: {column: marks, remove_invisible: true}"):    `image.points.remove_invisible: given of "marks", of shape [5 2]`,
		boxed("points: spots, boxes: {column: boxes, with: spots}"): "",
		boxed("points: {column: spots, remove_invisible: true}, boxes: {column: boxes, with: spots}"):                                                                         `image.boxes.with: got "spots", which image.points.column has already`,
		boxed("boxes: {column: boxes, masks: nope}"):                                                                                                                          `image.boxes.masks: got "nope", want the name of one of source.columns, text, of COCO's segmentation of each box as a list in JSON, such as {name: masks, from: segmentation, type: text, max_bytes: 1MiB}`,
		boxed("boxes: {column: boxes, masks: classes}"):                                                                                                                       `image.boxes.masks: got "classes", of shape [-1], want outlines, text, of COCO's segmentation`,
		boxed("boxes: {column: boxes, masks: n}"):                                                                                                                             `image.boxes.masks: got "n", of type i64, want outlines`,
		boxed("boxes: {column: boxes, with: outlines}"):                                                                                                                       `image.boxes.with: got "outlines", of type text, want columns of which a line can be dropped`,
		boxed("boxes: {column: boxes, masks: [outlines]}"):                                                                                                                    "image.boxes.masks: got a list, want text",
		view("boxes: {column: boxes2, masks: outlines}"):                                                                                                                      `fields.b.image.boxes.column: got "boxes2", want the name of one of source.columns`,
		boxed("boxes: {column: boxes, masks: outlines}, shape: ragged, room: [4000, 4000], transform: [horizontal_flip: 0.5]"):                                                "",
		boxed("boxes: {column: boxes, masks: outlines}, shape: ragged, room: [16384, 16384], transform: [horizontal_flip: 1]"):                                                `image.boxes.masks: got room for 9 masks of 268435456 pixels a row, want at most 2GiB; lower max_length of "boxes", or resize to less`,
		strings.Replace(boxed("boxes: {column: boxes, masks: outlines}"), "center_crop: 8", "{center_crop: 64}, {elastic_transform: {}}", 1):                                  "image.boxes: given beside elastic_transform, which nothing can follow",
		strings.Replace(boxed("boxes: {column: boxes, masks: outlines}"), "center_crop: 8", "{random_crop: bucket}", 1) + "order: {buckets: {sizes: [[32, 64], [64, 32]]}}\n": "image.boxes.masks: given beside order.buckets of sizes, and rows of masks have one; leave one of them out, or keep each picture's own size: shape: ragged",
		view("boxes: boxes"):  `fields.b.image.boxes.column: got "boxes", which fields.a.image.boxes.column has already, and a column is moved once; list it a second time`,
		view("points: spots"): "",
		strings.Replace(boxed("boxes: boxes"), "center_crop: 8", "{center_crop: 64}, {elastic_transform: {}}", 1):                                                 "image.boxes: given beside elastic_transform, which nothing can follow; leave one of them out, or take random_affine or random_perspective",
		strings.Replace(boxed("boxes: boxes"), "center_crop: 8", "{center_crop: 64}, {random_grid_shuffle: {}}", 1):                                               "image.boxes: given beside random_grid_shuffle, which nothing can follow",
		strings.Replace(boxed("points: spots"), "center_crop: 8", "{center_crop: 64}, {random_grid_shuffle: {}}", 1):                                              "image.points: given beside random_grid_shuffle, which nothing can follow",
		strings.Replace(boxed("points: spots"), "center_crop: 8", "{center_crop: 64}, {elastic_transform: {}}", 1):                                                "image.points: given beside elastic_transform, which nothing can follow",
		strings.Replace(boxed("points: spots, boxes: boxes"), "center_crop: 8", "{center_crop: 64}, {random_perspective: {}}", 1):                                 "",
		strings.Replace(boxed("boxes: boxes"), "center_crop: 8", "{center_crop: 64}, {random_apply: [{elastic_transform: {}}]}", 1):                               "image.boxes: given beside elastic_transform, which nothing can follow",
		strings.Replace(boxed("boxes: boxes"), "center_crop: 8", "{center_crop: 64}, {random_order: [{random_affine: {degrees: 9}}, {horizontal_flip: 0.5}]}", 1): "",
		strings.Replace(boxed("boxes: boxes"), "center_crop: 8", "{center_crop: 64}, {aug_mix: {}}", 1):                                                           "image.transform[1].aug_mix: got aug_mix beside boxes, and it adds up pictures",
		strings.Replace(boxed("points: spots"), "center_crop: 8", "{center_crop: 64}, {aug_mix: {}}", 1):                                                          "image.transform[1].aug_mix: got aug_mix beside points",
		strings.Replace(boxed("boxes: boxes"), "center_crop: 8", "{random_apply: [random_iou_crop: {}]}, {center_crop: 64}", 1):                                   "random_iou_crop",
		boxed("boxes: boxes") + "device: {decode: nvjpeg}\n":                                                                                                      "image.boxes: given beside device.decode: nvjpeg, by which nothing is moved; leave it out, or take decode: cpu",
		boxed("points: spots") + "device: {decode: nvjpeg}\n":                                                                                                     "image.points: given beside device.decode: nvjpeg",
		"source: {folder: p}\nimage: {transform: [center_crop: 8], boxes: boxes}\n":                                                                               `image.boxes.column: got "boxes", want the name of one of source.columns`,
		"source: {list: a.csv, columns: [" + boxColumns + "]}\nfields: {image: {image: {from: file, transform: [random_iou_crop: {}, center_crop: 8], boxes: boxes}}, " +
			"mask: {image: {from: mask, mode: index, transform: [center_crop: 8]}}}\n": "fields.image.image.transform[0].random_iou_crop: got random_iou_crop, which puts pixels elsewhere, beside fields.mask.image",
	} {
		_, err := Parse([]byte(text), "x.yaml")
		if want == "" {
			if err != nil {
				t.Errorf("%s\n%v", text, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

// Boxes of one picture have no column to come from.
func TestOnePictureHasNoBoxes(t *testing.T) {
	for _, key := range []string{"boxes", "points"} {
		_, err := ParseSample([]byte("image: {" + key + ": a}"))
		if want := "image." + key + ": is of a ring's samples, which have columns; leave it out: what is told of one picture has its map, affine"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Whatever is said of boxes and points decides what rows are.
func TestBoxesAndPointsAreInTheHash(t *testing.T) {
	seen := map[[32]byte]string{}
	for _, text := range []string{
		"max_pixels: 9", "boxes: boxes", "boxes: {column: boxes, format: xywh}", "boxes: {column: boxes, normalized: true}", "boxes: {column: boxes, min_size: 2}", "boxes: {column: boxes, min_area: 2}",
		"boxes: {column: boxes, min_visibility: 0.1}", "boxes: {column: boxes, with: classes}", "boxes: {column: boxes, with: joints}", "boxes: {column: boxes, masks: outlines}", "points: marks", "points: spots", "points: {column: spots, normalized: true}",
		"points: {column: spots, remove_invisible: true}", "boxes: boxes, transform: [random_iou_crop: {}, center_crop: 8]", "boxes: boxes, transform: [random_iou_crop: {trials: 9}, center_crop: 8]",
		"boxes: boxes, transform: [bbox_safe_random_crop: {}, center_crop: 8]", "boxes: boxes, transform: [bbox_safe_random_crop: 0.2, center_crop: 8]", "boxes: boxes, transform: [bbox_safe_random_crop: {size: 9}, center_crop: 8]", "boxes: boxes, transform: [bbox_safe_random_crop: {p: 0.5}, center_crop: 8]",
		"boxes: boxes, transform: [bbox_safe_random_crop: {size: 9, interpolation: cv2_area}, center_crop: 8]", "boxes: boxes, transform: [at_least_one_bbox_random_crop: 9, center_crop: 8]", "boxes: boxes, transform: [at_least_one_bbox_random_crop: [9, 8], center_crop: 8]",
		"boxes: boxes, transform: [at_least_one_bbox_random_crop: {size: 9, erosion_factor: 0.2}, center_crop: 8]", "boxes: boxes, transform: [at_least_one_bbox_random_crop: {size: 9, p: 0.5}, center_crop: 8]",
		"boxes: boxes, transform: [random_iou_crop: {min_scale: 0.4}, center_crop: 8]", "boxes: boxes, transform: [random_iou_crop: {max_aspect_ratio: 3}, center_crop: 8]", "boxes: boxes, transform: [random_iou_crop: {sampler_options: [0]}, center_crop: 8]",
		"points: {column: spots, remove_invisible: true, with: classes}",
	} {
		s := parse(t, boxed(text))
		if other, is := seen[s.RowHash()]; is || s.RowHash() == s.Hash() {
			t.Errorf("%s has the hash of %s", text, other)
		}
		seen[s.RowHash()] = text
	}
	if a, b := parse(t, boxed("boxes: boxes")), parse(t, boxed("boxes: {column: boxes, format: xyxy, min_size: 1}")); a.Hash() != b.Hash() {
		t.Error("defaults that are written out change the hash")
	}
}

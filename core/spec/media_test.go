package spec

import (
	"fmt"
	"strings"
	"testing"
)

const (
	aPicture = "image: {transform: [center_crop: 8]}\n"
	aVideo   = "video: {frames: 2, transform: [center_crop: 8]}\n"
	aSound   = "audio: {rate: 8000, length: 1s}\n"
)

// A ring may have several media, and then each says which part of a sample it is made of, by a rule of the source or in its own words.
func TestSeveralMediaAreMadeOfPartsOfTheirOwn(t *testing.T) {
	for text, want := range map[string]string{
		"source: {shards: a.tar}\n" + aPicture + aSound:                                                                                 "image [] audio [aac",
		"source: {shards: a.tar}\n" + aPicture + "audio: {rate: 8, length: 8, from: [a.wav, wav]}\n":                                    "image [] audio [a.wav wav]",
		"source: {shards: a.tar}\n" + "audio: {rate: 8, length: 8, from: mp4}\n" + aVideo:                                               "video [3gp asf avi flv m2ts m4v mkv mov mpeg",
		"source: {shards: a.parquet}\n" + aSound:                                                                                        "audio [audio bytes]",
		"source: {shards: a.parquet}\n" + aVideo:                                                                                        "video [video bytes]",
		"source: {shards: a.parquet, image: wave}\n" + aSound:                                                                           "audio [wave]",
		"source: {shards: a.parquet}\n" + aPicture:                                                                                      "image []",
		"source: {shards: a.parquet}\n" + aPicture + aSound:                                                                             "image [image] audio [audio]",
		"source: {list: a.csv}\n" + aPicture + aSound:                                                                                   "image [path] audio [audio]",
		"source: {list: a.csv, path: file}\n" + aPicture + "audio: {rate: 8, length: 8, from: sound}\n":                                 "image [file] audio [sound]",
		"source: {list: a.csv}\nimage: {transform: [center_crop: 8], from: photo}\n":                                                    "image [photo]",
		"source: {folder: p}\n" + aVideo + "audio: {rate: 8, length: 8, from: mp4}\n":                                                   "video [] audio [mp4]",
		"source: {shards: a.tar}\nfields: {l: {image: {transform: [center_crop: 8], from: l.png}}, s: {audio: {rate: 8, length: 8}}}\n": "l [l.png] s [aac",
		"source: {folder: p}\nfields: {a: {image: {transform: [center_crop: 8]}}, b: {image: {transform: [center_crop: 4]}, draw: own}, s: {audio: {rate: 8, length: 8, from: wav}}}\n": "a [] s [wav]",
		"source: {list: a.tsv}\nfields: {a: {image: {transform: [center_crop: 8]}}, b: {image: {transform: [center_crop: 4]}, draw: own}}\n":                                            "a []",
		"source: {shards: a.tar, image: [png]}\n" + aPicture: "image [png]",
	} {
		s := parse(t, text)
		var got []string
		for _, w := range s.Parts(&s.Source) {
			got = append(got, w.Name, fmt.Sprint(w.From))
		}
		if !strings.HasPrefix(strings.Join(got, " "), want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// The tensors of the sections have the sections' names, those of fields begin with the field's.
func TestTensorsOfMedia(t *testing.T) {
	s := parse(t, "source: {shards: a.tar}\n"+aPicture+aVideo+aSound)
	if got := fmt.Sprint(s.fields()); got != "[image video frames pts duration audio length index key status label]" {
		t.Error(got)
	}
	s = parse(t, "source: {shards: a.tar}\nfields: {v: {"+strings.TrimSpace(aVideo)+"}, s: {"+strings.TrimSpace(aSound)+"}}\n")
	if got := fmt.Sprint(s.fields()); got != "[v v.frames v.pts v.duration s s.length index key status label]" {
		t.Error(got)
	}
}

// What cannot be is refused with its place, and what would.
func TestMediaThatCannotBeAreRefused(t *testing.T) {
	from := func(section, key string) string { return strings.Replace(section, ": {", ": {from: "+key+", ", 1) }
	for text, want := range map[string]string{
		"source: {folder: p}\nfields: {a: {image: {transform: [center_crop: 8]}, draw: alone}}\n":                                 `fields.a.draw: got text "alone", want one of alike, own`,
		"source: {folder: p}\nfields: {a: {draw: own}}\n":                                                                         "fields.a: got 0 sections, want one of image, video, audio",
		"source: {folder: p}\nfields: {a: {image: {transform: [center_crop: 8]}}, b: {draw: own, audio: {rate: 8, length: 8}}}\n": "fields.b.audio: from is missing",
		"source: {folder: p}\n" + aPicture + aSound:                                                                               "x.yaml:3:8: audio: from is missing, want the ending of the files beside those of image, such as from: wav",
		"source: {folder: p}\n" + aPicture + aVideo:                                                                               "x.yaml:3:8: video: from is missing, want the ending of the files beside those of image, such as from: mp4",
		"source: {folder: p}\n" + from(aPicture, "png"):                                                                           "image.from: given for the first medium of a folder, whose files are its samples; say their endings in source.extensions",
		"source: {folder: p}\n" + aPicture + from(aSound, "[wav, flac]"):                                                          "audio.from: got 2, want one: of a table a column, of a folder an ending",
		"source: {list: a.tsv}\n" + aPicture + aSound:                                                                             "audio: given beside image, but a line of the list names one file; use a table",
		"source: {list: a.tsv}\n" + from(aPicture, "x"):                                                                           "image.from: goes with shards, with a list that is a table",
		"source: {host: {samples: 3}}\n" + aPicture + aSound:                                                                      "audio: given beside image, but your program brings one file a sample; want one medium",
		"source: {list: a.csv}\n" + aPicture + from(aSound, "'{a.wav'"):                                                           `x.yaml:3:15: audio.from: "{a.wav": got a { without its }`,
		"source: {list: a.csv, path: p}\n" + from(aPicture, "x"):                                                                  "image.from: given beside source.path, which says the same",
		"source: {shards: a.tar, image: jpg}\n" + from(aPicture, "x"):                                                             "image.from: given beside source.image, which says the same",
		"source: {shards: a.tar, image: jpg}\n" + aPicture + aSound:                                                               "source.image: given for several media; say from in each of them",
		"source: {mix: [{folder: p}, {list: a.tsv}]}\n" + aPicture + from(aSound, "wav"):                                          "audio.from: goes with shards, with a list that is a table (.csv, .jsonl, .parquet or .npz), and with a folder; source.mix[1] has one file a sample",
		"source: {shards: a.tar}\nfields: {a: {" + strings.TrimSpace(aPicture) + "}, b: {" + strings.TrimSpace(aPicture) + "}}\n": "fields.b.image: from is missing, want its part: fields.a.image has none either",
		"source: {shards: a.tar}\n" + aPicture + "fields: {a: {}}\n":                                                              "fields: given beside image; want the sections image, video, audio, or fields with names of your own",
		"source: {shards: a.tar}\nfields: {}\n":                                                                                   "fields: got a mapping, want a mapping of 1 to 16 fields by name",
		"source: {shards: a.tar}\nfields: {a: {}}\n":                                                                              "fields.a: got 0 sections, want one of image, video, audio",
		"source: {shards: a.tar}\nfields: {a: {image: {}, audio: {}}}\n":                                                          "fields.a: got 2 sections, want one of image, video, audio",
		"source: {shards: a.tar}\nfields: {a: {picture: {}}}\n":                                                                   "fields.a.picture: unknown key; valid here: image, video, audio",
		"source: {shards: a.tar}\nfields: {a.b: {image: {}}}\n":                                                                   `fields.a.b: got text "a.b" for a field's name, want 1 to 48 of A-Z a-z 0-9 _ -`,
		"source: {shards: a.tar}\nfields: {label: {image: {}}}\n":                                                                 "fields.label: got a name that every batch has for something else; choose another",
		"source: {shards: a.tar}\nfields: {a: {image: {}}, a: {image: {}}}\n":                                                     "fields.a: given twice; keep one",
		"source: {shards: a.tar}\nfields: {a: {image: {}}}\n":                                                                     "x.yaml:2:21: fields.a.image.transform: leaves the size of the picture open",
		"source: {shards: a.tar}\nfields: {a: {audio: {rate: 8}}}\n":                                                              "fields.a.audio: length is missing",
		"source: {shards: a.tar, columns: [length]}\n" + aPicture + aSound:                                                        `got name "length", which every batch has`,
		"source: {shards: a.tar}\n" + aPicture + "audio: {rate: 8, length: 8, crop: random}\ncache: {rows_bytes: 1MiB}\n":         "cache.rows_bytes: rows are drawn by chance",
	} {
		_, err := Parse([]byte(text), "x.yaml")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// A ring of several has the media that it names; what it leaves out of one the top level says. What is filled in for one ring is not
// seen by another.
func TestRingsOfSeveralMedia(t *testing.T) {
	s := parse(t, "source: {shards: a.tar}\nimage: {transform: [center_crop: 8], layout: NCHW}\n"+aSound+
		"rings: {both: {}, seen: {image: {transform: [center_crop: 8, normalize: imagenet]}}, named: {fields: {x: {audio: {rate: 8, length: 8}}}}}\n")
	both, seen, named := s.Rings[0], s.Rings[1], s.Rings[2]
	if len(both.Media()) != 2 || len(seen.Media()) != 1 || seen.Image.Layout != NCHW || seen.Image.DType.String() != "f32" || both.Image.DType.String() != "u8" {
		t.Errorf("%+v\n%+v", both.Media(), seen.Image)
	}
	if media := named.Media(); len(media) != 1 || media[0].Name != "x" || media[0].Audio == nil {
		t.Errorf("%+v", media)
	}
}

// The hash names what media are made of, and a description of one medium has the hash that it had before there were several.
func TestHashOfSeveralMedia(t *testing.T) {
	hash := func(text string) string { return string(parse(t, "source: {shards: a.tar}\n"+text).Canonical()) }
	one := hash(aPicture)
	for _, text := range []string{aPicture + aSound, "image: {transform: [center_crop: 8], from: png}\n", "fields: {image: {" + strings.TrimSpace(aPicture) + "}}\n"} {
		if hash(text) == one {
			t.Errorf("%s has the hash of another", text)
		}
	}
	two := "fields: {a: {image: {transform: [{random_crop: 8}], from: a.png}}, b: {image: {transform: [{random_crop: 8}], from: b.png}%s}}\n"
	alike := hash(fmt.Sprintf(two, ""))
	if hash(fmt.Sprintf(two, ", draw: alike")) != alike || hash(fmt.Sprintf(two, ", draw: own")) == alike {
		t.Error("the hash does not follow who draws")
	}
	if strings.Contains(one, "from") || strings.Contains(one, "fields") {
		t.Error(one)
	}
}

// A picture that is sheared, turned and moved beside a mask drawn alike would be trained on with a mask of another place, silently.
func TestRowsThatWouldNotFollowAreRefused(t *testing.T) {
	const fields = "source: {shards: a.tar}\nfields:\n  photo: {image: {from: jpg, transform: [{center_crop: %s}, {%s}]}%s}\n  other: {%s%s}\n"
	const mask = "image: {from: png, mode: index, transform: [{center_crop: 8}]}"
	alike := func(size, op, more string) string {
		return fmt.Sprintf("image: {from: png, transform: [{center_crop: %s}, {%s}%s]}", size, op, more)
	}
	for _, op := range []string{"rand_augment: 9", "trivial_augment_wide: {}", "auto_augment: svhn", "timm_rand_augment: rand-m9", "aug_mix: {}", "random_rotation: 30", "random_affine: {degrees: 0, scale: [1, 2]}", "random_perspective: {}", "elastic_transform: {sigma: 0.5}",
		"random_apply: [{random_rotation: 30}]", "random_choice: [{random_rotation: 30}, {vertical_flip: 1}]", "random_order: [{vertical_flip: 0.5}, {random_rotation: 30}]"} {
		name, _, _ := strings.Cut(op, ":")
		for other, unlike := range map[string]string{
			mask: name, "image: {from: png, transform: [{random_resized_crop: 8}]}": "random_resized_crop", "video: {from: mp4, frames: 2, transform: [{center_crop: 8}]}": name,
			alike("9", op, ""): "the size of its rows", alike("8", "rand_augment: 3", ""): name,
		} {
			_, err := Parse([]byte(fmt.Sprintf(fields, "8", op, "", other, "")), "x.yaml")
			want := fmt.Sprintf("fields.photo.image.transform[1].%s: got %s, which puts pixels elsewhere, beside fields.other.%s, whose rows are drawn alike and would not follow, as %s is another there; "+
				"if they need not fit, make them fields, one with draw: own; if they must (a mask), give both the same size, the same random crop and flips and the same operations that turn, shear, move or bend (random_rotation to random_grid_shuffle, morphological), in the same order and place, or leave it out", name, name, other[:5], unlike)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "x.yaml:3:") {
				t.Errorf("%s beside %s\ngot  %v\nwant %s", op, other, err, want)
			}
		}
		for _, rest := range [][2]string{
			{", draw: own", mask}, {"", mask + ", draw: own"}, {"", "audio: {from: wav, rate: 8, length: 8}"}, {"", alike("8", op, "")}, {"", alike("8", op, ", {equalize: 0.5}")},
		} {
			parse(t, fmt.Sprintf(fields, "8", op, rest[0], rest[1], ""))
		}
	}
	const after, before = "{center_crop: 8}, {random_rotation: 9}, {horizontal_flip: 0.5}", "{center_crop: 8}, {horizontal_flip: 0.5}, {random_rotation: 9}"
	if _, err := Parse([]byte(fmt.Sprintf("source: {shards: a.tar}\nfields:\n  photo: {image: {from: jpg, transform: [%s]}}\n  mask: {image: {from: png, mode: index, transform: [%s]}}\n", after, before)), "x.yaml"); err == nil ||
		!strings.Contains(err.Error(), "random_rotation: got random_rotation, which puts pixels elsewhere, beside fields.mask.image") || !strings.Contains(err.Error(), "in the same order and place") {
		t.Errorf("a mask that is flipped before it is turned, beside a picture that is flipped after that: got %v", err)
	}
	const early = "source: {shards: a.tar}\nfields:\n  photo: {image: {from: jpg, transform: [%s]}}\n  mask: {image: {from: png, mode: index, transform: [%s]}}\n"
	const nearest = "{resize: {size: 9, interpolation: nearest}}"
	for _, other := range [][2]string{
		{"{random_rotation: 9}, {resize: 9}, {center_crop: 8}", "{random_rotation: 9}, " + nearest + ", {center_crop: 8}"},
		{"{resize: 9}, {random_rotation: {degrees: 9, expand: true, interpolation: bilinear}}, {center_crop: 8}", nearest + ", {random_rotation: {degrees: 9, expand: true, fill: 255}}, {center_crop: 8}"},
		{"{horizontal_flip: 0.5}, {random_rotation: 9}, {random_crop: 8}", "{horizontal_flip: 0.5}, {random_rotation: 9}, {random_crop: 8}"},
		{"{crop: [1, 2, 9, 9]}, {center_crop: 8}", "{crop: [1, 2, 9, 9]}, {center_crop: 8}"}, {"{random_crop_from_borders: {}}, {center_crop: 8}", "{random_crop_from_borders: {}}, {center_crop: 8}"},
		{"{crop_and_pad: {px: [-3, 3], fill: 9}}, {center_crop: 8}", "{crop_and_pad: {px: [-3, 3], interpolation: cv2_nearest, padding_mode: edge}}, {center_crop: 8}"},
		{"{resized_crop: 9}, {center_crop: 8}", "{resized_crop: {size: 9, interpolation: cv2_nearest}}, {center_crop: 8}"}, {"{random_scale: {}}, {center_crop: 8}", "{random_scale: {interpolation: cv2_nearest}}, {center_crop: 8}"},
		{"{random_zoom_out: {fill: 9}}, {center_crop: 8}", "{random_zoom_out: {fill: 255}}, {center_crop: 8}"},
		{"{center_crop: 8}, {random_apply: [{random_rotation: {degrees: 9, interpolation: bilinear}}, {invert: 1}]}", "{center_crop: 8}, {random_apply: [{random_rotation: {degrees: 9, fill: 255}}]}"},
		{"{random_choice: [{random_rotation: 9}, {random_affine: {degrees: 9}}]}, {center_crop: 8}, {random_apply: [{invert: 1}]}", "{random_choice: [{random_rotation: 9}, {random_affine: {degrees: 9}}]}, {center_crop: 8}"},
		{"{center_crop: 8}, {random_order: [{random_rotation: 9}, {vertical_flip: 1}]}", "{center_crop: 8}, {random_order: [{random_rotation: 9}, {vertical_flip: 1}]}"},
		{"{center_crop: 8}, {random_choice: [{grayscale: 1}, {invert: 1}]}, {random_rotation: 9}", "{center_crop: 8}, {random_rotation: 9}"},
	} {
		parse(t, fmt.Sprintf(early, other[0], other[1]))
	}
	for _, other := range [][2]string{
		{"{random_rotation: 9}, {resize: 9}, {center_crop: 8}", nearest + ", {random_rotation: 9}, {center_crop: 8}"}, {"{resize: 9}, {random_rotation: 9}, {center_crop: 8}", nearest + ", {center_crop: 8}, {random_rotation: 9}"},
		{"{random_zoom_out: {}}, {center_crop: 8}", "{random_zoom_out: [1, 3]}, {center_crop: 8}"},
		{"{crop_and_pad: 0.1}, {center_crop: 8}", "{crop_and_pad: {percent: 0.2, interpolation: cv2_nearest}}, {center_crop: 8}"}, {"{resized_crop: 9}, {center_crop: 8}", "{resized_crop: {size: 9, p: 0.5, interpolation: cv2_nearest}}, {center_crop: 8}"},
		{"{random_scale: 2}, {center_crop: 8}", "{random_scale: {interpolation: cv2_nearest}}, {center_crop: 8}"}, {"{crop: [1, 2, 9, 9]}, {center_crop: 8}", "{center_crop: 8}"}, {"{random_crop_from_borders: {}}, {center_crop: 8}", "{random_crop_from_borders: {left: 0.2}}, {center_crop: 8}"},
		{"{random_rotation: 9}, {center_crop: {size: 8, position: top_left}}", "{random_rotation: 9}, {center_crop: 8}"},
		{"{center_crop: 8}, {random_apply: [{random_rotation: 9}]}", "{center_crop: 8}, {random_rotation: 9}"}, {"{center_crop: 8}, {random_apply: [{random_rotation: 9}]}", "{center_crop: 8}, {random_apply: {transforms: [{random_rotation: 9}], p: 0.4}}"},
		{"{center_crop: 8}, {random_apply: [{random_rotation: 9}]}", "{random_apply: [{random_rotation: 9}]}, {center_crop: 8}"}, {"{center_crop: 8}, {random_apply: [{random_rotation: 9}]}", "{center_crop: 8}, {random_apply: [{random_rotation: 8}]}"},
		{"{center_crop: 8}, {random_choice: [{random_rotation: 9}, {invert: 1}]}", "{center_crop: 8}, {random_choice: [{random_rotation: 9}, {vertical_flip: 1}]}"},
		{"{center_crop: 8}, {random_choice: [{random_rotation: 9}, {vertical_flip: 1}]}", "{center_crop: 8}, {random_choice: [{vertical_flip: 1}, {random_rotation: 9}]}"},
		{"{center_crop: 8}, {random_choice: [{random_rotation: 9}, {vertical_flip: 1}]}", "{center_crop: 8}, {random_choice: {transforms: [{random_rotation: 9}, {vertical_flip: 1}], p: [1, 2]}}"},
		{"{center_crop: 8}, {random_order: [{random_rotation: 9}, {vertical_flip: 1}]}", "{center_crop: 8}, {random_rotation: 9}, {vertical_flip: 1}"},
		{"{random_rotation: 9}, {center_crop: 8}", "{random_rotation: {degrees: 9, expand: true}}, {center_crop: 8}"}, {"{random_rotation: 9}, {center_crop: 8}", "{center_crop: 8}"},
		{"{horizontal_flip: 0.5}, {random_rotation: 9}, {random_crop: 8}", "{random_rotation: 9}, {horizontal_flip: 0.5}, {random_crop: 8}"},
		{"{horizontal_flip: 0.5}, {random_crop: 8}, {random_rotation: 9}", "{random_crop: 8}, {horizontal_flip: 0.5}, {random_rotation: 9}"},
	} {
		if _, err := Parse([]byte(fmt.Sprintf(early, other[0], other[1])), "x.yaml"); err == nil || !strings.Contains(err.Error(), "would not follow") {
			t.Errorf("a mask of %s beside a picture of %s: got %v", other[1], other[0], err)
		}
	}
	const turned = "image: {from: png, mode: index, transform: [{center_crop: 8}, {random_rotation: %s}]}"
	parse(t, fmt.Sprintf(fields, "8", "random_rotation: {degrees: 30, interpolation: bilinear}", "", fmt.Sprintf(turned, "30"), ""))
	if _, err := Parse([]byte(fmt.Sprintf(fields, "8", "random_rotation: 30", "", fmt.Sprintf(turned, "31"), "")), "x.yaml"); err == nil {
		t.Error("a mask that is turned by other angles than its picture is taken")
	}
	for _, other := range [][2]string{
		{"{resize: [8, 8]}", "{random_crop: 8}"}, {"{random_crop: 8}", "{random_crop: {size: 8, padding: 2}}"}, {"{random_resized_crop: 8}", "{resize: {size: [8, 8], interpolation: nearest}}"},
		{"{random_resized_crop: 8}", "{random_resized_crop: {size: 8, scale: [0.5, 1], interpolation: nearest}}"}, {"{random_resized_crop: {size: 8, height: 9}}", "{random_resized_crop: {size: 8, height: 8, interpolation: nearest}}"}, {"{center_crop: 8}, {horizontal_flip: 0.5}", "{center_crop: 8}"},
		{"{center_crop: 8}, {vertical_flip: 0.5}", "{center_crop: 8}, {vertical_flip: 0.4}"}, {"{resize: {size: [8, 8], fit: contain}}", "{resize: {size: [8, 8], interpolation: nearest}}"},
		{"{random_resize: {min_size: 8, max_size: 16}}, {random_crop: 8}", "{random_resize: {min_size: 8, max_size: 17, interpolation: nearest}}, {random_crop: 8}"},
		{"{resize: {size: [8, 8], fit: contain}}", "{resize: {size: [8, 8], interpolation: nearest, fit: contain, place: top_left}}"},
		{"{resize: {size: [8, 8], fit: letterbox}}", "{resize: {size: [8, 8], interpolation: nearest, fit: contain}}"},
		{"{resize: [6, 6]}, {pad: 1}", "{resize: {size: [6, 6], interpolation: nearest}}, {pad: [0, 0, 2, 2]}"}, {"{pad: 1}, {random_crop: 8}", "{random_crop: 8}"},
	} {
		const pair = "source: {shards: a.tar}\nfields:\n  photo: {image: {from: jpg, transform: [%s, {random_rotation: 9}]}}\n  mask: {image: {from: png, mode: index, transform: [%s, {random_rotation: 9}]}}\n"
		if _, err := Parse([]byte(fmt.Sprintf(pair, other[0], other[1])), "x.yaml"); err == nil || !strings.Contains(err.Error(), "would not follow") {
			t.Errorf("a mask of %s beside a picture of %s, which is turned: got %v", other[1], other[0], err)
		}
	}
	parse(t, fmt.Sprintf(fields, "8", "random_rotation: 9", "", "image: {from: png, mode: index, transform: [{resize: {size: [8, 8], interpolation: nearest}}, {random_rotation: 9}]}", ""))
	parse(t, fmt.Sprintf(fields, "8", "random_rotation: 9", "", "image: {from: png, mode: index, transform: [{resize: {size: [8, 8], interpolation: cv2_nearest}}, {random_rotation: 9}]}", ""))
	parse(t, fmt.Sprintf(fields, "8", "random_rotation: {degrees: 9, fill: [1, 2, 3]}", "", "image: {from: png, mode: index, transform: [{center_crop: {size: 8, fill: 255}}, {random_rotation: {degrees: 9, fill: 255}}]}", ""))
	parse(t, fmt.Sprintf(fields, "8", "random_perspective: {fill: 9}", "", "image: {from: png, mode: index, transform: [{center_crop: 8}, {random_perspective: {interpolation: nearest, fill: 255}}]}", ""))
	parse(t, fmt.Sprintf(fields, "8", "elastic_transform: {sigma: 0.5, fill: 9}", "", "image: {from: png, mode: index, transform: [{center_crop: 8}, {elastic_transform: {sigma: 0.5, interpolation: nearest, fill: 255}}]}", ""))
	interpolated := fmt.Sprintf(fields, "8", "rand_augment: 9", "", alike("8", "rand_augment: {interpolation: bilinear}", ""), "")
	parse(t, interpolated)
	for _, op := range []string{"color_jitter: {hue: 0.1}", "gaussian_blur: 3", "equalize: 0.5", "solarize: {threshold: 128}", "random_photometric_distort: {}", "gaussian_noise: {}", "jpeg: 50"} {
		parse(t, fmt.Sprintf(fields, "8", op, "", mask, ""))
	}
	parse(t, fmt.Sprintf(fields, "8", "random_rotate90: 1", "", "image: {from: png, mode: index, transform: [{center_crop: 8}, {random_rotate90: 1}]}", ""))
	for _, unlike := range []string{"{center_crop: 8}", "{center_crop: 8}, {random_rotate90: 0.5}", "{random_rotate90: 1}, {center_crop: 8}"} {
		text := fmt.Sprintf(fields, "8", "random_rotate90: 1", "", "image: {from: png, mode: index, transform: ["+unlike+"]}", "")
		if _, err := Parse([]byte(text), "x.yaml"); err == nil || !strings.Contains(err.Error(), "got random_rotate90, which puts pixels elsewhere") {
			t.Errorf("a mask of %s: got %v", unlike, err)
		}
	}
	_, err := Parse([]byte("source: {shards: a.tar}\nimage: {transform: [{center_crop: 8}, {rand_augment: 9}]}\n"+aVideo), "x.yaml")
	if err == nil || !strings.Contains(err.Error(), "x.yaml:2:54: image.transform[1].rand_augment: got rand_augment, which puts pixels elsewhere, beside video,") {
		t.Errorf("got %v", err)
	}
	parse(t, "source: {shards: a.tar}\nimage: {transform: [{center_crop: 8}, {rand_augment: 9}]}\n"+aSound)
}

// A mask that is cropped or flipped otherwise than its picture is named, and one that follows it, or need not, is not.
func TestMasksThatDoNotFollowAreNamed(t *testing.T) {
	const pair = "source: {shards: a.tar}\nfields:\n  photo: {image: {from: jpg, transform: [%s]}%s}\n  mask: {image: {from: png, mode: index, transform: [%s]}}\n"
	const nearest, fits = ", interpolation: nearest}", "how resize fits a picture (fit, place, upscale)"
	for _, c := range [][4]string{ // of the picture, how it draws, of the mask, what is named
		{"{center_crop: 8}, {horizontal_flip: 0.5}", "", "{center_crop: 8}", "horizontal_flip"}, {"{center_crop: 8}, {horizontal_flip: 0.5}", "", "{center_crop: 8}, {horizontal_flip: 0.4}", "horizontal_flip"},
		{"{center_crop: 8}", "", "{center_crop: 8}, {vertical_flip: 0.5}", "vertical_flip"}, {"{random_crop: 8}", "", "{center_crop: 8}", "random_crop"},
		{"{random_crop: 8}", "", "{random_crop: {size: 8, padding: 1}}", "random_crop"},
		{"{scale_jitter: 8}, {random_crop: 8}", "", "{scale_jitter: {target_size: 8, scale_range: [0.1, 1]" + nearest + "}, {random_crop: 8}", "scale_jitter"}, {"{scale_jitter: 8}, {center_crop: 8}", "", "{scale_jitter: {target_size: 8" + nearest + "}, {center_crop: 8}", ""}, {"{random_resized_crop: 8}", "", "{random_resized_crop: {size: 8, scale: [0.5, 1]" + nearest + "}", "random_resized_crop"},
		{"{random_resize: {min_size: 8, max_size: 16}}, {center_crop: 8}", "", "{center_crop: 8}", "random_resize"},
		{"{center_crop: 8}, {horizontal_flip: 0.5}", ", draw: own", "{center_crop: 8}", ""}, {"{center_crop: 8}, {horizontal_flip: 0.5}, {grayscale: 0.1}", "", "{center_crop: 8}, {horizontal_flip: 0.5}", ""},
		{"{center_crop: 8}, {random_rotation: 9}, {invert: 0.5}, {horizontal_flip: 0.5}", "", "{center_crop: 8}, {random_rotation: 9}, {horizontal_flip: 0.5}", ""},
		{"{center_crop: 8}, {invert: 0.5}, {vertical_flip: 0.5}, {horizontal_flip: 0.5}", "", "{center_crop: 8}, {horizontal_flip: 0.5}, {vertical_flip: 0.5}", ""},
		{"{horizontal_flip: 0.5}, {random_crop: 8}", "", "{random_crop: 8}, {horizontal_flip: 0.5}", "the place of flips and turns"}, {"{horizontal_flip: 0.5}, {random_crop: 8}", "", "{horizontal_flip: 0.5}, {random_crop: 8}", ""},
		{"{random_resized_crop: 8}", "", "{random_resized_crop: {size: 4" + nearest + "}", ""}, {"{random_crop: 8}", "", "{random_crop: {size: 8, fill: 255}}", ""},
		{"{pad: 4}, {random_crop: 8}", "", "{random_crop: 8}", "random_crop"}, {"{random_crop: {size: 8, padding: [1, 2]}}", "", "{random_crop: {size: 8, padding: [1, 2, 1, 3]}}", "random_crop"},
		{"{resize: {size: [8, 8], fit: letterbox}}", "", "{resize: {size: [8, 8], fit: contain" + nearest + "}", fits}, {"{resize: [8, 8]}", "", "{resize: {size: [8, 8], fit: contain" + nearest + "}", fits},
		{"{resize: {size: [8, 8], fit: contain, place: top_left}}", "", "{resize: {size: [8, 8], fit: contain" + nearest + "}", fits},
		{"{resize: {size: [8, 8], fit: letterbox, fill: 114}}", "", "{resize: {size: [8, 8], fit: letterbox, fill: 255" + nearest + "}", ""},
		{"{pad: {padding: 4, padding_mode: reflect}}, {random_crop: 8}", "", "{random_crop: {size: 8, padding: 4, fill: 255}}", ""},
	} {
		mask, picture, op := parse(t, fmt.Sprintf(pair, c[0], c[1], c[2])).Unfollowed()
		if op != c[3] || op != "" && (mask != "fields.mask.image" || picture != "fields.photo.image") {
			t.Errorf("%v: got %q, %q, %q", c, mask, picture, op)
		}
	}
}

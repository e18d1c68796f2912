package spec

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

const small = "image: {transform: [center_crop: 8]}\n"

// A place is a path or a URL; what is neither is refused by the name of its scheme.
func TestPlacesAreNamedByPathOrURL(t *testing.T) {
	for text, want := range map[string]string{
		"a/b": "a/b", "S3://B/K*": "s3://B/K*", "HTTPS://h/x?Q": "https://h/x?Q", "file:///d/x%20y-{0..1}.tar": "/d/x y-{0..1}.tar", "FILE://localhost/d": "/d", "a/b://c": "a/b:/c",
		"az://b/x":                      `got a URL of scheme "az", want a path, or a URL of http, https, s3, gs, hf or file; a store that speaks S3`,
		"ftp://u:p@h/x":                 `got a URL of scheme "ftp", want a path`,
		"file://host/x":                 `got "file://host/x", want file:///PATH`,
		"file:///a%zz":                  `want file:///PATH`,
		"s3://":                         `got "s3://" without a host or bucket, want s3://NAME/PATH`,
		"http:///x":                     `without a host or bucket, want http://NAME/PATH`,
		"file:///a%00b.tar":             `want file:///PATH`,
		"pipe:aws s3 cp s3://b/a.tar -": `got a command (pipe:), of which no sample`,
		"a.tar::b-{0..9}.tar":           `got several names with :: between them, want a list of them`,
	} {
		refused := strings.Contains(want, "want ") || strings.HasPrefix(want, "got ")
		for _, source := range []string{"{shards: %q}", "{shards: [%q]}", "{list: %q}", "{list: l, root: %q}", "{mix: [{shards: %q}]}"} {
			s, err := Parse([]byte(small+"source: "+fmt.Sprintf(source, text)), "x.yaml")
			if refused != (err != nil) || err != nil && (!strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "x.yaml:2:") || strings.Contains(err.Error(), "u:p")) {
				t.Errorf(source+": got %v, want %q", text, err, want)
			}
			if err == nil && source == "{shards: %q}" && s.Source.Shards[0] != want {
				t.Errorf("%s: got %q, want %q", text, s.Source.Shards[0], want)
			}
		}
		folder, err := FromFolder(text, Zero{})
		if strings.HasPrefix(want, "http") {
			continue // which cannot be listed
		}
		if refused != (err != nil) || err != nil && !strings.Contains(err.Error(), want) || err == nil && folder.Source.Folder != want {
			t.Errorf("folder %s: got %v, want %q", text, err, want)
		}
		if s, err := FromShards([]string{text}, Zero{}); refused != (err != nil) || err == nil && s.Source.Shards[0] != want {
			t.Errorf("shards %s: got %v, want %q", text, err, want)
		}
	}
}

// A data set that an index.json lists is called as its directory is, however it is named; a URL keeps the slash that makes it a directory.
func TestACatalogueIsCalledAsItsDirectory(t *testing.T) {
	for text, want := range map[string]string{"/data/mds": "mds", "/data/mds/index.json": "mds", "s3://bucket/mds/": "mds", "https://h/mds/index.json?x=1": "mds", "/data/mds/*.mds": "mds"} {
		s, err := FromShards([]string{text}, Zero{})
		if err != nil || s.Name != want || s.Source.Shards[0] != text {
			t.Errorf("%s: got %v, %v", text, s, err)
		}
	}
}

// A folder whose relative path begins with "http" is no URL.
func TestAFolderMayBeNamedLikeAURL(t *testing.T) {
	s, err := Parse([]byte(small+"source: {folder: httpx/train}"), "x.yaml")
	if err != nil || s.Source.Folder != "httpx/train" {
		t.Errorf("got %v", err)
	}
}

// Every key of a source of shards arrives, paths found from the file's directory, URLs as they are.
func TestEveryKeyOfShardsArrives(t *testing.T) {
	s := parse(t, small+`
source:
  shards: ["a/{00..10}.tar", /b/*.tar, s3://bucket/x.tar]
  image: [jpg, png]
  label: tag
  columns: [json, {name: w, from: width, type: i64}, {name: t, max_bytes: 64KiB}]
  index: beside
  remote: {endpoint: "http://h:9000", region: r, profile: p, anonymous: true, addressing: host, timeout: 5s, retries: 0, hedge_after: never}
cache: {dir: c, max_bytes: 1MiB, evict: never}
`)
	want := Source{
		Shards: []string{"dir/a/{00..10}.tar", "/b/*.tar", "s3://bucket/x.tar"}, Labels: LabelsDirectory, Image: []string{"jpg", "png"}, Label: "tag",
		Columns: []Column{
			{Name: "json", Type: TypeText, MaxBytes: 1024}, {Name: "w", From: "width", Type: TypeI64, MaxBytes: 1024}, {Name: "t", Type: TypeText, MaxBytes: 65536},
		}, Index: IndexBeside,
		Remote:  Remote{"http://h:9000", "r", "p", true, ByHost, 5 * time.Second, 0, -1},
		written: written{shards: []string{"a/{00..10}.tar", "/b/*.tar", "s3://bucket/x.tar"}},
	}
	if !reflect.DeepEqual(s.Source, want) {
		t.Fatalf("got %+v\nwant %+v", s.Source, want)
	}
	if s.Cache != (Cache{Dir: "dir/c", MaxBytes: 1 << 20, Evict: EvictNever}) {
		t.Fatalf("%+v", s.Cache)
	}
}

// A ring's own source is another one, not one more word about the top level's.
func TestARingsSourceReplacesShards(t *testing.T) {
	s := parse(t, small+"source: {shards: a.tar, columns: [json], remote: {region: r}}\nrings: {a: {}, b: {source: {folder: s3://b/p}}, c: {source: {label: tag}}}")
	b := defaultSource()
	b.Folder, b.written.folder = "s3://b/p", "s3://b/p"
	if !reflect.DeepEqual(s.Rings[1].Source, b) {
		t.Fatalf("%+v", s.Rings[1].Source)
	}
	if c := s.Rings[2].Source; c.Label != "tag" || len(c.Columns) != 1 || c.Remote.Region != "r" || len(s.Rings[0].Source.Shards) != 1 {
		t.Fatalf("%+v", c)
	}
}

// The hash follows what decides which samples come, not how they are fetched or what is kept of them.
func TestHashFollowsTheSource(t *testing.T) {
	base := parse(t, small+"source: {shards: a.tar}")
	for more, changes := range map[string]bool{
		", image: png": true, ", label: tag": true, ", columns: [json]": true, ", columns: [{name: x, default: \"\"}]": true, ", index: beside": false, ", remote: {region: r}": false,
		"}\ncache: {dir: d": false, "}\ncache: {rows_bytes: 1MiB, head_space: 2": true,
	} {
		s := parse(t, small+"source: {shards: a.tar"+more+"}")
		if got := s.Hash() != base.Hash(); got != changes {
			t.Errorf("%s: changes %v, want %v", more, got, changes)
		}
	}
	host := parse(t, small+"source: {host: {samples: 3}}")
	if s := parse(t, small+"source: {host: {samples: 3, timeout: 1s}}"); s.Hash() != host.Hash() || s.Source.Host.Timeout != time.Second {
		t.Error("the deadline of source.host changes the hash, or did not arrive")
	}
	if s := parse(t, small+"source: {host: {samples: 4}}"); s.SourceHash() == host.SourceHash() {
		t.Error("one sample more, the same source hash")
	}
	if s := parse(t, small+"source: {shards: [a.tar, b.tar]}"); s.SourceHash() == base.SourceHash() {
		t.Error("one shard more, the same source hash")
	}
}

// What does not go together in a source is refused where it stands.
func TestSourcesThatCannotBe(t *testing.T) {
	for source, want := range map[string]string{
		"{shards: a.tar, folder: p}":                                        "source.shards: given beside another; want exactly one of folder, list, shards, arrays, mix and host",
		"{folder: p, host: {samples: 1}}":                                   "source.host: given beside another; want exactly one of folder, list, shards, arrays, mix and host",
		"{mix: [folder: p], host: {samples: 1}}":                            "source.host: given beside mix; want exactly one of",
		"{host: {}}":                                                        "source.host: samples is missing, want how many there are",
		"{host: {samples: 0}}":                                              "source.host.samples: got 0, want a whole number from 1",
		"{host: {samples: 1, timeout: 0s}}":                                 "source.host.timeout: got 0s, want a duration",
		"{host: {samples: 1}, label: cls}":                                  "source.label: goes with shards",
		"{host: {samples: 1}, columns: [a, b]}":                             "source.columns: got several files a sample, but your program brings one",
		"{host: {samples: 1}, labels: none}":                                "source.labels: goes with folder",
		"{mix: [{host: {samples: 1}}]}":                                     "source.mix[0].host: unknown key",
		"{shards: []}":                                                      "source.shards: got an empty list, want a path, a URL or a list of them",
		"[a.tar, b.tar]":                                                    "x.yaml:2:9: source: got a list, want a mapping of folder, list, root, shards, path, heading, separator, image, label, split, only, arrays, episodes, mix, host, columns, packing, index, remote, local_timeout, extensions, labels; write {shards: [...]}, or {list: FILE} of a file with a path a line",
		"{list: [a.jpg, b.jpg]}":                                            "source.list: got a list, want the path of a file that has them, one a line; archives and tables of samples are shards: [...]",
		"{shards: 's3:/bucket/a.tar'}":                                      `source.shards: got "s3:/bucket/a.tar", want two slashes, as in s3://NAME/PATH; a directory that is called so is ./s3:/bucket/a.tar`,
		"{folder: 'https:/h/x'}":                                            `source.folder: got "https:/h/x", want two slashes`,
		"{shards: a.tar, storage_options: 1}":                               "source.storage_options: unknown key; say remote: {endpoint: URL, region: NAME, profile: NAME, anonymous: true}, what of it is needed; keys come from the environment",
		"{arrays: x.npy}":                                                   `source.arrays: got text "x.npy", want a list of arrays, each a mapping with name and file, such as [{name: x, file: x.npy}]`,
		"{shards: [1]}":                                                     "source.shards[0]: got 1, want text; put it in quotes",
		"{shards: ['']}":                                                    `source.shards[0]: got text "", want text that is not empty`,
		"{shards: a.tar, root: r}":                                          "source.root: goes with list",
		"{shards: a.tar, extensions: [jpg]}":                                "source.extensions: goes with folder",
		"{shards: a.tar, labels: names}":                                    "source.labels: got names, which goes with a list that is a table",
		"{list: a.txt, labels: names}":                                      "source.labels: got names, which goes with a list that is a table",
		"{folder: a, labels: names}":                                        "source.labels: got names, which goes with a list that is a table",
		"{shards: a.parquet, labels: directory}":                            "source.labels: got directory, which goes with folder and with archives",
		"{shards: a.tar, labels: directory, label: cls}":                    "source.label: given beside labels: directory",
		"{shards: a.tar, path: p}":                                          "source.path: goes with a list that is a table",
		"{list: a.npz, heading: true}":                                      "source.heading: goes with a list of lines that have fields; .json, .jsonl, .parquet and .npz have their columns' names anyway",
		"{list: a.npz, separator: ';'}":                                     "source.separator: goes with a list of lines that have fields, a .csv or one with heading; .json, .jsonl, .parquet and .npz have other forms",
		"{list: a.jsonl, heading: true}":                                    "source.heading: goes with a list of lines that have fields; .json, .jsonl, .parquet and .npz have their columns' names anyway",
		"{list: a.json.gz, heading: [path]}":                                "source.heading: goes with a list of lines that have fields",
		"{folder: p, heading: true}":                                        "source.heading: goes with a list of lines that have fields",
		"{list: a.csv, heading: false}":                                     "source.heading: got false of a .csv, whose columns have to be named: say heading: [path, label] where its first line does not",
		"{list: a.txt, heading: [path, path]}":                              `source.heading: got "path" twice, want a name of its own for each column`,
		"{list: a.txt, heading: []}":                                        "source.heading: got an empty list, want the columns' names, in the order of the list's fields",
		"{list: a.txt, separator: ' '}":                                     "source.separator: goes with a list whose columns have names: say heading: true where its first line has them, or else name them, as heading: [path, label]",
		"{list: a.parquet, separator: ';'}":                                 "source.separator: goes with a list of lines that have fields, a .csv or one with heading",
		"{folder: p, separator: ';'}":                                       "source.separator: goes with a list of lines that have fields",
		"{list: a.csv, separator: ', '}":                                    `source.separator: got ", ", want one character that is between fields: ",", ";", "|", "\t" or " "`,
		"{list: a.csv, separator: x}":                                       `source.separator: got "x", want one character`,
		"{separator: ';', mix: [{list: a.csv}]}":                            "source.separator: given beside mix, and is about one data set",
		"{heading: true, mix: [{list: a.tsv}]}":                             "source.heading: given beside mix, and is about one data set",
		"{list: a.tsv, path: p}":                                            "source.path: goes with a list that is a table",
		"{list: a.tsv, label: p}":                                           "source.label: goes with shards and with a list that is a table",
		"{folder: x, split: train}":                                         "source.split: goes with shards of a data set that lists its splits (Megatron-Energon's, save_to_disk's); of others name the split's own files: folder: DIR/train, or",
		"{shards: a.parquet, split: train}":                                 "source.split: goes with shards of a data set that lists its splits",
		"{mix: [{folder: p}], split: train}":                                "source.split: given beside mix, and is about one data set",
		"{list: a.csv, image: p}":                                           "source.image: goes with shards",
		"{list: a.tsv, columns: [a]}":                                       "source.columns: goes with shards, with a folder and with a list that is a table: .csv, .jsonl, .parquet or .npz; of another say heading: true where its first line names the columns, or else name them, as heading: [path, text]; separator says what is between",
		"{list: a.txt, columns: [a]}":                                       "and with a list that is a table: .csv, .jsonl, .parquet or .npz",
		"{folder: 'http://b/x', columns: [a]}":                              "source.folder: a folder cannot be listed over http",
		"{shards: a.parquet, columns: [{name: a, type: npy}]}":              "source.columns: got type npy with Parquet",
		"{shards: a.tar, columns: [{name: a, shape: [2]}]}":                 "source.columns[0].shape: given for type text; it goes with type: npy and type: list",
		"{shards: a.tar, columns: [{name: a, type: npy, dtype: x}]}":        `source.columns[0].dtype: got text "x", want one of u8`,
		"{shards: a.tar, columns: [{name: a, type: npy, shape: [0]}]}":      "source.columns[0].shape: got 0, want a whole number from 1",
		"{shards: a.tar, columns: [{name: a, type: npy, max_bytes: 1KiB}]}": "source.columns[0].max_bytes: given for type npy",
		"{shards: a.tar, columns: [{name: a, type: npy, shape: [99999999, 99999999]}]}": "source.columns[0].shape: got 99999999x99999999, want less than",
		"{folder: 'https://h/x'}":                                                                              "source.folder: a folder cannot be listed over http",
		"{shards: a.tar, columns: {a: b}}":                                                                     "source.columns: got a mapping, want a list of columns, each a name or a mapping with a name; write [{name: a}, ...]",
		"{shards: a.tar, columns: txt}":                                                                        `source.columns: got text "txt", want a list of columns, each a name or a mapping with a name; write [txt]`,
		"{shards: a.tar, columns: {name: a, type: i64}}":                                                       "want a list of columns, each a name or a mapping with a name; write [{name: ...}]",
		"{shards: a.tar, columns: {}}":                                                                         "source.columns: got a mapping, want a list of columns, each a name or a mapping with a name",
		"{shards: a.tar, columns: [{name: a, type: str}]}":                                                     `source.columns[0].type: got text "str", want one of text, i64, f64, npy, list; did you mean text?`,
		"{shards: a.tar, columns: [{name: a, type: float32}]}":                                                 `source.columns[0].type: got text "float32", want one of text, i64, f64, npy, list; did you mean f64?`,
		"{shards: a.tar, columns: [{name: a, type: int}]}":                                                     "did you mean i64?",
		"{shards: a.tar, columns: [{name: a, type: int64}]}":                                                   "did you mean i64?",
		"{shards: a.tar, columns: [{name: a, type: Tensor}]}":                                                  "did you mean npy?",
		"{shards: a.tar, columns: [{name: a, type: lst}]}":                                                     "did you mean list?",
		"{shards: a.tar, columns: [{name: a, from: 'npz[y]'}]}":                                                `source.columns[0].from: got "npz[y]" of type text, but what lies in an .npz file is an array: say type: npy`,
		"{shards: a.tar, columns: [{from: x}]}":                                                                "source.columns[0]: name is missing",
		"{shards: a.tar, columns: [seg/png]}":                                                                  `source.columns[0]: got name "seg/png", want 1 to 63`,
		"{shards: a.tar, columns: [label]}":                                                                    `source.columns[0]: got name "label", which every batch has; leave it out where it is the label, a whole number; else choose another, and say from: label`,
		"{shards: a.tar, columns: [a, a]}":                                                                     `source.columns[1]: got name "a" twice`,
		"{shards: a.tar, columns: [{name: a, type: i32}]}":                                                     "source.columns[0].type: got text \"i32\", want one of text, i64, f64, npy, list",
		"{shards: a.tar, columns: [{name: a, max_bytes: x}]}":                                                  `source.columns[0].max_bytes: got x, want a size`,
		"{shards: a.tar, columns: [{name: a, type: npy, default: 0}]}":                                         "source.columns[0].default: got 0 for type npy, want []",
		"{shards: a.tar, columns: [{name: a, type: npy, default: []}]}":                                        "source.columns[0].default: got an empty list for type npy, want [], and only of a shape",
		"{shards: a.tar, columns: [{name: a, type: npy, shape: [-1, 4]}]}":                                     "source.columns[0].shape: begins with -1, which needs max_length",
		"{shards: a.tar, columns: [{name: a, type: npy, shape: [4, -1]}]}":                                     "source.columns[0].shape: got -1, want a whole number from 1",
		"{shards: a.tar, columns: [{name: a, type: npy, max_length: 4}]}":                                      "source.columns[0].max_length: given without a shape that begins with -1",
		"{shards: a.tar, columns: [{name: a, type: npy, shape: [4], max_length: 4}]}":                          "source.columns[0].max_length: given beside a shape that does not begin with -1",
		"{shards: a.tar, columns: [{name: a, padded: true}]}":                                                  "source.columns[0].padded: given for type text",
		"{shards: a.tar, columns: [{name: a, type: npy, padded: true}]}":                                       "source.columns[0].padded: given without a shape that begins with -1",
		"{shards: a.tar, columns: [{name: a, type: npy, shape: [4], padded: true}]}":                           "source.columns[0].padded: given beside a shape that does not begin with -1",
		"{shards: a.tar, columns: [a.length, {name: a, type: npy, shape: [-1], max_length: 4, padded: true}]}": `source.columns[0]: got name "a.length", which every batch has`,
		"{shards: a.tar, columns: [{name: a, type: list, max_length: 4}]}":                                     "x.yaml:2:35: source.columns[0]: dtype is missing, want the type of the list's numbers",
		"{shards: a.tar, columns: [{name: a, type: list, dtype: i64}]}":                                        "x.yaml:2:35: source.columns[0]: max_length is missing, want the most numbers",
		"{shards: a.tar, columns: [{name: a, type: list, dtype: f16, max_length: 4}]}":                         `source.columns[0].dtype: got text "f16", want one of u8`,
		"{shards: a.tar, columns: [{name: a, type: list, dtype: i64, shape: []}]}":                             "source.columns[0].shape: got [] for type list",
		"{shards: a.tar, columns: [{name: a, type: list, dtype: i64, max_length: 4, max_bytes: 8}]}":           "source.columns[0].max_bytes: given for type list",
		"{shards: a.tar, columns: [{name: a, type: list, dtype: i64, shape: [4], default: []}]}":               "source.columns[0].default: got an empty list for type list, want []",
		"{shards: a.tar, columns: [{name: a, max_length: 4}]}":                                                 "source.columns[0].max_length: given for type text",
		"{shards: a.tar, columns: [{name: a, type: npy, shape: [-1, 99999999], max_length: 2147483647}]}":      "source.columns[0].shape: got 99999999",
		"{shards: a.tar, columns: [{name: a, default: 0}]}":                                                    "source.columns[0].default: got 0, want text; put it in quotes",
		"{shards: a.tar, columns: [{name: a, max_bytes: 2, default: abc}]}":                                    "source.columns[0].default: got 3 bytes, want at most max_bytes, 2",
		"{shards: a.tar, columns: [{name: a, type: i64, default: 0.5}]}":                                       "source.columns[0].default: got 0.5, want a whole number",
		"{shards: a.tar, columns: [{name: a, type: f64, default: none}]}":                                      `source.columns[0].default: got text "none", want a number`,
		"{shards: a.parquet, columns: [{name: a, default: x}]}":                                                "source.columns: got a default with a table",
		"{list: a.jsonl, columns: [{name: a, default: x}]}":                                                    "source.columns: got a default with a table",
		"{shards: a.tar, columns: [{name: a, maxbytes: 1}]}":                                                   `source.columns[0].maxbytes: unknown key; did you mean "max_bytes"?`,
		"{shards: a.tar, remote: {timeout: 5}}":                                                                "source.remote.timeout: got 5, want a duration",
		"{shards: a.tar, remote: {timeout: -5s}}":                                                              "source.remote.timeout: got -5s, want a duration",
		"{shards: a.tar, remote: {hedge_after: x}}":                                                            "source.remote.hedge_after: got x, want a duration such as 200ms, auto or never",
		"{folder: p, local_timeout: soon}":                                                                     "source.local_timeout: got soon, want a duration such as 30s, auto or never",
		"{shards: a.tar, remote: {endpoint: storage.example.com}}":                                             "source.remote.endpoint: want a URL such as https://storage.example.com, without user",
		"{shards: a.tar, remote: {endpoint: \"http://h:9000?sig=x\"}}":                                         "source.remote.endpoint: want a URL such as https://storage.example.com, without user",
		"{shards: a.tar, remote: {retries: 101}}":                                                              "source.remote.retries: got 101, want a whole number from 0 to 100",
		"{shards: a.tar, remote: {region: 1}}":                                                                 "source.remote.region: got 1, want text; put it in quotes",
		"{shards: a.tar}\norder: {buckets: {by: n, max_total: 9}}\ncache: {rows_bytes: 1MiB, head_space: 2}":   "cache.head_space: given with order.buckets.max_total, whose steps differ in rows",
		"{shards: a.tar}\norder: {group: n}\ncache: {rows_bytes: 1MiB, head_space: 2}":                         "cache.head_space: given with order.group, whose steps are of several groups, so that none stands in for another",
		"{shards: a.tar}\ncache: {head_space: 2}":                                                              "cache.head_space: needs memory for its rows",
		"{shards: a.tar}\ncache: {rows_dir: d}":                                                                "cache.rows_dir: needs a limit",
		"{shards: a.tar}\ncache: {rows_dir: d, rows_bytes: 1MiB, head_space: 1}":                               "cache.rows_dir: given beside head_space",
		"{host: {samples: 1}}\ncache: {rows_bytes: 1MiB}":                                                      "cache.rows_bytes: keeps rows by their samples",
	} {
		_, err := Parse([]byte(small+"source: "+source), "x.yaml")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "x.yaml:") {
			t.Errorf("%s: got %v, want %q", source, err, want)
		}
	}
	for _, chance := range []string{"horizontal_flip: 0.5", "vertical_flip: 0.5", "color_jitter: {contrast: 0.4}", "grayscale: 0.2", "random_crop: 8", "random_erasing: 0.1", "random_rotation: 9", "random_affine: {degrees: 9}", "rand_augment: 9",
		"random_perspective: {}", "elastic_transform: {sigma: 0.5}", "random_rotation: [89, 90]", "random_affine: {degrees: [9, 9], translate: [0, 0.1]}", "random_affine: {degrees: [9, 9], scale: [1, 2]}", "random_affine: {degrees: [9, 9], shear: [1, 1, 2, 3]}",
		"cv2_elastic_transform: {p: 1}", "random_rotate90: 1", "random_photometric_distort: {}", "random_channel_permutation: 1", "random_brightness_contrast: {p: 1}", "cv2_affine: {}", "cv2_affine: {degrees: 3, p: 1}", "hue_saturation_value: {p: 1}", "hue_saturation_value: {hue: [3, 3], saturation: 0, value: 0}", "rgb_shift: {p: 1}", "cv2_color_jitter: {p: 1}", "box_blur: 3", "median_blur: {p: 1}", "cv2_gaussian_blur: {p: 1}", "motion_blur: {kernel_size: 3, angle: 0, direction: 0, p: 1}", "coarse_dropout: {p: 1}", "clahe: {p: 1}", "grid_dropout: {p: 1}", "pixel_dropout: {p: 1}", "downscale: {}", "downscale: {scale: [0.2, 0.3], p: 1}", "multiplicative_noise: {p: 1}", "multiplicative_noise: {multiplier: 2}", "morphological: {}", "iso_noise: {intensity: 0.1, color_shift: 0.1, p: 1}", "random_grid_shuffle: {p: 1}", "unsharp_mask: {p: 1}", "unsharp_mask: {alpha: 0.3, p: 1}", "unsharp_mask: {alpha: 0.3, kernel_size: 3}", "cv2_perspective: {p: 1}", "cv2_perspective: {scale: 0.1, p: 1}", "optical_distortion: {p: 1}", "grid_distortion: {}", "transpose: 0.5", "sharpen: {p: 1}", "emboss: {alpha: 0.3, p: 1}", "to_sepia: 0.5", "random_tone_curve: {p: 1}", "channel_dropout: {p: 1}", "cv2_equalize: 0.5", "random_brightness_contrast: {brightness: [0, 0], contrast: [1, 1]}", "random_gamma: {p: 1}", "random_gamma: 2", "cv2_grayscale: 0.5", "gaussian_noise: {}", "jpeg: [50, 60]", "jpeg: {quality: 50, p: 0.5}", "trivial_augment_wide: {}", "auto_augment: svhn", "aug_mix: {}", "timm_rand_augment: rand-m9-mstd0.5-inc1", "gaussian_blur: 3", "gaussian_blur: {kernel_size: 3, sigma: 1, p: 0.5}", "solarize: {threshold: 128}", "posterize: {bits: 4}", "invert: 0.5",
		"adjust_sharpness: {factor: 2}", "autocontrast: 0.5", "equalize: 0.5"} {
		text := "image: {transform: [resize: [8, 8], " + chance + "]}\nsource: {shards: a.tar}\ncache: {rows_bytes: 1MiB}"
		if _, err := Parse([]byte(text), "x.yaml"); err == nil || !strings.Contains(err.Error(), "cache.rows_bytes: rows are drawn by chance") {
			t.Errorf("%s: got %v", chance, err)
		}
	}
	for _, always := range []string{"random_brightness_contrast: {brightness: [0.1, 0.1], contrast: [2, 2], p: 1}", "cv2_affine: {degrees: [3, 3], p: 1}", "hue_saturation_value: {hue: [3, 3], saturation: 0, value: 0, p: 1}", "rgb_shift: {red: [3, 3], green: 0, blue: 0, p: 1}", "box_blur: {kernel_size: 3, p: 1}", "clahe: {clip_limit: 3, p: 1}", "pixel_dropout: {share: 0, p: 1}", "downscale: {p: 1}", "multiplicative_noise: {multiplier: 2, p: 1}", "unsharp_mask: {alpha: 0.3, kernel_size: 3, p: 1}", "random_grid_shuffle: {p: 0}", "cv2_elastic_transform: 0", "morphological: {p: 1}", "iso_noise: {p: 0}", "cv2_perspective: {scale: 0, p: 1}", "optical_distortion: {limit: [0.1, 0.1], p: 1}", "grid_distortion: {limit: 0, p: 1}", "transpose: 1", "sharpen: {alpha: 0.3, lightness: 1, p: 1}", "to_sepia: 1", "random_tone_curve: {scale: 0, p: 1}", "channel_dropout: {p: 0}", "cv2_equalize: 1", "cv2_gaussian_blur: {sigma: 1, p: 1}", "motion_blur: {kernel_size: 3, angle: 0, direction: 0, shifted: false, p: 1}", "random_gamma: {gamma: 2, p: 1}", "cv2_grayscale: 1", "gaussian_blur: {kernel_size: 3, sigma: 1}", "solarize: {threshold: 128, p: 1}", "posterize: {bits: 4, p: 1}", "invert: 1", "adjust_sharpness: {factor: 2, p: 1}",
		"autocontrast: 1", "equalize: 1", "jpeg: 50", "jpeg: {quality: [50, 60], p: 0}", "gaussian_blur: {kernel_size: 3, p: 0}", "random_perspective: 0", "random_perspective: {p: 0}", "elastic_transform: {sigma: 0.5, p: 0}", "elastic_transform: {alpha: 0, sigma: 0.5}", "random_rotation: [90, 90]", "random_affine: {degrees: 0, scale: [2, 2], shear: [3, 3, 4, 4]}"} {
		parse(t, "image: {transform: [resize: [8, 8], "+always+"]}\nsource: {shards: a.tar}\ncache: {rows_bytes: 1MiB}")
	}
}

// Labels by the members' directories are another data set than labels by a part; without the key the hash is what it was.
func TestLabelsOfShardsAreInTheHash(t *testing.T) {
	seen := map[[32]byte]string{}
	for _, more := range []string{"", ", labels: directory", ", labels: none"} {
		s := parse(t, small+"source: {shards: a.tar"+more+"}\n")
		if other, twice := seen[s.SourceHash()]; twice {
			t.Errorf("%q and %q have one hash", more, other)
		}
		seen[s.SourceHash()] = more
	}
	if s := parse(t, small+"source: {shards: a.tar, labels: directory}\n"); s.Source.ByMember != LabelsDirectory || s.Source.Labels != LabelsDirectory {
		t.Errorf("got %+v", s.Source)
	}
}

// A path that is to be made of columns and cannot be is refused where it stands; what is no table's path is a name, whatever is in it.
func TestPathsThatCannotBeMade(t *testing.T) {
	for source, want := range map[string]string{
		"{list: a.csv, path: 'train/{image_id.jpg'}":                     `x.yaml:2:29: source.path: "train/{image_id.jpg": got a { without its }, want {COLUMN}`,
		"{list: a.csv, path: 'image_id}.jpg'}":                           `source.path: "image_id}.jpg": got a } without its {`,
		"{list: a.jsonl, path: '{id:06x}.jpg'}":                          `source.path: "{id:06x}.jpg": got format "06x" in {id:06x}, want a whole number's: d, 6d or 06d`,
		"{list: a.parquet, path: '{}.jpg'}":                              "got {} without a name, want that of a column",
		"{list: a.csv, path: '{{image_id}}.jpg'}":                        "got no column, want one at least",
		"{list: a.tsv, path: '{id}.jpg'}":                                "source.path: goes with a list that is a table",
		"{list: a.csv, path: {image_id}}":                                "source.path: got a mapping, want text; put text that begins with a brace in quotes",
		"{mix: [{list: a.csv, path: '{'}]}":                              `source.mix[0].path: "{": got a { without its }`,
		"{list: a.csv, columns: [{name: a, from: '{a.npy', type: npy}]}": `source.columns[0].from: "{a.npy": got a { without its }`,
	} {
		if _, err := Parse([]byte(small+"source: "+source), "x.yaml"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", source, err, want)
		}
	}
	for _, source := range []string{
		"{list: a.csv, path: 'train/{image_id:06d}.jpg'}", "{list: a.csv, columns: [{name: a, from: '{b'}]}", "{shards: a.tar, columns: [{name: a, from: '{b', type: npy}]}",
		"{list: a.csv, columns: [{name: a, from: '{id}.npz[{x]', type: npy}]}",
	} {
		parse(t, small+"source: "+source)
	}
}

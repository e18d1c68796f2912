package spec

import (
	"fmt"
	"strings"
	"testing"
)

const documents = "columns: [{name: ids, type: list, dtype: i32}]"

// What packing leaves out is filled in: best fit, whole documents or none, of any length, with zeros where there is none.
func TestPackingFillsInWhatIsNotSaid(t *testing.T) {
	for text, want := range map[string]string{
		"packing: {length: 8}": "{8 best_fit refuse } 16777216", "packing: {length: 8, long: split}": "{8 best_fit split } 16777216",
		"packing: {length: 8, strategy: wrapped}": "{8 wrapped  } 16777216",
	} {
		s := parse(t, "source: {shards: a.parquet, "+text+", "+documents+"}")
		if got := fmt.Sprint(*s.Source.Packing, " ", s.Source.Columns[0].MaxLength); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
		if hash := s.Hash(); s.Validate() != nil || s.Hash() != hash {
			t.Errorf("%s: is another one when it is validated again", text)
		}
	}
	for _, text := range []string{
		"source: {list: a.jsonl, packing: {length: 8}, columns: [{name: ids, type: list, dtype: i32, max_length: 9, pad: -1}, {name: w, type: list, dtype: f32, pad: 0.5}]}",
		"source: {folder: p, packing: {length: 8, by: n}, columns: [{name: ids, from: npy, type: npy, shape: [-1, 4]}, {name: n, type: i64}]}",
		"source: {mix: [{shards: a.parquet}, {list: b.jsonl}], packing: {length: 8}, " + documents + "}",
		"source: {shards: a.parquet, packing: {length: 8}, " + documents + "}\nrings: {train: {}, val: {source: {shards: b.parquet, columns: [{name: ids, type: list, dtype: i32, max_length: 5}]}}}",
	} {
		parse(t, text)
	}
}

// Every word of packing, and every pad, is in the hash: rows of other documents are other samples.
func TestPackingIsInTheHash(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{
		"packing: {length: 8}, " + documents, "packing: {length: 9}, " + documents, "packing: {length: 8, long: split}, " + documents, "packing: {length: 8, long: truncate}, " + documents,
		"packing: {length: 8, strategy: wrapped}, " + documents, "packing: {length: 8}, columns: [{name: ids, type: list, dtype: i32, pad: 1}]",
		"packing: {length: 8, by: n}, columns: [{name: ids, type: list, dtype: i32}, {name: n, type: i64}]", "columns: [{name: ids, type: list, dtype: i32, max_length: 16777216}]",
	} {
		hash := fmt.Sprintf("%x", parse(t, "source: {shards: a.parquet, "+text+"}").SourceHash())
		if seen[hash] != "" {
			t.Errorf("%s and %s have one hash", text, seen[hash])
		}
		seen[hash] = text
	}
}

// What does not go with rows of several documents is refused where it stands, with the remedy.
func TestPackingRefusals(t *testing.T) {
	packed := func(more string) string {
		return "source: {shards: a.parquet, packing: {length: 8}, " + documents + "}\n" + more
	}
	for text, want := range map[string]string{
		"source: {shards: a.parquet, packing: {}, " + documents + "}":                                                                                     "x.yaml:1:38: source.packing: length is missing, want the tokens of a row",
		"source: {shards: a.parquet, packing: 2048, " + documents + "}":                                                                                   "source.packing: got 2048, want a mapping of length, strategy, long, by",
		"source: {shards: a.parquet, packing: {length: 0}, " + documents + "}":                                                                            "source.packing.length: got 0, want a whole number from 1 to 16777216",
		"source: {shards: a.parquet, packing: {length: 8, strategy: bfd}, " + documents + "}":                                                             "source.packing.strategy: got text \"bfd\", want one of best_fit, wrapped",
		"source: {shards: a.parquet, packing: {length: 8, strategy: wrapped, long: split}, " + documents + "}":                                            "source.packing.long: given with strategy: wrapped, which cuts",
		"source: {shards: a.parquet, packing: {length: 8, by: n}, " + documents + "}":                                                                     "source.packing.by: got \"n\", want the name of one of source.columns of type i64",
		"source: {shards: a.parquet, packing: {length: 8, by: n}, columns: [{name: ids, type: list, dtype: i32}, {name: n, type: f64}]}":                  "source.columns[1]: got type f64 of column \"n\", which source.packing.by names, want i64",
		"source: {shards: a.parquet, packing: {length: 8, by: n}, columns: [{name: n, type: i64}]}":                                                       "source.packing: given without a list to pack",
		"source: {shards: a.parquet, packing: {length: 8}, columns: [{name: ids, type: list, dtype: i32}, {name: y, type: i64}]}":                         "source.columns[1]: column \"y\" of type i64 holds one value a document",
		"source: {shards: a.parquet, packing: {length: 8}, columns: [{name: ids, type: list, dtype: i32}, t]}":                                            "source.columns[1]: column \"t\" of type text holds one value a document",
		"source: {shards: a.parquet, packing: {length: 8}, columns: [{name: ids, type: list, dtype: i32, padded: true}]}":                                 "source.columns[0].padded: given beside source.packing",
		"source: {shards: a.parquet, packing: {length: 8}, columns: [{name: ids, type: list, dtype: i32, shape: [5]}]}":                                   "source.columns[0].shape: got a length that all documents have",
		"source: {shards: a.parquet, packing: {length: 8}, columns: [{name: segment_ids, type: list, dtype: i32}]}":                                       "source.columns[0]: got name \"segment_ids\", which every batch has",
		"source: {shards: a.parquet, packing: {length: 8}, columns: [{name: ids, type: list, dtype: i32}, {name: position_ids, type: list, dtype: i32}]}": "source.columns[1]: got name \"position_ids\"",
		"source: {shards: a.parquet, packing: {length: 8}, columns: [{name: ids, type: list, dtype: u8, pad: 256}]}":                                      "source.columns[0].pad: got 256, want a whole number from 0 to 255",
		"source: {shards: a.parquet, packing: {length: 8}, columns: [{name: ids, type: list, dtype: i8, pad: -129}]}":                                     "source.columns[0].pad: got -129, want a whole number from -128 to 127",
		"source: {shards: a.parquet, packing: {length: 8}, columns: [{name: ids, type: list, dtype: u64, pad: -1}]}":                                      "source.columns[0].pad: got -1, want a whole number from 0",
		"source: {shards: a.parquet, packing: {length: 8}, columns: [{name: ids, type: list, dtype: i32, pad: x}]}":                                       "source.columns[0].pad: got text \"x\", want a whole number",
		"source: {shards: a.parquet, columns: [{name: ids, type: list, dtype: i32, max_length: 8, pad: 1}]}":                                              "source.columns[0].pad: goes with source.packing",
		"source: {shards: a.parquet, packing: {length: 8}, columns: [{name: ids, type: list, dtype: i32}, {name: t, pad: 1}]}":                            "source.columns[1].pad: given for type text",
		"source: {shards: a.parquet, packing: {length: 8}, label: l, " + documents + "}":                                                                  "source.label: given beside source.packing",
		"source: {shards: a.parquet, packing: {length: 8}, labels: names, " + documents + "}":                                                             "source.labels: given beside source.packing",
		"source: {shards: a.tar, packing: {length: 8}, " + documents + "}\naudio: {rate: 8000, length: 8}":                                                "source.packing: given with audio; rows of documents are made of columns",
		"source: {shards: a.tar, packing: {length: 8}}\nimage: {transform: [{center_crop: 8}]}":                                                           "source.packing: given with image",
		"source: {shards: a.tar, packing: {length: 8}}":                                                                                                   "says nothing of what its samples are",
		"source: {host: {samples: 3}, packing: {length: 8}, " + documents + "}":                                                                           "source.packing: given with source.host",
		"source: {arrays: [{name: t, file: t.npy, window: 8}], packing: {length: 8}}":                                                                     "source.packing: given with source.arrays",
		packed("bad_sample: {policy: substitute}"):                                                                                                        "bad_sample.policy: got substitute with source.packing",
		packed("cache: {dir: c}"):             "cache.dir: given beside source.packing",
		packed("cache: {rows_bytes: 1MiB}"):   "cache.rows_bytes: given beside source.packing",
		packed("order: {window: 2}"):          "order.window: got it with source.packing",
		packed("order: {buckets: {by: ids}}"): "order.buckets: got it with source.packing",
	} {
		if _, err := Parse([]byte(text), "x.yaml"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
}

package verbs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Shards belong together that are of one directory, split and kind, and each data set has a pattern that names its shards and no others.
func TestShardsAreParted(t *testing.T) {
	for _, c := range []struct {
		shards string
		want   []string // pattern, and how many files
	}{
		{"a-000.tar a-001.tar", []string{"*.tar 2"}},
		{"books.parquet wiki.parquet", []string{"*.parquet 2"}},
		{"data/train-00000-of-00002.parquet data/train-00001-of-00002.parquet", []string{"data/*.parquet 2"}},
		{"data/train-00000-of-00002.parquet data/train-00001-of-00002.parquet data/test-00000-of-00001.parquet",
			[]string{"data/test-00000-of-00001.parquet 1", "data/train-*.parquet 2"}},
		{"in1k-train-0000.tar in1k-train-0001.tar in1k-validation-00.tar in1k-validation-01.tar", []string{"in1k-train-*.tar 2", "in1k-validation-*.tar 2"}},
		{"train2017.zip val2017.zip", []string{"train2017.zip 1", "val2017.zip 1"}},
		{"en/train/0000.parquet en/train/0001.parquet en/test/0000.parquet de/train/0000.parquet",
			[]string{"de/train/0000.parquet 1", "en/test/0000.parquet 1", "en/train/*.parquet 2"}},
		{"0/a.tar 1/a.tar", []string{"*/a.tar 2"}},
		{"train/index.json val/index.json", []string{"train/index.json 1", "val/index.json 1"}},
		{"2020/a.tar 2021/a.tar 2021/b.tar", []string{"*/*.tar 3"}},
		{"2020/train-0.tar 2021/train-1.tar 2021/test-0.tar", []string{"*/test-*.tar 1", "*/train-*.tar 2"}},
		{"a.tar b.zip c.zip", []string{"*.zip 2", "a.tar 1"}},
		{"x.tfrecord-0-of-2 x.tfrecord-1-of-2", []string{"*.tfrecord* 2"}},
		{"x.array_record-0-of-2 x.array_record-1-of-2", []string{"*.array_record* 2"}},
		{"mnist-train.array_record-00000-of-00002 mnist-train.array_record-00001-of-00002 mnist-test.array_record-00000-of-00001",
			[]string{"mnist-test.array_record-00000-of-00001 1", "mnist-train*.array_record* 2"}},
		{"train.tfrecord-0-of-2 train.tfrecord-1-of-2 val.tfrecord-0-of-1", []string{"train*.tfrecord* 2", "val.tfrecord-0-of-1 1"}},
		{"train_a.tar traintest.tar b-test.tar", []string{"b-test.tar 1", "train_a.tar 1", "traintest.tar 1"}},
		{"a-train.tar b-train.tar c-test.tar", []string{"*train*.tar 2", "c-test.tar 1"}},
		{"A-TRAIN.tar b-train.tar c-test.tar", []string{"A-TRAIN.tar+b-train.tar 2", "c-test.tar 1"}}, // no short pattern: by their names
		{"a[1].tar b.tar", []string{"*.tar 2"}},
		{"train[1].tar test.tar", []string{"test.tar 1", "train[1].tar 1"}},
	} {
		var got []string
		for _, s := range dataSetsOf("s3://b/p/", strings.Fields(c.shards)) {
			got = append(got, fmt.Sprintf("%s %d", strings.ReplaceAll(strings.Join(s.patterns, "+"), "s3://b/p/", ""), s.files))
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.shards, got, c.want)
		}
	}
}

// A refusal lists some of many data sets, each as a shell takes it.
func TestCommandsAreAsAShellTakesThem(t *testing.T) {
	got := commandsFor("view", dataSetsOf("/it's", []string{"train-0.tar", "train-1.tar", "b/x.tar"}))
	if want := `spdl view '/it'\''s/*.tar' (2 files), spdl view '/it'\''s/b/x.tar' (1 file)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var many []string
	for i := range shownDataSets + 3 {
		many = append(many, fmt.Sprintf("c%c/x.tar", 'a'+i))
	}
	if got := commandsFor("view", dataSetsOf("/d", many)); strings.Count(got, "spdl view") != shownDataSets || !strings.HasSuffix(got, ", and 3 more") {
		t.Errorf("got %s", got)
	}
}

// What a catalogue lists is read by it: by the topmost one over shards of MDS or chunks of litData, or beside shards of Arrow's; over none it is something else's.
func TestCataloguesAreFound(t *testing.T) {
	for _, c := range []struct{ files, want string }{
		{"index.json shard.00000.mds", "index.json"},
		{"train/index.json train/shard.00000.mds.zstd train/shard.00001.mds.zstd val/index.json val/shard.00000.mds", "train/index.json val/index.json"},
		{"index.json 0/index.json 0/shard.00000.mds 1/index.json 1/shard.00000.mds", "index.json"},
		{"index.json chunk-0-0.bin chunk-0-1.zstd.bin", "index.json"},
		{"shard.00000.mds shard.00001.mds", "shard.00000.mds shard.00001.mds"},
		{"index.json data/a.tar", "data/a.tar"},
		{"index.json a.tar shard.00000.mds", "a.tar index.json"},
		{"index.json model.bin", ""},
		{"state.json data-00000-of-00002.arrow data-00001-of-00002.arrow cache-8d1f.arrow", "state.json"},
		{"dataset_dict.json train/state.json train/data-00000-of-00001.arrow test/state.json test/data-00000-of-00001.arrow", "test/state.json train/state.json"},
		{"0.0.0/hash/name-train-00000-of-00002.arrow 0.0.0/hash/dataset_info.json", "0.0.0/hash/name-train-00000-of-00002.arrow"},
		{"state.json a.tar", "a.tar"},
		{"_old/index.json _old/shard.00000.mds a.tar", "a.tar"},
	} {
		found := newContents()
		for _, file := range strings.Fields(c.files) {
			found.seeShard(file)
		}
		if got := strings.Join(slices.Sorted(slices.Values(found.shards())), " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.files, got, c.want)
		}
	}
}

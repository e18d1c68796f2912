package spec

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/spec.md")

const pageHead = `# The description

A loader is described in YAML or JSON. This page is made from the table in core/spec (` + "`go generate ./core/spec`" + `); a test keeps them equal.

` + "```yaml" + `
source: {folder: /data/train}
batch: 64
image:
  transform:
    - random_resized_crop: 224
    - horizontal_flip: 0.5
    - normalize: imagenet
  layout: NCHW
` + "```" + `

Reading is strict. An unknown, misspelt or doubled key, a value of the wrong type or out of range is refused with file, line and
column, the dotted path, and the nearest valid name. Whole numbers are decimal, without exponent, leading zero or underscore.
Relative paths are relative to the file. A document is at most 1 MiB; anchors and aliases are read, merge keys are not.

| Key | Value | Default | Meaning |
| --- | --- | --- | --- |
`

func page() string {
	var b strings.Builder
	b.WriteString(pageHead)
	for _, k := range Keys() {
		def := strings.Trim(k.Default, "()")
		if def == k.Default {
			def = "`" + def + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Path, k.Type, def, k.Doc)
	}
	return b.String()
}

// docs/spec.md is the table, no more and no less.
func TestSpecPageEqualsTheTable(t *testing.T) {
	const path = "../../docs/spec.md"
	if *update {
		if err := os.MkdirAll("../../docs", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil || string(b) != page() {
		t.Fatalf("docs/spec.md differs from the table (%v); run go generate ./core/spec", err)
	}
	example := pageHead[strings.Index(pageHead, "source:"):strings.LastIndex(pageHead, "```")]
	if s := parse(t, example); s.RowShape().String() != "3x224x224" {
		t.Fatalf("the page's example: %v", s.RowShape())
	}
}

// values are examples for every key of the table, as a description that is valid with it.
var values = map[string]string{
	"version": "1", "name": "x", "source": "{folder: p}", "source.folder": "p", "source.list": "l", "source.root": "r",
	"source.extensions": "[a]", "source.labels": "none", "order": "{}", "order.shuffle": "true", "order.seed": "1", "order.epochs": "1",
	"source.mix": "[{folder: p}, {folder: q}]", "source.mix[].folder": "p", "source.mix[].list": "l", "source.mix[].root": "r", "source.mix[].shards": "a.tar",
	"source.mix[].path": "file", "source.mix[].image": "[jpg]", "source.mix[].label": "cls", "source.mix[].extensions": "[a]", "source.mix[].labels": "none",
	"source.mix[].weight": "{0: 3, 10: 1}", "order.filter": "index < 3", "order.repeat": "3", "order.rows": "100", "order.window": "4", "order.weights": "w", "order.replacement": "false",
	"order.balance": "label", "order.stratify": "label", "order.buckets": "{by: n}", "order.buckets.by": "n", "order.buckets.count": "3",
	"order.last": "drop", "world": "{}", "world.size": "1", "world.rank": "0", "batch": "1", "image": "{transform: [center_crop: 2]}", "image.mode": "gray",
	"image.orientation": "apply", "image.transform": "[center_crop: 2]", "image.transform[].resize": "[1, 2]",
	"image.transform[].resize.size": "[1, 2]", "image.transform[].resize.interpolation": "bicubic",
	"image.transform[].center_crop": "2", "image.transform[].random_resized_crop": "2",
	"image.transform[].random_resized_crop.size": "2", "image.transform[].random_resized_crop.scale": "[0.1, 1]",
	"image.transform[].random_resized_crop.ratio": "[1, 1]", "image.transform[].random_resized_crop.interpolation": "bicubic",
	"image.transform[].horizontal_flip": "1", "image.transform[].normalize": "imagenet",
	"image.transform[].normalize.mean": "[0, 0, 0]", "image.transform[].normalize.std": "[1, 1, 1]", "image.dtype": "f16",
	"image.layout": "NCHW", "image.max_pixels": "1", "bad_sample": "{}", "bad_sample.policy": "fail", "bad_sample.max_count": "0",
	"bad_sample.max_rate": "0", "bad_sample.probation": "0", "ring": "{}", "ring.slots": "3", "ring.backing": "posix",
	"ring.access": "shared", "ring.mode": `"0640"`, "ring.max_consumers": "1", "ring.hash": "xxh3", "ring.delivery": "ready", "ring.ahead": "2", "ring.reconnect": "10s", "journal": "j", "ring.groups": "[]",
	"ring.groups[].name": "g", "ring.groups[].kind": "stage", "ring.groups[].mode": "lanes", "ring.groups[].lanes": "1", "ring.groups[].slow": "drop", "ring.groups[].redeliver": "false",
	"source.host": "{samples: 7}", "source.host.samples": "3", "source.host.timeout": "5s",
	"source.shards": "[a.tar]", "source.path": "file", "source.image": "[jpg]", "source.label": "cls", "source.columns": "[c]",
	"source.columns[].name": "c", "source.columns[].from": "x", "source.columns[].type": "i64", "source.columns[].max_bytes": "64KiB",
	"source.columns[].dtype": "f32", "source.columns[].shape": "[2, 3]",
	"source.index": "beside", "source.local_timeout": "5s", "source.remote": "{}", "source.remote.endpoint": "http://h", "source.remote.region": "r", "source.remote.profile": "p",
	"source.remote.anonymous": "true", "source.remote.addressing": "host", "source.remote.timeout": "5s", "source.remote.retries": "0",
	"source.remote.hedge_after": "200ms", "cache": "{}", "cache.dir": "d", "cache.max_bytes": "1GiB", "cache.evict": "never", "cache.rows_bytes": "1MiB",
	"cache.rows_dir": "rows", "cache.head_space": "3", "limits": "{}", "limits.cpus": "1", "limits.fetch": "1", "limits.read_ahead_bytes": "1", "http": "8080", "rings": "{a: {}}", "rings.NAME": "{}",
}

// document writes one key with a value and whatever else the key needs around it.
func document(path, value string) string {
	source, image, rest := "source: {folder: p}\n", "image: {transform: [center_crop: 224]}\n", ""
	section, key, below := strings.Cut(path, ".")
	op, field, _ := strings.Cut(strings.TrimPrefix(path, "image.transform[]."), ".")
	switch {
	case path == "source":
		source = "source: " + value + "\n"
	case path == "image":
		image = "image: " + value + "\n"
	case path == "source.root":
		source = "source: {list: l, root: " + value + "}\n"
	case path == "source.folder" || path == "source.list":
		source = "source: {" + key + ": " + value + "}\n"
	case path == "source.shards":
		source = "source: {shards: " + value + "}\n"
	case path == "source.path":
		source = "source: {list: l.csv, path: " + value + "}\n"
	case path == "source.columns[].name":
		source = "source: {shards: a.tar, columns: [{name: " + value + "}]}\n"
	case path == "source.columns[].dtype" || path == "source.columns[].shape":
		source = "source: {shards: a.tar, columns: [{name: c, type: npy, " + lastKey(path) + ": " + value + "}]}\n"
	case strings.HasPrefix(path, "source.columns[]."):
		source = "source: {shards: a.tar, columns: [{name: c, " + lastKey(path) + ": " + value + "}]}\n"
	case path == "source.mix":
		source = "source: {mix: " + value + "}\n"
	case strings.HasPrefix(path, "source.mix[]."):
		with := map[string]string{"root": "list: l, ", "path": "list: l.csv, ", "image": "shards: a.tar, ", "label": "shards: a.tar, ",
			"extensions": "folder: p, ", "labels": "folder: p, ", "weight": "folder: p, "}[lastKey(path)]
		source = "source: {mix: [{" + with + lastKey(path) + ": " + value + "}]}\n"
	case path == "source.host":
		source = "source: {host: " + value + "}\n"
	case path == "source.host.samples":
		source = "source: {host: {samples: " + value + "}}\n"
	case path == "source.host.timeout":
		source = "source: {host: {samples: 9, timeout: " + value + "}}\n"
	case path == "source.image" || path == "source.label" || path == "source.columns":
		source = "source: {shards: a.tar, " + key + ": " + value + "}\n"
	case strings.HasPrefix(path, "source.remote."):
		source = "source: {folder: p, remote: {" + lastKey(path) + ": " + value + "}}\n"
	case path == "order.rows" || path == "order.replacement":
		rest = "order: {weights: w, " + key + ": " + value + "}\n"
	case path == "order.buckets.by":
		rest = "order: {buckets: {by: " + value + "}}\n"
	case path == "order.buckets.count":
		rest = "order: {buckets: {by: n, count: " + value + "}}\n"
	case path == "cache.rows_dir":
		rest = "cache: {rows_bytes: 1MiB, rows_dir: " + value + "}\n"
	case path == "cache.head_space":
		rest = "cache: {rows_bytes: 1MiB, head_space: " + value + "}\n"
	case section == "source" && below:
		source = "source: {folder: p, " + key + ": " + value + "}\n"
	case path == "image.transform":
		image = "image: {transform: " + value + "}\n"
	case strings.HasPrefix(path, "image.transform[]."):
		entry := "{" + op + ": " + value + "}"
		if field != "" {
			entry = "{" + op + ": {" + field + ": " + value + map[string]string{
				"interpolation": ", size: [1, 2]", "scale": ", size: 1", "ratio": ", size: 1", "mean": ", std: [1, 1, 1]", "std": ", mean: [0, 0, 0]",
			}[field] + "}}"
		}
		if op == "horizontal_flip" || op == "normalize" {
			entry = "{center_crop: 224}, " + entry
		}
		image = "image: {transform: [" + entry + "]}\n"
	case section == "image" && below:
		image = "image: {transform: [center_crop: 224], " + key + ": " + value + "}\n"
	case path == "ring.ahead":
		rest = "ring: {delivery: ready, ahead: " + value + "}\n"
	case path == "ring.groups[].name":
		rest = "ring: {groups: [{name: " + value + "}]}\n"
	case strings.HasPrefix(path, "ring.groups[]."):
		rest = "ring: {groups: [{name: g, " + strings.TrimPrefix(path, "ring.groups[].") + ": " + value + "}]}\n"
	case path == "rings.NAME":
		rest = "rings: {a: " + value + "}\n"
	case below:
		rest = section + ": {" + key + ": " + value + "}\n"
	default:
		rest = path + ": " + value + "\n"
	}
	return source + image + rest
}

// Every key of the table is read, and the reader asks for no key that the table lacks (it panics if it does).
func TestEveryKeyOfTheTableIsRead(t *testing.T) {
	for _, k := range Keys() {
		value, ok := values[k.Path]
		if !ok {
			t.Errorf("%s: no example in this test", k.Path)
			continue
		}
		if _, err := Parse([]byte(document(k.Path, value)), "x.yaml"); err != nil {
			t.Errorf("%s: %v\n%s", k.Path, err, document(k.Path, value))
		}
		// A value of the wrong kind is noticed: the key is not merely tolerated.
		if _, err := Parse([]byte(document(k.Path, "&a [*a]")), "x.yaml"); err == nil {
			t.Errorf("%s: takes a list of itself", k.Path)
		}
	}
}

// A default that the table writes out is the one that is in force.
func TestDefaultsOfTheTableAreInForce(t *testing.T) {
	checked := 0
	for _, k := range Keys() {
		if strings.HasPrefix(k.Default, "(") {
			continue
		}
		without := document(k.Path, "DEFAULT")
		if i := strings.Index(without, ", "+lastKey(k.Path)+": DEFAULT"); i >= 0 {
			without = strings.Replace(without, ", "+lastKey(k.Path)+": DEFAULT", "", 1)
		} else {
			without = strings.Replace(strings.Replace(without, lastKey(k.Path)+": DEFAULT, ", "", 1), lastKey(k.Path)+": DEFAULT", "", 1)
		}
		without = strings.Replace(strings.Replace(without, ", {}]", "]", 1), "\n\n", "\n", 1)
		a, errA := Parse([]byte(document(k.Path, k.Default)), "x.yaml")
		b, errB := Parse([]byte(without), "x.yaml")
		if errA != nil || errB != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s: %s is not the default: %v %v\n%s%s", k.Path, k.Default, errA, errB, document(k.Path, k.Default), without)
		}
		checked++
	}
	if checked < 25 {
		t.Errorf("only %d defaults checked", checked)
	}
}

func lastKey(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// The names of the top level are what a misspelt key is compared with.
func TestTopLevelNames(t *testing.T) {
	names := children("")
	if !slices.Contains(names, "rings") || slices.Contains(names, "rings.NAME") {
		t.Errorf("top level: %q", names)
	}
}

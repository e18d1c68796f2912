package verbs

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/spec"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

// beginning is one run of init.
type beginning struct {
	*app
	description
}

func (a *app) init() *cobra.Command {
	v := &beginning{app: a}
	c := &cobra.Command{
		Use:   "init FOLDER|SHARDS",
		Short: "Write a description to begin with",
		Long: `Init looks at a folder of media or at shards, as serve does where it has no description, and prints the description that this comes to, in YAML, with what is changed
most often beside it as comments. Nothing else is written. What the keys mean says spdl explain, what comes of a description spdl check.`,
		Example: `  spdl init /data/train > train.yaml
  spdl init 's3://bucket/train-{0000..0146}.tar' --size 336 --batch 256 > train.yaml`,
		RunE: func(c *cobra.Command, args []string) error { return v.run(c.Context(), args) },
	}
	v.addOrderFlags(c)
	f := c.Flags()
	f.StringVar(&v.name, "name", "", "name of the ring (default: the folder's or the first shard's)")
	f.IntVar(&v.size, "size", defaultSize, "height and width of pictures and frames; resized, then cropped in the middle")
	f.IntVar(&v.batch, "batch", 32, "rows per batch")
	return c
}

func (v *beginning) run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && isFile(args[0]) && !areShards(args) && otherThanDescription("init", args[0]) == nil && !isList(args[0]):
		return usage("init: %q is a file, and a description if anything (spdl check says what comes of it); want a folder of media or shards", args[0])
	case len(args) == 0:
		return usage("init: nothing to look at; want a folder of media or shards")
	}
	s, err := v.read(ctx, "init", args)
	if err != nil {
		return err
	}
	for _, path := range append(s.Source.Shards, s.Source.Folder) {
		if !utf8.ValidString(path) {
			return usage("init: %q: got a path that is no UTF-8, as all of a description is; rename it, or serve it without a description", path)
		}
	}
	fmt.Fprint(v.out, beginningOf(s))
	return nil
}

// beginningOf is the description of a folder or shards as a person would write it.
func beginningOf(s *spec.Spec) string {
	var b strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	add("# Made by spdl init. What a key means says spdl explain KEY; what comes of this, spdl check FILE; what its batches look like, spdl view FILE.")
	add("# Editors complete and check it behind spdl schema > spdl.schema.json and a line here: yaml-language-server: $schema=spdl.schema.json")
	add("name: %s", quoted(s.Name))
	add("source:")
	if s.Source.Folder != "" {
		add("  folder: %s", quoted(inFull(s.Source.Folder)))
	}
	if len(s.Source.Shards) > 0 {
		add("  shards:")
		for _, one := range s.Source.Shards {
			add("    - %s", quoted(inFull(one)))
		}
	}
	add("order: {shuffle: %v, seed: %d}", s.Order.Shuffle, s.Order.Seed)
	add("batch: %d # of each rank", s.Batch)
	m := s.Media()[0]
	switch {
	case m.Video != nil:
		add("video:")
		addFrom(add, m.Video.From)
		add("  frames: %d # evenly from the first to the last; or select: {kind: clips_at_random_indices, num_frames_per_clip: %[1]d}", m.Video.Frames)
		addTransform(add, &m.Video.Frame.Transform)
		add("  layout: %s # or NTCHW, NCTHW", m.Video.Layout)
	case m.Audio != nil:
		add("audio:")
		addFrom(add, m.Audio.From)
		add("  rate: %d", m.Audio.Rate)
		add("  length: %d # samples, or a time such as 10s; of longer files", m.Audio.Length)
		add("  crop: %s # this part; for training: random", m.Audio.Crop)
		add("  # features: {kind: mel, n_fft: 400, hop_length: 160, n_mels: 80, log: db}")
	default:
		add("image:")
		addTransform(add, &m.Image.Transform)
		add("  layout: %s # or NCHW", m.Image.Layout)
	}
	return b.String()
}

func addFrom(add func(format string, args ...any), from []string) {
	if len(from) > 0 {
		add("  from: %s", quoted(from[0]))
	}
}

func addTransform(add func(format string, args ...any), t *spec.Transform) {
	add("  transform: # for training, in their place: random_resized_crop: %d and horizontal_flip: 0.5", t.CenterCrop.Height)
	add("    - resize: %d", t.Resize.Short)
	add("    - center_crop: %d", t.CenterCrop.Height)
	add("    # - normalize: imagenet # makes floats of bytes")
}

// inFull is a path that holds wherever the description lies; an address stays.
func inFull(path string) string {
	if full, err := filepath.Abs(path); err == nil && !store.IsURL(path) {
		return full
	}
	return path
}

// quoted is text as YAML has it on one line, in quotes where it needs them.
func quoted(text string) string {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if strings.Contains(text, "\n") {
		n.Style = yaml.DoubleQuotedStyle // else its lines stand below each other
	}
	written, err := yaml.Marshal(n)
	if err != nil {
		panic(err) // no text is refused
	}
	return strings.TrimSuffix(string(written), "\n")
}

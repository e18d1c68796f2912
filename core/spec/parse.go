package spec

import (
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

const (
	maxDocument   = 1 << 20
	maxRings      = 64
	maxGroups     = 64
	maxExtensions = 256
	maxReconnect  = time.Hour
)

// Load reads and parses a file. Its relative paths are relative to the file's directory.
func Load(path string) (*Spec, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	if !st.Mode().IsRegular() {
		return nil, &Error{File: path, Text: "got no regular file, want a YAML or JSON file"}
	}
	if st.Size() > maxDocument {
		return nil, tooLarge(path, st.Size())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	return Parse(data, path)
}

func tooLarge(path string, size int64) error {
	return &Error{File: path, Text: fmt.Sprintf("got a document of %d bytes, want at most %d", size, maxDocument)}
}

// Parse reads a description in YAML or JSON. path names it in errors, gives its relative paths their directory and, without a
// key name, its name; "" stands for a description that is in no file, relative to the working directory.
func Parse(data []byte, path string) (*Spec, error) {
	file, dir := path, filepath.Dir(path)
	if path == "" {
		file, dir = "spec", ""
	}
	if len(data) > maxDocument {
		return nil, tooLarge(file, int64(len(data)))
	}
	d := &decoder{file: file, dir: dir, empty: emptySpec, pos: map[string]place{}}
	root := d.document(data)
	if d.err != nil {
		return nil, d.err
	}
	s := d.spec(root, dir, path)
	if d.err != nil {
		return nil, d.err
	}
	return s, nil
}

// spec reads the document and completes it, or every ring of it.
func (d *decoder) spec(root *yaml.Node, dir, path string) *Spec {
	s := Default()
	top := d.section(root, "", "", "")
	version := 1
	whole(&top, "version", &version, 1, 1)
	top.text("name", &s.Name)
	d.ring(&top, s, dir)
	if top.has("world") && target(top.values["world"]).Value == Auto {
		s.World.Auto = true
	} else if top.has("world") {
		w := d.section(top.values["world"], "world", "world", "world")
		whole(&w, "size", &s.World.Size, 1, maxWorld)
		whole(&w, "rank", &s.World.Rank, 0, maxWorld-1)
	}
	if top.has("journal") {
		top.text("journal", &s.Journal)
		if !filepath.IsAbs(s.Journal) {
			s.Journal = filepath.Join(dir, s.Journal)
		}
	}
	if top.has("limits") {
		d.limits(top.values["limits"], &s.Limits)
	}
	if top.has("http") {
		d.http(&top, s)
	}
	if s.Name == "" {
		s.Name = deriveName(s, path)
	}
	if top.has("rings") {
		d.rings(&top, s, dir)
	} else if d.err == nil {
		d.complete(s)
	}
	return s
}

// rings completes a copy of the top level for each ring.
func (d *decoder) rings(top *section, s *Spec, dir string) {
	m := target(top.values["rings"])
	if m.Kind != yaml.MappingNode || len(m.Content) == 0 || len(m.Content) > 2*maxRings {
		top.fail("rings", "got %s, want a mapping of 1 to %d rings by name", describe(m), maxRings)
		return
	}
	base := d.pos
	for i := 0; i+1 < len(m.Content) && d.err == nil; i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		shown := fmt.Sprintf("rings.%.70s", key.Value)
		if key.Kind != yaml.ScalarNode || !validName(key.Value) {
			d.fail(key, shown, "got %s for a ring's name, want %s", describe(key), nameRule)
			return
		}
		if slices.ContainsFunc(s.Rings, func(r *Spec) bool { return r.RingName == key.Value }) {
			d.fail(key, shown, "given twice; keep one")
			return
		}
		r := *s
		r.Rings, r.RingName = nil, key.Value
		r.Ring.Groups = slices.Clone(s.Ring.Groups)
		r.ownMedia()
		d.pos = maps.Clone(base)
		sec := d.section(value, "rings.NAME", shown, "")
		d.ring(&sec, &r, dir)
		d.complete(&r)
		s.Rings = append(s.Rings, &r)
	}
	d.pos = base
}

// ring reads the sections that the top level and each ring have in common, over what r already says.
func (d *decoder) ring(sec *section, r *Spec, dir string) {
	below := func(key string) section { return d.section(sec.values[key], key, join(sec.shown, key), key) }
	if sec.has("source") {
		src := below("source")
		d.source(&src, &r.Source, dir)
	}
	if sec.has("order") {
		o := below("order")
		o.shuffle(&r.Order.Shuffle)
		o.seed("seed", &r.Order.Seed)
		whole(&o, "epochs", &r.Order.Epochs, 0, maxEpochs)
		choice(&o, "last", &r.Order.Last, LastCover, LastDrop, LastPad)
		o.order(&r.Order, dir)
	}
	whole(sec, "batch", &r.Batch, 1, maxBatch)
	d.sample(sec, r)
	if sec.has("bad_sample") {
		b := below("bad_sample")
		choice(&b, "policy", &r.BadSample.Policy, Skip, Mask, Substitute, Fail)
		whole(&b, "max_count", &r.BadSample.MaxCount, -1, maxEpochs)
		b.number("max_rate", &r.BadSample.MaxRate, 0, 1)
		whole(&b, "probation", &r.BadSample.Probation, 0, maxEpochs)
	}
	if sec.has("ring") {
		rs := below("ring")
		d.memory(&rs, &r.Ring)
	}
	if sec.has("cache") {
		c := below("cache")
		c.cache(&r.Cache, dir)
	}
	r.Device = over(sec, "device", r.Device, func(sec *section) *Device {
		sec.switchedOn("device")
		v := below("device")
		return d.device(&v)
	})
}

var extension = regexp.MustCompile(`^\.?[A-Za-z0-9_+-]{1,16}$`)

func (d *decoder) extensions(s *section) []string {
	const want = "a list of file endings, such as [jpg, png]"
	all := []string{}
	for i, n := range s.items("extensions", want, maxExtensions) {
		shown := fmt.Sprintf("%s[%d]", join(s.shown, "extensions"), i)
		v, ok := d.scalar(n, shown, "a file ending such as jpg", "!!str")
		if ok && !extension.MatchString(v) {
			d.fail(n, shown, "got %.60q, want a file ending such as jpg, of letters and digits, at most 16", v)
		}
		all = append(all, strings.ToLower(strings.TrimPrefix(v, ".")))
	}
	if len(all) == 0 {
		s.fail("extensions", "got %s, want %s", describe(s.values["extensions"]), want)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (d *decoder) memory(s *section, r *Ring) {
	whole(s, "slots", &r.Slots, MinSlots, maxSlots)
	choice(s, "backing", &r.Backing, Memfd, Posix)
	choice(s, "access", &r.Access, Private, Shared)
	choice(s, "hash", &r.Hash, NoHash, XXH3)
	choice(s, "delivery", &r.Delivery, Ordered, Ready)
	whole(s, "ahead", &r.Ahead, 1, maxSlots)
	mode := ""
	choice(s, "mode", &mode, "0600", "0640")
	if mode != "" {
		r.Mode = map[string]fs.FileMode{"0600": 0o600, "0640": 0o640}[mode]
	}
	whole(s, "max_consumers", &r.MaxConsumers, 1, 4096)
	s.duration("reconnect", fmt.Sprintf("a time such as 500ms, 10s or 5m, from 0 to %v", maxReconnect), &r.Reconnect, 0, maxReconnect)
	if !s.has("groups") {
		return
	}
	r.Groups = nil
	for i, n := range s.items("groups", "a list of groups, each a mapping with a name", maxGroups) {
		entry := fmt.Sprintf("groups[%d]", i)
		g := Group{Kind: Consumer, Mode: Shared, Lanes: 1, Slow: Block, Redeliver: true}
		sec := d.section(n, "ring.groups[]", join(s.shown, entry), join(s.place, entry))
		d.pos[join(s.place, entry)] = placeOf(n, join(s.shown, entry))
		sec.text("name", &g.Name)
		choice(&sec, "kind", &g.Kind, Consumer, Stage)
		choice(&sec, "mode", &g.Mode, Shared, Lanes)
		whole(&sec, "lanes", &g.Lanes, 1, maxLanes)
		choice(&sec, "slow", &g.Slow, Block, Drop, Detach)
		sec.flag("redeliver", &g.Redeliver)
		r.Groups = append(r.Groups, g)
	}
}

// isAddress says that text is HOST:PORT or a port, as the listener takes it.
func isAddress(text string) bool {
	host, port, err := net.SplitHostPort(text)
	if err != nil && !strings.ContainsAny(text, ":[]") {
		host, port, err = "", text, nil
	}
	_, bad := strconv.ParseUint(port, 10, 16)
	return err == nil && bad == nil && !strings.ContainsAny(host, " /\t")
}

// http reads the address of the listener; YAML takes a port alone for a number.
func (d *decoder) http(top *section, s *Spec) {
	v, ok := d.scalar(top.values["http"], "http", "HOST:PORT or a port", "!!str", "!!int")
	if ok && !isAddress(v) {
		top.fail("http", "got %q, want HOST:PORT such as 127.0.0.1:8080, or a port from 0 to 65535 alone", v)
		return
	}
	s.HTTP = v
}

func (d *decoder) limits(n *yaml.Node, l *Limits) {
	s := d.section(n, "limits", "limits", "limits")
	s.cpus("cpus", l)
	s.size("memory", &l.Memory)
	s.workers("fetch", l)
	s.size("read_ahead_bytes", &l.ReadAheadBytes)
}

const wantCPUs = "a number from 0.01 to 4096, or a share of the host's from 1% to 100%"

// cpus reads a number of cores, or a share of the host's.
func (s *section) cpus(key string, l *Limits) {
	v, ok := s.scalar(key, wantCPUs, "!!float", "!!int", "!!str")
	if !ok {
		return
	}
	isText := target(s.values[key]).ShortTag() == "!!str"
	if !l.SetCPUs(v) || isText != (l.CPUShare > 0) {
		s.fail(key, "got %s, want %s", describe(s.values[key]), wantCPUs)
	}
}

// SetCPUs takes the text of limits.cpus: a number of cores, or a share such as 40%. False: it is neither, or out of range.
func (l *Limits) SetCPUs(text string) bool {
	number, isShare := strings.CutSuffix(text, "%")
	n, err := strconv.ParseFloat(strings.TrimSuffix(number, " "), 64)
	switch {
	case err != nil || !realNumber.MatchString(strings.TrimSuffix(number, " ")):
		return false
	case isShare:
		l.CPUs, l.CPUShare = 0, n/100
		return n >= 1 && n <= 100
	}
	l.CPUs, l.CPUShare = n, 0
	return n >= 0.01 && n <= 4096
}

// workers reads a number of them, or auto.
func (s *section) workers(key string, l *Limits) {
	if !s.has(key) {
		return
	}
	n := target(s.values[key])
	if l.FetchAuto = n.Value == Auto; l.FetchAuto {
		return
	}
	fetch, err := strconv.Atoi(n.Value)
	if err != nil || !decimal.MatchString(n.Value) || n.ShortTag() == "!!str" || fetch < 1 || fetch > 1024 {
		s.fail(key, "got %s, want a whole number from 1 to 1024, or auto", describe(n))
		return
	}
	l.Fetch = fetch
}

const nameRule = "1 to 63 of A-Z a-z 0-9 . _ - and no dot first"

var nameText = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,62}$`)

func validName(name string) bool { return nameText.MatchString(name) }

// deriveName makes a name of the spec file's, the folder's or the list's base name.
func deriveName(s *Spec, path string) string {
	src, shard := &s.Source, ""
	if len(src.Mix) > 0 {
		src = &src.Mix[0].Source
	}
	if files := src.Files(); len(files) > 0 {
		shard, _, _ = strings.Cut(address(files[0]), "{")
		if base := filepath.Base(shard); strings.HasPrefix(base, "*") || base == "index.json" || base == "state.json" { // all of a directory
			shard = filepath.Dir(shard)
		}
	}
	for _, p := range []string{path, src.Folder, address(src.List), strings.TrimRight(shard, "-_.*?[")} {
		isFolder := p == src.Folder
		if p == "" {
			continue
		}
		if p == "." || p == ".." {
			if abs, err := filepath.Abs(p); err == nil {
				p = abs
			}
		}
		base := filepath.Base(p)
		if !isFolder {
			base = strings.TrimSuffix(base, filepath.Ext(base))
		}
		name := strings.TrimLeft(strings.Map(nameByte, base), ".")
		if name = name[:min(len(name), 63)]; strings.Trim(name, "-") != "" {
			return name
		}
	}
	return "spdl"
}

// address is a path, and of a URL neither user and password nor the query, which may hold a signature.
func address(p string) string {
	scheme, rest, ok := strings.Cut(p, "://")
	if !ok || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return p
	}
	rest, _, _ = strings.Cut(rest, "?")
	host, path, _ := strings.Cut(rest, "/")
	return host[strings.LastIndexByte(host, '@')+1:] + "/" + path
}

// nameByte puts '-' for what a name may not hold.
func nameByte(r rune) rune {
	if r < 128 && (r == '.' || validName(string(r))) {
		return r
	}
	return '-'
}

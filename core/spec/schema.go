package spec

import (
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Schema is the description as a JSON Schema (draft 7), for editors that complete keys and check them as they are typed. It knows the keys, what is below each,
// their words and the bounds of single numbers. Parse knows more (which keys go together), so what the schema takes may still be refused, and nothing that
// Parse takes from a file is refused by the schema. The caller may keep and change it.
func Schema() map[string]any {
	root := node{below: map[string]*node{}}
	for _, k := range keys {
		root.at(strings.Split(strings.ReplaceAll(k.Path, "[]", ".[]"), ".")).key = &k
	}
	s := root.object(children(""))
	s["$schema"] = "http://json-schema.org/draft-07/schema#"
	s["title"] = "A description of spdl"
	s["definitions"] = map[string]any{
		"image.operation": root.at([]string{"image", "transform", "[]"}).operation(), "video.operation": root.at([]string{"video", "transform", "[]"}).operation(),
	}
	properties := s["properties"].(map[string]any)
	named := func(of string, keys []string) {
		below := map[string]any{}
		for _, name := range keys {
			if below[name] = (map[string]any{"$ref": "#/properties/" + name}); properties[name] == nil {
				below[name] = root.at([]string{of, "NAME", name}).value()
			}
		}
		properties[of] = map[string]any{
			"description":          properties[of].(map[string]any)["description"],
			"type":                 "object",
			"additionalProperties": map[string]any{"type": emptyToo, "properties": below, "additionalProperties": false},
		}
	}
	named("rings", inRing)
	named("fields", inField)
	return s
}

// node is a place in the table: a key, or the entry of a list, which is below as [].
type node struct {
	key   *Key
	below map[string]*node
	path  []string
}

// at is the node of a path below n, made where it is not there.
func (n *node) at(path []string) *node {
	if len(path) == 0 {
		return n
	}
	next := n.below[path[0]]
	if next == nil {
		next = &node{below: map[string]*node{}, path: append(n.path[:len(n.path):len(n.path)], path[0])}
		n.below[path[0]] = next
	}
	return next.at(path[1:])
}

// object is a mapping of these keys and no others.
func (n *node) object(names []string) map[string]any {
	properties := map[string]any{}
	for _, name := range names {
		properties[name] = n.at([]string{name}).value()
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
}

// keys are the names of those below.
func (n *node) keys() (names []string) {
	for name := range n.below {
		if name != "[]" && name != "NAME" {
			names = append(names, name)
		}
	}
	return names
}

// operation is an entry of a transform: one operation.
func (n *node) operation() map[string]any {
	s := n.object(n.keys())
	s["minProperties"], s["maxProperties"] = 1, 1
	return s
}

// value is what a key takes.
func (n *node) value() map[string]any {
	r := reader{of: n}
	for _, term := range terms(n.key.Type) {
		r.term(term)
	}
	if len(r.words) > 0 {
		r.forms = append(r.forms, map[string]any{"enum": r.words})
	}
	if takenBack[strings.Join(n.path, ".")] {
		r.add(map[string]any{"type": "null"})
	}
	s := anyOf(r.forms...)
	s["description"] = n.key.Doc
	var written any
	if !strings.HasPrefix(n.key.Default, "(") && yaml.Unmarshal([]byte(n.key.Default), &written) == nil {
		s["default"] = written
	}
	return s
}

// emptyToo is the type of a mapping that may be left empty.
var emptyToo = []string{"object", "null"}

// takenBack are the keys that are no mappings and that a ring may take back.
var takenBack = map[string]bool{
	"order.filter": true, "order.weights": true, "order.balance": true, "order.stratify": true, "order.group": true,
}

func anyOf(forms ...any) map[string]any {
	if one, is := forms[0].(map[string]any); is && len(forms) == 1 {
		return one
	}
	return map[string]any{"anyOf": forms}
}

var (
	alternatives = regexp.MustCompile(`, or |, | or `)
	bracketed    = regexp.MustCompile(`\[[^]]*\]`)
)

// terms are the parts of what the table says of a value, between commas and or; those in brackets are one.
func terms(of string) []string {
	closed := bracketed.ReplaceAllStringFunc(of, func(term string) string { return strings.ReplaceAll(term, ", ", ",") })
	return alternatives.Split(closed, -1)
}

// reader collects the forms that a value may have.
type reader struct {
	of    *node
	forms []any
	words []any          // that stand for themselves
	last  map[string]any // the number that a range in the next term is of
}

var (
	numberTerm = regexp.MustCompile(`^(whole |odd )?number(?: (from|above) (\S+))?$`)
	rangeTerm  = regexp.MustCompile(`^(-?[0-9.e]+) to (\S+)$`)
	listTerm   = regexp.MustCompile(`^list(?: of (.*))?$`)
	wordTerm   = regexp.MustCompile(`^[a-z0-9][a-z0-9_]*$|^N?[THWCL]{2,}$`)
)

// texts are what the table calls values that are text.
var texts = map[string]bool{"text": true, "path": true, "URL": true, "column": true, "expression": true, "FROM:TO": true, "path of an .npy file": true}

func (r *reader) add(form map[string]any) map[string]any {
	r.forms = append(r.forms, form)
	return form
}

func (r *reader) term(term string) {
	last := r.last
	r.last = nil
	if m := numberTerm.FindStringSubmatch(term); m != nil {
		r.last = r.add(numeric(m[1] != ""))
		bound(r.last, m[2], m[3])
	} else if m := rangeTerm.FindStringSubmatch(term); m != nil {
		bound(last, "from", m[1])
		bound(last, "to", m[2])
	} else if m := listTerm.FindStringSubmatch(term); m != nil {
		r.last = r.list(m[1])
	} else if strings.HasPrefix(term, "[") {
		r.add(array(term))
	} else {
		r.word(term)
	}
}

// bound sets a bound of a number that the table says in digits; one that another key decides is Parse's.
func bound(of map[string]any, which, digits string) {
	v, err := strconv.ParseFloat(digits, 64)
	if of == nil || err != nil {
		return
	}
	of[map[string]string{"from": "minimum", "to": "maximum", "above": "exclusiveMinimum"}[which]] = v
}

func numeric(whole bool) map[string]any {
	if whole {
		return map[string]any{"type": "integer"}
	}
	return map[string]any{"type": "number"}
}

// list adds a list of what the table says, and is the number in it, of which a range may follow.
func (r *reader) list(of string) map[string]any {
	entry := r.of.at([]string{"[]"})
	item := map[string]any{}
	switch {
	case of == "operations":
		item["$ref"] = "#/definitions/" + r.of.path[0] + ".operation"
	case of == "mappings", of == "text and mappings":
		item = entry.object(entry.keys())
		if of != "mappings" {
			item = anyOf(item, map[string]any{"type": "string"})
		}
	case of == "text", strings.HasPrefix(of, "paths"), of == "them":
		item["type"] = "string"
	case of == "N and [H,W]":
		item = anyOf(array("[H,W]"), numeric(true))
	case of == "numbers and ranges":
		item = anyOf(array("[low,high]"), numeric(false))
	default: // numbers, one a channel
		item = numeric(strings.Contains(of, "whole"))
	}
	r.add(map[string]any{"type": "array", "items": item})
	if item["type"] == "number" || item["type"] == "integer" {
		return item
	}
	return nil
}

// array is a list of so many numbers.
func array(term string) map[string]any {
	n := 0
	if term != "[]" {
		n = strings.Count(term, ",") + 1
	}
	return map[string]any{"type": "array", "items": map[string]any{"type": "number"}, "minItems": n, "maxItems": n}
}

// word adds what is one word, or stands for a kind of text.
func (r *reader) word(term string) {
	switch {
	case texts[term] || strings.Contains(term, "://"):
		r.add(map[string]any{"type": "string"})
	case term == "N": // of pixels, or of what a batch's bucket has
		r.add(map[string]any{"type": "integer"})
		r.words = append(r.words, "bucket")
	case term == "mapping":
		r.add(r.of.object(r.of.keys()))["type"] = emptyToo
	case term == "mapping of epochs to numbers":
		r.add(map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "number"}})
	case term == "time", term == "duration", term == "size": // zero has no unit
		r.add(map[string]any{"type": []string{"string", "integer"}})
	case term == "1% to 100%":
		r.add(map[string]any{"type": "string", "pattern": "^[0-9.]+%$"})
	case term == "true", term == "false":
		r.words = append(r.words, term == "true")
	case strings.HasPrefix(term, `"`):
		r.words = append(r.words, strings.Trim(term, `"`))
	case wordTerm.MatchString(term):
		var v any = term
		if n, err := strconv.Atoi(term); err == nil {
			v = n
		}
		r.words = append(r.words, v)
	default:
		panic("spec: no form of a schema is known for " + term + " of " + strings.Join(r.of.path, "."))
	}
}

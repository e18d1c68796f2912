package spec

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// JSON is YAML but for escapes ("\/", pairs of surrogates) and a few characters, so JSON is read as such, into the same nodes.

// jsonText walks a text that is valid JSON.
type jsonText struct {
	data    []byte
	decoder *json.Decoder
	lone    bool // a string had half a pair of surrogates

	at, line, col int // the last token's byte, and its place
}

// jsonDocument is the root of a JSON object, or nil where the text is none: then it is YAML, or wrong.
func jsonDocument(data []byte) *yaml.Node {
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) || !utf8.Valid(data) || !json.Valid(data) {
		return nil
	}
	j := &jsonText{data: data, decoder: json.NewDecoder(bytes.NewReader(data)), line: 1, col: 1}
	j.decoder.UseNumber()
	root := j.node()
	if j.lone {
		return nil
	}
	return root
}

// moreThanJSON says that a JSON object is followed by something.
func moreThanJSON(data []byte) bool {
	var first map[string]any
	return json.NewDecoder(bytes.NewReader(data)).Decode(&first) == nil && !json.Valid(data)
}

func (j *jsonText) node() *yaml.Node {
	offset := j.offset()
	token, err := j.decoder.Token()
	if err != nil {
		panic(err) // the text is valid
	}
	n := &yaml.Node{Kind: yaml.ScalarNode}
	n.Line, n.Column = j.place(offset)
	switch v := token.(type) {
	case json.Delim:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		if v == '[' {
			n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		}
		for j.decoder.More() {
			n.Content = append(n.Content, j.node())
		}
		_, _ = j.decoder.Token()
	case string:
		n.Tag, n.Value, n.Style = "!!str", v, yaml.DoubleQuotedStyle
		j.lone = j.lone || strings.ContainsRune(v, utf8.RuneError) && bytes.Contains(j.data, []byte(`\u`))
	case json.Number:
		n.Value = v.String()
	case bool:
		n.Tag, n.Value = "!!bool", "false"
		if v {
			n.Value = "true"
		}
	case nil:
		n.Tag, n.Value = "!!null", "null"
	}
	return n
}

// offset is where the next token begins.
func (j *jsonText) offset() int {
	from := int(j.decoder.InputOffset())
	return from + slices.IndexFunc(j.data[from:], func(c byte) bool { return !strings.ContainsRune(" \t\r\n,:", rune(c)) })
}

// place is the line and column of a token, counted on from the one before: a long list is not read anew for each of its numbers.
func (j *jsonText) place(offset int) (line, col int) {
	passed := j.data[j.at:offset]
	if n := bytes.Count(passed, []byte("\n")); n > 0 {
		j.line, j.col = j.line+n, 1
		passed = passed[bytes.LastIndexByte(passed, '\n')+1:]
	}
	j.at, j.col = offset, j.col+utf8.RuneCount(passed)
	return j.line, j.col
}

package template

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestPieces(t *testing.T) {
	text := func(s string) Piece { return Piece{Text: s} }
	column := func(s string) Piece { return Piece{Column: s} }
	for of, want := range map[string][]Piece{
		"train/{image_id}.jpg": {text("train/"), column("image_id"), text(".jpg")},
		"{a}{b c.d}":           {column("a"), column("b c.d")},
		"{{{a}}}":              {text("{"), column("a"), text("}")},
		"x{{y}}{a}":            {text("x"), text("{"), text("y"), text("}"), column("a")},
		"{a:d}{a:6d}{a:06d}{a:0d}": {{Column: "a", Number: "%d"}, {Column: "a", Number: "%6d"}, {Column: "a", Number: "%06d"},
			{Column: "a", Number: "%0d"}},
		"https://h/{ü}?x": {text("https://h/"), column("ü"), text("?x")},
	} {
		if got, err := Parse(of); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %q %v, want %q", of, got, err, want)
		}
		if !Is(of) {
			t.Errorf("%s is none", of)
		}
	}
	if Is("image_id") {
		t.Error("a name is one")
	}
}

// What Python 3 writes for format(v, "06d") and so on.
func TestNumbersAreWrittenAsPythonDoes(t *testing.T) {
	for how, want := range map[string]string{"d": "[7] [-7] [1234567]", "3d": "[  7] [ -7] [1234567]", "03d": "[007] [-07] [1234567]", "0d": "[7] [-7] [1234567]"} {
		pieces, err := Parse("{n:" + how + "}")
		if err != nil {
			t.Fatal(err)
		}
		f := "[" + pieces[0].Number + "]"
		if got := fmt.Sprintf(f+" "+f+" "+f, 7, -7, 1234567); got != want {
			t.Errorf("%s: got %s, want %s", how, got, want)
		}
	}
}

func TestTemplatesThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		"train/{image_id.jpg":     "got a { without its }, want {COLUMN}; a brace that is meant is written twice, {{",
		"train/{image_id/{b}":     "got a { without its }",
		"{a}{":                    "got a { without its }",
		"train/image_id}.jpg":     "got a } without its {; a brace that is meant is written twice, }}",
		"{a}}":                    "got a } without its {",
		"{}.jpg":                  "got {} without a name, want that of a column",
		"{:06d}":                  "got {:06d} without a name",
		"{{image_id}}.jpg":        "got no column, want one at least, such as {image_id}",
		"{a:06x}":                 `got format "06x" in {a:06x}, want a whole number's: d, 6d or 06d`,
		"{a:}":                    `got format "" in {a:}`,
		"{a:6}":                   `got format "6" in {a:6}`,
		"{a:.2f}":                 `got format ".2f"`,
		"{a:100d}":                `got format "100d"`,
		"{a:-6d}":                 `got format "-6d"`,
		"{a:00d}":                 `got format "00d"`,
		"{dc:title}":              `got format "title" in {dc:title}`,
		strings.Repeat("{a}", 65): "got 65 columns, want at most 64",
		strings.Repeat("}", 3):    "got a } without its {",
	} {
		if pieces, err := Parse(text); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("%q: ", text)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q %v, want %q", text, pieces, err, want)
		}
	}
}

// What is read says the same again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"train/{image_id}.jpg", "{a:06d}{{}}", "{", "}", "{a{b}}", "{{{a}}}", "{:d}", "{a:d}{a}"} {
		f.Add(text)
	}
	escape := strings.NewReplacer("{", "{{", "}", "}}")
	f.Fuzz(func(t *testing.T, text string) {
		pieces, err := Parse(text)
		if err != nil {
			return
		}
		var again strings.Builder
		for _, p := range pieces {
			switch {
			case p.Column == "":
				again.WriteString(escape.Replace(p.Text))
			case p.Number == "":
				again.WriteString("{" + p.Column + "}")
			default:
				_ = fmt.Sprintf(p.Number, 1)
				again.WriteString("{" + p.Column + ":" + p.Number[1:] + "}")
			}
		}
		if again.String() != text {
			t.Errorf("%q became %q", text, again.String())
		}
	})
}
